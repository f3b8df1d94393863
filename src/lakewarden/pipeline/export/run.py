"""The job that unrolls an access index into plain tables for SQL, stage by stage.

ask       what attributes say of users
find      classes, crowds and ties, block by block
tables    what grows with entities and classes
people    what grows with people, statements and questions; the SQL files
publish   the version counts
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.pipeline import parquet_output
from lakewarden.pipeline.export.block_export import DECISION, FOUND, TYPE, WIDE, unroller
from lakewarden.pipeline.export.people import Small, numbered_matters, numbered_needs
from lakewarden.pipeline.export.schemas import SCHEMAS, spark_columns
from lakewarden.pipeline.export.sql_declarations import sql
from lakewarden.pipeline.export.tables import Large
from lakewarden.pipeline.export.user_sets import UserSets, crowds_of
from lakewarden.pipeline.index.index import Index, open_index
from lakewarden.pipeline.index.task_context import (
    TaskContext,
    blocks_of,
    each_block,
    task_context_of,
)
from lakewarden.pipeline.ingest.source import Progress, silent
from lakewarden.pipeline.ingest.version import written_to
from lakewarden.pipeline.memory import peak
from lakewarden.pipeline.product import Content, Draft, Input, Manifest, draft, key_of, place
from lakewarden.pipeline.review.finding import TOLD, Plan, teller, telling
from lakewarden.pipeline.review.question import CLASSES_FOR_SQL, Chosen, chosen, told

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KIND: Final = "export"
STAGES: Final = ("ask", "find", "tables", "people")

_GROUP_BYTES: Final = str(1 << 23)
"""Bytes of a group of rows: small ones, since readers skip those in which nothing is asked for."""

_NAMED: Final = 5
"""So many questions are named where all of them would be too many to read."""


class Result(NamedTuple):
    """The manifest that counts now, what the run says of itself, and whether it made a version."""

    manifest: Manifest
    report: Mapping[str, Any]
    is_new: bool


def make_export(
    source: Path,
    out: Path,
    *,
    spark: SparkSession,
    privileges: Iterable[str] | None = None,
    operations: Iterable[str] | None = None,
    classes: int | None = CLASSES_FOR_SQL,
    progress: Progress = silent,
) -> Result:
    """Unrolls the access index `source` into tables in the folder `out`.

    `privileges` and `operations` choose what is decided, by name; None: all of them. Raises
    `BadInput` for an index that is damaged, `Unknown` for a name, `LimitExceeded` for a question
    that tells more than `classes` kinds of entities of a block apart (None: no limit),
    `Conflict` when another process works on `out`; `out` then holds what it held.
    """
    if classes is not None and classes < 1:
        raise BadInput("expected at least one class", where="--classes")
    index = open_index(source)
    asked = chosen(index.system.model, privileges, operations)
    inputs = (Input(index.realm, index.manifest.version, _sha256(index.manifest.text())),)
    options = {"privileges": _said(asked.privileges), "operations": _said(asked.operations)}
    with draft(out, KIND, key_of(inputs, options), progress) as one:
        with peak() as memory:
            tables = _Job(spark, one, index, task_context_of(index), asked, classes).run()
        kept = ("realm", "revision", "model", "settings", "digest", "from", "until")
        facts = {name: index.manifest.facts[name] for name in kept}
        manifest = Manifest(KIND, 0, inputs, options, facts, tables)
        report = {"source": {"revision": index.revision}, "peak_bytes": memory.bytes}
        return Result(*one.finish(manifest, report))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _said(names: frozenset[str] | None) -> str:
    return "all" if names is None else " ".join(sorted(names)) or "none"


@dataclass(frozen=True)
class _Job:
    """One run: what it reads, and where it writes."""

    spark: SparkSession
    draft: Draft
    index: Index
    context: TaskContext
    chosen: Chosen
    classes: int | None

    def run(self) -> dict[str, Content]:
        """All stages; the tables that were written."""
        self.draft.stage("ask", self._ask, "{told} comparisons with attributes of users")
        self.draft.stage("find", self._find, "{rows:,} findings")
        self.draft.stage("tables", self._tables, "{classes:,} entities by matter and class")
        self.draft.stage("people", self._people, "{users:,} users, {statements:,} statements")
        for name, text in sql().items():
            (self.draft.folder / name).write_text(text, "utf-8")
        return self._publish()

    @cached_property
    def _crowds(self) -> UserSets:
        asked = told(self.index.system.model)
        if not asked:
            return crowds_of(self.context, {})
        rows = pq.read_table(self.draft.kept("ask") / "told")
        columns = rows.select(["told", "user", "id", "truth"]).columns
        answers = telling(asked, zip(*(c.to_pylist() for c in columns), strict=True))
        return crowds_of(self.context, answers)

    def _each_block(self, judge: Any, schema: str) -> DataFrame:
        return each_block(blocks_of(self.index, self.spark), self.context, judge, schema)

    def _ask(self, folder: Path) -> dict[str, Any]:
        asked = told(self.index.system.model)
        if asked:
            parquet_output.write(self._each_block(teller(asked), TOLD), folder / "told")
        return {"told": len(asked)}

    def _find(self, folder: Path) -> dict[str, Any]:
        judge = unroller(self.context, Plan(self.chosen, self._crowds.telling, self.classes))
        _write(self._each_block(judge, FOUND), folder / "found")
        found = ds.dataset(folder / "found", format="parquet")
        wide = found.to_table(columns=["type", "matter"], filter=ds.field("what") == WIDE)
        if len(wide):
            raise self._too_wide(set(zip(*(c.to_pylist() for c in wide.columns), strict=True)))
        return {"rows": found.count_rows()}

    def _too_wide(self, wide: set[tuple[str, int]]) -> LimitExceeded:
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

    def _tables(self, folder: Path) -> dict[str, Any]:
        bits = int(self.index.manifest.facts["bits"])
        found = parquet_output.read(self.spark, self._found, FOUND)
        large = Large(self.spark, blocks_of(self.index, self.spark), bits, found)
        sizes = {}
        for name, frame in large.all(self._small.matters, self._small.needs).items():
            _write(frame.select(*SCHEMAS[name].names), folder / name)
            sizes[name] = ds.dataset(folder / name, format="parquet").count_rows()
        return sizes

    @property
    def _found(self) -> Path:
        return self.draft.kept("find") / "found"

    @cached_property
    def _small(self) -> Small:
        rows = ds.dataset(self._found, format="parquet")
        types = rows.to_table(columns=["type"], filter=ds.field("what") == TYPE)
        needs = rows.to_table(columns=["word"], filter=ds.field("what") == DECISION)
        people = self._crowds.people
        return Small(
            context=self.context,
            crowds=self._crowds,
            chosen=self.chosen,
            matters=numbered_matters(self.chosen, people, set(_cells(types))),
            needs=numbered_needs(pc.unique(needs.column("word")).to_pylist()),
        )

    def _people(self, folder: Path) -> dict[str, Any]:
        sizes = {}
        for name, made in self._small.all():
            (folder / name).mkdir()
            pq.write_table(made, folder / name / "part-00000.parquet", compression="zstd")
            sizes[name] = made.num_rows
        return sizes

    def _publish(self) -> dict[str, Content]:
        """Puts the tables where the version is written."""
        frames = {}
        for name in SCHEMAS:
            stage = "people" if (self.draft.kept("people") / name).exists() else "tables"
            place(self.draft.kept(stage) / name, self.draft.folder / name)
            frames[name] = parquet_output.read(
                self.spark, self.draft.folder / name, spark_columns(name)
            )
        return parquet_output.contents(frames)


def _cells(rows: pa.Table) -> list[str]:
    found: list[str] = rows.column(0).to_pylist()
    return found


def _write(frame: DataFrame, place: Path) -> None:
    """Writes a table; only its files of rows stay."""
    options = {"compression": "zstd", "parquet.block.size": _GROUP_BYTES}
    frame.write.mode("overwrite").options(**options).parquet(written_to(place))
    for file in place.iterdir():
        if file.suffix != ".parquet":
            file.unlink()
