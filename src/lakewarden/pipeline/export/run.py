"""The job that unrolls an access index into plain tables for SQL, stage by stage.

ask       compute attribute comparisons for users
find      classes, crowds and ties, block by block
tables    tables that grow with entities and classes
people    tables that grow with people, statements and questions; the SQL files
publish   make the version the current one
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.pipeline import local_mode, parquet_output
from lakewarden.pipeline.export.block_export import BLOCK_ROWS, DECISION, TYPE, WIDE, unroller
from lakewarden.pipeline.export.people import Small, numbered_matters, numbered_needs
from lakewarden.pipeline.export.schemas import DUCKDB, SCHEMAS, SPARK, VIEWS, schemas, sql
from lakewarden.pipeline.export.tables import LARGE, Large, typed
from lakewarden.pipeline.export.user_sets import UserSets, user_sets_of
from lakewarden.pipeline.index.index import BLOCKS, Index, open_index
from lakewarden.pipeline.index.task_context import (
    TaskContext,
    blocks_of,
    each_block_in,
    task_context_of,
)
from lakewarden.pipeline.index.validity import currency
from lakewarden.pipeline.ingest.source import Progress, silent
from lakewarden.pipeline.job import Counts, Job, Result, Stage
from lakewarden.pipeline.review.finding import Plan, answers_of, evaluate_comparisons
from lakewarden.pipeline.review.question import (
    CLASSES_FOR_SQL,
    Chosen,
    chosen,
)
from lakewarden.pipeline.storage.dataset import dataset
from lakewarden.pipeline.storage.location import Location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KIND: Final = "export"
_GROUP_BYTES: Final = 1 << 23
"""Size of a row group in bytes: small ones, because readers skip those they do not need."""

_NAMED: Final = 5
"""How many questions a message names."""


def make_export(
    source: Location,
    out: Location,
    *,
    spark: SparkSession,
    privileges: Iterable[str] | None = None,
    operations: Iterable[str] | None = None,
    classes: int | None = CLASSES_FOR_SQL,
    progress: Progress = silent,
) -> Result:
    """Unrolls the access index `source` into tables in the folder `out`.

    `privileges` and `operations` choose the questions, by name; None: all of them. Raises
    `BadInput` for a damaged index; `Unknown` for a name; `LimitExceeded` for a question that
    distinguishes more than `classes` kinds of entities of a block (None: no limit); `Conflict` if
    another process works on `out`. `out` is then unchanged.
    """
    if classes is not None and classes < 1:
        raise BadInput("expected at least one class", where="--classes")
    index = open_index(source, spark=spark)
    questions = chosen(index.system.model, privileges, operations)
    job = Job(KIND, out, tuple(SCHEMAS), spark, (index.input,), questions.options(), progress)
    job.reads = (index.version,)
    job.most_rows = local_mode.ROWS
    names = ("realm", "revision", "model", "settings", "digest", "from", "until")
    facts = {name: index.manifest.facts[name] for name in names}
    if "model_text" in index.manifest.facts:
        facts["model_text"] = index.manifest.facts["model_text"]
    return job.run(
        STAGES,
        _Exporting(job, index, task_context_of(index), questions, classes),
        facts=lambda: facts,
        report=lambda: {"source": {"revision": index.revision}, **currency(facts)},
    )


@dataclass(frozen=True)
class _Exporting:
    """What the stages share: the index, the questions, and the findings."""

    job: Job
    index: Index
    context: TaskContext
    chosen: Chosen
    classes: int | None

    @cached_property
    def _user_sets(self) -> UserSets:
        answers = answers_of(self.index.system.model, self.job.folder("ask") / "comparisons")
        return user_sets_of(self.context, answers)

    def ask(self, folder: Location) -> Counts:
        answers = folder / "comparisons"
        return evaluate_comparisons(self.index, self.context, answers, self.job.spark)

    def find(self, folder: Location) -> Counts:
        judge = unroller(self.context, Plan(self.chosen, self._user_sets.telling, self.classes))
        blocks = self.index.folder / BLOCKS
        found = each_block_in(blocks, self.job.spark, self.context, judge, BLOCK_ROWS)
        parquet_output.write(found, folder / "findings", _GROUP_BYTES)
        rows = dataset(folder / "findings")
        wide = rows.to_table(columns=["type", "matter"], filter=ds.field("what") == WIDE)
        if len(wide):
            raise self._over_limit(set(zip(*(c.to_pylist() for c in wide.columns), strict=True)))
        return {"rows": rows.count_rows()}

    def _over_limit(self, wide: set[tuple[str, int]]) -> LimitExceeded:
        model = self.index.system.model
        names = sorted(
            f"{question.name} on {type or 'no resource'}"
            for type, place in wide
            for question in self.chosen.agenda(model, type).matters[place].questions
        )
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        return LimitExceeded(
            f"more than {self.classes:,} kinds of entities are told apart by"
            f" {', '.join(f'`{name}`' for name in names[:_NAMED])}{more}; choose other questions"
            " with --privileges and --operations (`none`: no question), or give a higher --classes"
        )

    def tables(self, folder: Location) -> Counts:
        space = self.index.space
        rows = parquet_output.read(self.job.spark, self._findings, BLOCK_ROWS)
        large = Large(self.job.spark, blocks_of(self.index, self.job.spark), space.bits, rows)
        frames = large.all(self._small.matters, self._small.needs)
        tables = schemas(space.width)
        selected = {name: typed(rows, tables[name]) for name, rows in frames.items()}
        parquet_output.write_all(selected, folder, _GROUP_BYTES)
        return {name: parquet_output.count_rows(folder / name) for name in frames}

    @property
    def _findings(self) -> Location:
        return self.job.folder("find") / "findings"

    @cached_property
    def _small(self) -> Small:
        rows = dataset(self._findings)
        types = rows.to_table(columns=["type"], filter=ds.field("what") == TYPE)
        needs = rows.to_table(columns=["word"], filter=ds.field("what") == DECISION)
        people = self._user_sets.people
        return Small(
            context=self.context,
            user_sets=self._user_sets,
            chosen=self.chosen,
            matters=numbered_matters(self.chosen, people, set(_cells(types))),
            needs=numbered_needs(pc.unique(needs.column("word")).to_pylist()),
        )

    def people(self, folder: Location) -> Counts:
        sizes = {}
        for name, table in self._small.all():
            parquet_output.put_table(table, folder / name)
            sizes[name] = table.num_rows
        for name, text in sql().items():
            (folder / name).write_text(text, "utf-8")
        return sizes


STAGES: Final = (
    Stage("ask", (), _Exporting.ask, (), "{comparisons} comparisons with attributes of users"),
    Stage("find", ("ask",), _Exporting.find, (), "{rows:,} findings"),
    Stage(
        "tables",
        ("ask", "find"),
        _Exporting.tables,
        LARGE,
        "{classes:,} entities by matter and class",
    ),
    Stage(
        "people",
        ("ask", "find"),
        _Exporting.people,
        (*(name for name in SCHEMAS if name not in LARGE), DUCKDB, SPARK, VIEWS),
        "{users:,} users, {statements:,} statements",
    ),
)


def _cells(rows: pa.Table) -> list[str]:
    values: list[str] = rows.column(0).to_pylist()
    return values
