"""The job that makes a review of an access index, stage by stage.

ask       choose the questions; compute attribute comparisons for users
find      classes, gains by ownership and assets, block by block
coarse    by type and container: matters with too many classes over all blocks
assets    the tables with a row for each asset, and the counts derived from them
merge     the tables of questions, classes and people
write     the same for spreadsheets, and the report for people
publish   make the version the current one
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.dataset as ds

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline import parquet_output
from lakewarden.pipeline.index.index import Index, open_index
from lakewarden.pipeline.index.task_context import (
    BlockFunction,
    TaskContext,
    task_context_of,
    write_each_block,
)
from lakewarden.pipeline.index.validity import currency
from lakewarden.pipeline.ingest.source import Progress, silent
from lakewarden.pipeline.job import Counts, Job, Result, Stage
from lakewarden.pipeline.review import assets, people
from lakewarden.pipeline.review.activity import Use, use_of
from lakewarden.pipeline.review.audience import Telling, people_of
from lakewarden.pipeline.review.block_merge import (
    At,
    MergedFindings,
    class_counts,
    gathered,
    members,
)
from lakewarden.pipeline.review.finding import Plan, answers_of, evaluate_comparisons, finder
from lakewarden.pipeline.review.labels import Sensitive, labels_of
from lakewarden.pipeline.review.page import page
from lakewarden.pipeline.review.question import CLASSES, Chosen, chosen
from lakewarden.pipeline.review.row import ASSET, CLASS, COLUMN, FINDINGS, GROUP
from lakewarden.pipeline.review.schemas import (
    BY_ASSET,
    COLUMNS,
    GROUPS,
    MEMBERS,
    ORPHANS,
    OWNERS,
    PEOPLE,
    REVIEW,
    SCHEMAS,
    schemas,
)
from lakewarden.pipeline.review.spreadsheet import export
from lakewarden.pipeline.review.summary import Source, age_of, facts_of, summed
from lakewarden.pipeline.review.tables import Tables, table
from lakewarden.pipeline.storage.dataset import dataset
from lakewarden.pipeline.storage.location import Location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KIND: Final = "review"
REPORT: Final = "review.html"
SPREADSHEETS: Final = "csv"


def make_review(  # noqa: PLR0913 — a parameter for each option
    source: Location,
    out: Location,
    *,
    spark: SparkSession,
    privileges: Iterable[str] | None = None,
    operations: Iterable[str] | None = None,
    classes: int | None = CLASSES,
    used: Location | None = None,
    sensitive: Iterable[str] | None = None,
    progress: Progress = silent,
) -> Result:
    """Makes a review of the access index `source` in the folder `out`.

    `privileges` and `operations` choose the questions, by name; None: all of them. A matter of more
    than `classes` classes is reviewed by type and container (None: no limit). `used` is the output
    of the job `unused` for the index: it shows who had no recent activity. `sensitive` are words
    in, or names of, the tags and terms of sensitive assets (None: the usual words). Raises
    `BadInput` for a damaged index, and for questions that cannot be asked; `Unknown` for a name;
    `Conflict` if another process works on `out`. `out` is then unchanged.
    """
    if classes is not None and classes < 1:
        raise BadInput("expected at least one class", where="--classes")
    index = open_index(source, spark=spark)
    questions = chosen(index.system.model, privileges, operations)
    labels = Sensitive(sensitive)
    use = None if used is None else use_of(used, index, index.input)
    inputs = (index.input,) if use is None else (index.input, use.input)
    options = {
        **questions.options(),
        "classes": "all" if classes is None else str(classes),
        "sensitive": " ".join(labels.terms),
    }
    job = Job(KIND, out, tuple(SCHEMAS), spark, inputs, options, progress)
    job.reads = (index.version,)
    reviewing = _Reviewing(job, index, questions, classes, use, labels, age_of(source))
    return job.run(STAGES, reviewing, facts=reviewing.facts, report=reviewing.report)


@dataclass
class _Reviewing:
    """What the stages share: the questions, the index, and the findings."""

    job: Job
    index: Index
    chosen: Chosen
    classes: int | None
    use: Use | None
    sensitive: Sensitive
    age: Mapping[str, Any]

    def facts(self) -> dict[str, Any]:
        """Further values that readers need beside the tables."""
        return facts_of(self.index, self._gathered)

    def report(self) -> dict[str, Any]:
        """The content of the run report for people."""
        facts = self.facts()
        source = {"revision": facts["revision"], **self.age}
        return {"population": facts["population"], "source": source, **currency(facts)}

    @cached_property
    def _context(self) -> TaskContext:
        return task_context_of(self.index)

    def _write_each_block(self, judge: BlockFunction, schema: str, place: Location) -> None:
        write_each_block(self.index, self._context, judge, schema, place, self.job.spark)

    @cached_property
    def _telling(self) -> Telling:
        return answers_of(self.index.system.model, self.job.folder("ask") / "comparisons")

    @cached_property
    def _gathered(self) -> MergedFindings:
        """The merged findings, read once."""
        everyone = people_of(self._context)
        return gathered(self._folders(), everyone, self._telling, self._matters_by_group())

    def _folders(self) -> list[Location]:
        """The folders of findings: those of all blocks, and those by groups."""
        folders = (self.job.folder(stage) / "findings" for stage in ("find", "coarse"))
        return [folder for folder in folders if folder.exists()]

    def _matters_by_group(self) -> frozenset[At]:
        """The matters with too many classes."""
        known = self.job.counts("coarse")["at"]
        return frozenset((type, matter) for type, matter in known)

    def ask(self, folder: Location) -> Counts:
        answers = folder / "comparisons"
        return evaluate_comparisons(self.index, self._context, answers, self.job.spark)

    def find(self, folder: Location) -> Counts:
        self._write_each_block(finder(self._context, self._plan), FINDINGS, folder / "findings")
        return {"rows": dataset(folder / "findings").count_rows()}

    @property
    def _plan(self) -> Plan:
        return Plan(self.chosen, self._telling, self.classes)

    def coarse(self, folder: Location) -> Counts:
        limit = self.classes
        if limit is None:
            return {"matters": 0, "at": []}
        counted = class_counts(self.job.folder("find") / "findings")
        wide = {at: of for at, of in counted.items() if GROUP in of or of[CLASS] > limit}
        again = frozenset(at for at, of in wide.items() if of.get(CLASS))
        if again:
            judge = finder(self._context, replace(self._plan, again=again))
            self._write_each_block(judge, FINDINGS, folder / "findings")
        return {"matters": len(wide), "at": sorted(map(list, wide))}

    def describe_assets(self, folder: Location) -> Counts:
        findings = self._gathered
        coarse = assets.reached(findings, self.chosen)
        labels = labels_of(self.index)
        removed, tables = findings.removed_users, self._schemas
        describing = assets.Describing(findings.people, removed, coarse, labels, tables)
        sizes = self._put_assets(describing, folder)
        naming = people.Naming(self._blocks, findings.people, labels, self.sensitive, tables)
        pages = people.paged(self._named(naming), tables[PEOPLE])
        _put_each(pages, folder / PEOPLE, tables[PEOPLE])
        columns = self._findings(COLUMN, people.COLUMN_FINDINGS)
        _put_each(map(naming.columns, columns), folder / COLUMNS, tables[COLUMNS])
        known = assets.standing(findings.people, findings.removed_users)
        owners = sorted((owner, n, *known[owner]) for owner, n in describing.owners.items())
        _put(table(OWNERS, zip(*owners, strict=True)), folder / OWNERS)
        for group, rows in assets.group_rows(describing.groups, findings, coarse).items():
            _put(table(group, zip(*rows, strict=True)), folder / group)
        return sizes

    @property
    def _schemas(self) -> Mapping[str, pa.Schema]:
        """The columns of the tables."""
        return schemas(self.index.space.width)

    def _put_assets(self, describing: assets.Describing, folder: Location) -> dict[str, Any]:
        """Writes the tables of assets while they are described, batch by batch."""
        sizes = {"assets": 0, "orphans": 0}
        with (
            parquet_output.writer(self._schemas[BY_ASSET], folder / BY_ASSET) as by_asset,
            parquet_output.writer(self._schemas[ORPHANS], folder / ORPHANS) as orphans,
        ):
            for batch in self._findings(ASSET, assets.FINDING_COLUMNS):
                described, orphaned = describing.tables(batch)
                by_asset.write_table(described)
                orphans.write_table(orphaned)
                sizes["assets"] += described.num_rows
                sizes["orphans"] += orphaned.num_rows
        return sizes

    def _named(self, naming: people.Naming) -> Iterator[pa.Table]:
        for batch in self._findings(ASSET, people.FINDING_COLUMNS):
            yield from naming.tables(batch)

    @property
    def _blocks(self) -> ds.Dataset:
        """The findings of all blocks."""
        return dataset(self.job.folder("find") / "findings")

    def _findings(self, what: int, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The findings of one kind, batch by batch."""
        chosen = ds.field("what") == what
        yield from self._blocks.to_batches(columns=list(columns), filter=chosen)

    def merge(self, folder: Location) -> Counts:
        tables = Tables(self._gathered, self.chosen, self.use)
        sizes = {REVIEW: _put_each(tables.review(), folder / REVIEW, SCHEMAS[REVIEW])}
        for name, rows in tables.others():
            _put(rows, folder / name)
            sizes[name] = rows.num_rows
        parts = members(self._folders(), tables.matters(), self.index.space.bits)
        _put_each(parts, folder / MEMBERS, SCHEMAS[MEMBERS])
        return sizes

    def write(self, folder: Location) -> Counts:
        source = Source(self.index.manifest, self.facts(), self.age, self.sensitive.terms)
        summary = summed(self.job.version_folder, source)
        (folder / SPREADSHEETS).mkdir()
        files = export(self.job.version_folder, folder / SPREADSHEETS)
        (folder / REPORT).write_text(page(summary), "utf-8")
        return {"files": len(files) + 1}


_ASSETS: Final = (BY_ASSET, ORPHANS, PEOPLE, COLUMNS, OWNERS, *GROUPS)
STAGES: Final = (
    Stage("ask", (), _Reviewing.ask, (), "{comparisons} comparisons with attributes of users"),
    Stage("find", ("ask",), _Reviewing.find, (), "{rows:,} findings"),
    Stage(
        "coarse",
        ("ask", "find"),
        _Reviewing.coarse,
        (),
        "{matters:,} matters by type and container",
    ),
    Stage(
        "assets",
        ("ask", "find", "coarse"),
        _Reviewing.describe_assets,
        _ASSETS,
        "{assets:,} assets, {orphans:,} orphans",
    ),
    Stage(
        "merge",
        ("ask", "find", "coarse"),
        _Reviewing.merge,
        tuple(name for name in SCHEMAS if name not in _ASSETS),
        "{questions:,} questions, {review:,} classes",
    ),
    Stage(
        "write",
        ("ask", "find", "coarse"),
        _Reviewing.write,
        (SPREADSHEETS, REPORT),
        "{files} files to read",
    ),
)


def _put_each(parts: Iterable[pa.Table], folder: Location, schema: pa.Schema) -> int:
    """Writes a table part by part; returns the number of rows."""
    count = 0
    with parquet_output.writer(schema, folder) as out:
        for rows in parts:
            out.write_table(rows)
            count += rows.num_rows
    return count


def _put(rows: pa.Table, folder: Location) -> None:
    _put_each([rows], folder, rows.schema)
