"""The job that makes a review of an access index, stage by stage.

ask       what is asked; what attributes say of users
find      classes, gains by ownership and assets, block by block
coarse    by type and container, what has too many classes in all blocks together
assets    the tables with a row for each asset, and what is counted from them
merge     the tables of questions, classes and people
write     the same for spreadsheets, and the report to read
publish   the version counts
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline import written
from lakewarden.pipeline.index.estate import blocks_of, each_block, estate_of
from lakewarden.pipeline.index.index import Index, open_index
from lakewarden.pipeline.ingest.source import Progress, silent
from lakewarden.pipeline.ingest.version import read_from
from lakewarden.pipeline.memory import peak
from lakewarden.pipeline.product import Content, Draft, Manifest, draft, key_of, place
from lakewarden.pipeline.review import assets
from lakewarden.pipeline.review.audience import Telling, people_of
from lakewarden.pipeline.review.finding import TOLD, Plan, finder, teller, telling
from lakewarden.pipeline.review.found import At, Found, gathered
from lakewarden.pipeline.review.page import page
from lakewarden.pipeline.review.population import age_of, facts_of, input_of
from lakewarden.pipeline.review.question import CLASSES, Chosen, chosen, told
from lakewarden.pipeline.review.row import CLASS, FOUND, GROUP
from lakewarden.pipeline.review.schemas import (
    BY_ASSET,
    MEMBERS,
    ORPHANS,
    OWNERS,
    REVIEW,
    SCHEMAS,
)
from lakewarden.pipeline.review.spreadsheet import export
from lakewarden.pipeline.review.summary import Source, summed
from lakewarden.pipeline.review.tables import Tables, table
from lakewarden.pipeline.review.use import Use, use_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KIND: Final = "review"
STAGES: Final = ("ask", "find", "coarse", "assets", "merge", "write")

REPORT: Final = "review.html"
SPREADSHEETS: Final = "csv"

_LABELLED: Final = f"{assets.ASSETS}, domains array<string>, tags array<string>"


class Result(NamedTuple):
    """The manifest that counts now, what the run says of itself, and whether it made a version."""

    manifest: Manifest
    report: Mapping[str, Any]
    is_new: bool


def make_review(  # noqa: PLR0913 — a parameter for each option
    source: Path,
    out: Path,
    *,
    spark: SparkSession,
    privileges: Iterable[str] | None = None,
    operations: Iterable[str] | None = None,
    classes: int | None = CLASSES,
    used: Path | None = None,
    progress: Progress = silent,
) -> Result:
    """Makes a review of the access index `source` in the folder `out`.

    `privileges` and `operations` choose what is asked, by name; None: all of them. A matter of
    more than `classes` classes is reviewed by type and container (None: none is). `used` is what
    the job `unused` made of the index: it says who did nothing lately. Raises `BadInput` for an
    index that is damaged, and for what cannot be asked, `Unknown` for a name, `Conflict` when
    another process works on `out`; `out` then holds what it held.
    """
    if classes is not None and classes < 1:
        raise BadInput("expected at least one class", where="--classes")
    index = open_index(source)
    asked = chosen(index.system.model, privileges, operations)
    of_index = input_of(index)
    use = None if used is None else use_of(used, index, of_index)
    inputs = (of_index,) if use is None else (of_index, use.input)
    options = {
        "privileges": _said(asked.privileges),
        "operations": _said(asked.operations),
        "classes": "all" if classes is None else str(classes),
    }
    with draft(out, KIND, key_of(inputs, options), progress) as one:
        job = _Job(spark, one, index, asked, classes, use, age_of(source))
        with peak() as memory:
            tables = job.run()
        facts = job.facts()
        report = {
            "population": facts["population"],
            "source": {"revision": facts["revision"], **job.age},
            "peak_bytes": memory.bytes,
        }
        return Result(*one.finish(Manifest(KIND, 0, inputs, options, facts, tables), report))


def _said(names: frozenset[str] | None) -> str:
    return "all" if names is None else " ".join(sorted(names)) or "none"


@dataclass(slots=True)
class _Job:
    """One run: what it reads, and where it writes."""

    spark: SparkSession
    draft: Draft
    index: Index
    chosen: Chosen
    classes: int | None
    use: Use | None
    age: Mapping[str, Any]
    _found: Found | None = field(default=None)

    def run(self) -> dict[str, Content]:
        """All stages; the tables that were written."""
        self.draft.stage("ask", self._ask, "{told} comparisons with attributes of users")
        self.draft.stage("find", self._find, "{rows:,} findings")
        self.draft.stage("coarse", self._coarse, "{matters:,} matters by type and container")
        self.draft.stage("assets", self._assets, "{assets:,} assets, {orphans:,} orphans")
        self.draft.stage("merge", self._merge, "{questions:,} questions, {review:,} classes")
        tables = self._publish()
        self.draft.stage("write", self._write, "{files} files to read")
        place(self.draft.kept("write") / SPREADSHEETS, self.draft.folder / SPREADSHEETS)
        (self.draft.folder / REPORT).write_bytes((self.draft.kept("write") / REPORT).read_bytes())
        return tables

    def facts(self) -> dict[str, Any]:
        """What readers have to know beside the tables."""
        return facts_of(self.index, self._gathered())

    @property
    def _blocks(self) -> DataFrame:
        return blocks_of(self.index, self.spark)

    def _telling(self) -> Telling:
        kept = self.draft.kept("ask") / "told"
        asked = told(self.index.system.model)
        if not kept.exists():
            return {}
        rows = pq.read_table(kept).select(["told", "user", "id", "truth"])
        return telling(asked, zip(*(c.to_pylist() for c in rows.columns), strict=True))

    def _gathered(self) -> Found:
        """What was found, read once."""
        if self._found is None:
            people = people_of(estate_of(self.index))
            folders = self._folders()
            self._found = gathered(folders, people, self._telling(), self._matters_by_group())
        return self._found

    def _folders(self) -> list[Path]:
        """Where findings are: those of all blocks, and more by groups."""
        found = (self.draft.kept(stage) / "found" for stage in ("find", "coarse"))
        return [folder for folder in found if folder.exists()]

    def _matters_by_group(self) -> frozenset[At]:
        """The matters of too many classes."""
        known = self.draft.stages["coarse"].found["at"]
        return frozenset((type, matter) for type, matter in known)

    def _rows(self) -> DataFrame:
        return written.union([self._read(folder, FOUND) for folder in self._folders()])

    def _ask(self, folder: Path) -> dict[str, Any]:
        asked = told(self.index.system.model)
        if asked:
            estate = estate_of(self.index)
            written.write(each_block(self._blocks, estate, teller(asked), TOLD), folder / "told")
        return {"told": len(asked)}

    def _find(self, folder: Path) -> dict[str, Any]:
        estate = estate_of(self.index)
        judge = finder(estate, self._plan)
        written.write(each_block(self._blocks, estate, judge, FOUND), folder / "found")
        return {"rows": self._read(folder / "found", FOUND).count()}

    @property
    def _plan(self) -> Plan:
        return Plan(self.chosen, self._telling(), self.classes)

    def _coarse(self, folder: Path) -> dict[str, Any]:
        """Which matters have too many classes; by groups also where a block has few of them."""
        rows = self._read(self.draft.kept("find") / "found", FOUND)
        by = rows.where(F.col("what").isin(CLASS, GROUP)).groupBy("type", "matter")
        counted = by.agg(
            F.count_distinct(F.when(F.col("what") == CLASS, F.col("key"))).alias("classes"),
            F.max("what").alias("what"),
        ).collect()
        limit = self.classes
        wide = [c for c in counted if limit and (c["what"] == GROUP or c["classes"] > limit)]
        again = frozenset((c["type"], c["matter"]) for c in wide if c["classes"])
        if again:
            estate = estate_of(self.index)
            judge = finder(estate, replace(self._plan, again=again))
            written.write(each_block(self._blocks, estate, judge, FOUND), folder / "found")
        return {"matters": len(wide), "at": sorted([c["type"], c["matter"]] for c in wide)}

    def _read(self, folder: Path, schema: str) -> DataFrame:
        return written.read(self.spark, folder, schema)

    def _assets(self, folder: Path) -> dict[str, Any]:
        found = self._gathered()
        rows = self._read(self.draft.kept("find") / "found", FOUND)
        coarse = assets.reached(found, self.chosen)
        described = assets.assets(rows, found.people, found.gone, coarse)
        bits = int(self.index.manifest.facts["bits"])
        labelled = assets.labelled(described, self._blocks, bits)
        written.write(labelled, folder / "labelled")
        labelled = self._read(folder / "labelled", _LABELLED)
        written.write(assets.by_asset(labelled), folder / BY_ASSET)
        written.write(assets.orphans(labelled), folder / ORPHANS)
        self._owners(assets.owners(labelled), found, folder)
        counted = assets.groups(labelled).toArrow().select(["group", "name", "way", "key", "n"])
        cells = list(zip(*(column.to_pylist() for column in counted.columns), strict=True))
        for group, made in assets.group_rows(cells, found, coarse).items():
            _put(table(group, zip(*made, strict=True)), folder / group)
        sizes = {"assets": BY_ASSET, "orphans": ORPHANS}
        return {
            word: pq.read_table(folder / name, columns=["id"]).num_rows
            for word, name in sizes.items()
        }

    def _owners(self, frame: DataFrame, found: Found, folder: Path) -> None:
        rows = frame.toArrow()
        owners, counts = rows.column("owner").to_pylist(), rows.column("assets").to_pylist()
        known = assets.standing(found.people, found.gone)
        made = sorted((o, n, *known[o]) for o, n in zip(owners, counts, strict=True))
        _put(table(OWNERS, zip(*made, strict=True)), folder / OWNERS)

    def _merge(self, folder: Path) -> dict[str, Any]:
        tables = Tables(self._gathered(), self.chosen, self.use)
        sizes = {REVIEW: _put_each(tables.review(), folder / REVIEW)}
        for name, made in tables.others():
            _put(made, folder / name)
            sizes[name] = made.num_rows
        written.write(self._members(tables), folder / MEMBERS)
        return sizes

    def _members(self, tables: Tables) -> DataFrame:
        bits = int(self.index.manifest.facts["bits"])
        numbers = F.broadcast(self.spark.createDataFrame(tables.matters()))
        rows = self._rows().where(F.col("what").isin(CLASS, GROUP))
        rows = rows.withColumnRenamed("matter", "place").join(numbers, ["type", "place"])
        return rows.where((F.col("what") == GROUP) == F.col("coarse")).select(
            "matter",
            F.lower(F.hex("key")).alias("class"),
            F.shiftright("id", bits).alias("block"),
            "n",
            "bits",
        )

    def _publish(self) -> dict[str, Content]:
        """Puts the tables where the version is written."""
        tables = {}
        for name in SCHEMAS:
            stage = "merge" if (self.draft.kept("merge") / name).exists() else "assets"
            place(self.draft.kept(stage) / name, self.draft.folder / name)
            frame = self.spark.read.parquet(read_from(self.draft.folder / name))
            tables[name] = written.content(frame)
        return tables

    def _write(self, folder: Path) -> dict[str, Any]:
        source = Source(self.index.manifest, self.facts(), self.age)
        said = summed(self.draft.folder, source)
        (folder / SPREADSHEETS).mkdir()
        files = export(self.draft.folder, folder / SPREADSHEETS)
        (folder / REPORT).write_text(page(said), "utf-8")
        return {"files": len(files) + 1}


def _put_each(parts: Iterable[pa.Table], folder: Path) -> int:
    """Writes a table part by part; returns how many rows it has."""
    folder.mkdir()
    count = 0
    file = folder / "part-00000.parquet"
    with pq.ParquetWriter(file, SCHEMAS[folder.name], compression="zstd") as out:
        for rows in parts:
            out.write_table(rows)
            count += rows.num_rows
    return count


def _put(rows: pa.Table, folder: Path) -> None:
    folder.mkdir()
    pq.write_table(rows, folder / "part-00000.parquet", compression="zstd")
