"""The job that makes a review of an access index, stage by stage.

ask       what is asked; what attributes say of users
find      classes, gains by ownership and assets, block by block
assets    the tables with a row for each asset, and what is counted from them
merge     the tables of questions, classes and people
write     the same for spreadsheets, and the report to read
publish   the version counts
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

from lakewarden.kernel.principal import USER
from lakewarden.pipeline import written
from lakewarden.pipeline.index.estate import blocks_of, each_block, estate_of
from lakewarden.pipeline.index.index import STATEMENTS, Index, open_index
from lakewarden.pipeline.ingest.source import Progress, silent
from lakewarden.pipeline.ingest.version import read_from
from lakewarden.pipeline.memory import peak
from lakewarden.pipeline.product import (
    MANIFEST,
    Content,
    Draft,
    Input,
    Manifest,
    draft,
    key_of,
    place,
)
from lakewarden.pipeline.review import assets
from lakewarden.pipeline.review.audience import Telling, people_of
from lakewarden.pipeline.review.finding import (
    CLASS,
    FOUND,
    TOLD,
    Plan,
    finder,
    teller,
    telling,
)
from lakewarden.pipeline.review.found import Found, gathered
from lakewarden.pipeline.review.page import page
from lakewarden.pipeline.review.question import Chosen, chosen, told
from lakewarden.pipeline.review.schemas import (
    BY_ASSET,
    MEMBERS,
    ORPHANS,
    OWNERS,
    SCHEMAS,
)
from lakewarden.pipeline.review.spreadsheet import export
from lakewarden.pipeline.review.summary import Source, summed
from lakewarden.pipeline.review.tables import Tables, table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KIND: Final = "review"
STAGES: Final = ("ask", "find", "assets", "merge", "write")

REPORT: Final = "review.html"
SPREADSHEETS: Final = "csv"

_LABELLED: Final = f"{assets.ASSETS}, domains array<string>, tags array<string>"


class Result(NamedTuple):
    """The manifest that counts now, what the run says of itself, and whether it made a version."""

    manifest: Manifest
    report: Mapping[str, Any]
    is_new: bool


def make_review(
    source: Path,
    out: Path,
    *,
    spark: SparkSession,
    privileges: Iterable[str] | None = None,
    operations: Iterable[str] | None = None,
    progress: Progress = silent,
) -> Result:
    """Makes a review of the access index `source` in the folder `out`.

    `privileges` and `operations` choose what is asked, by name; None: all of them. Raises
    `BadInput` for an index that is damaged, `Unknown` for a name, `Conflict` when another
    process works on `out`; `out` then holds what it held.
    """
    index = open_index(source)
    asked = chosen(index.system.model, privileges, operations)
    inputs = (Input(index.realm, index.manifest.version, _sha256(index.manifest.text())),)
    options = {
        "privileges": _said(asked.privileges),
        "operations": _said(asked.operations),
    }
    with draft(out, KIND, key_of(inputs, options), progress) as one:
        job = _Job(spark, one, index, asked, age_of(source))
        with peak() as memory:
            tables = job.run()
        facts = job.facts()
        report = {
            "population": facts["population"],
            "source": {"revision": facts["revision"], **job.age},
            "peak_bytes": memory.bytes,
        }
        return Result(*one.finish(Manifest(KIND, 0, inputs, options, facts, tables), report))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _said(names: frozenset[str] | None) -> str:
    return "all" if names is None else " ".join(sorted(names)) or "none"


def age_of(source: Path) -> dict[str, Any]:
    """When the index was written, and how long ago that is, in seconds."""
    written_at = (source / MANIFEST).stat().st_mtime
    moment = datetime.fromtimestamp(written_at, UTC).isoformat(timespec="seconds")
    return {"written": moment, "age_seconds": max(0, round(time.time() - written_at))}


def _facts(index: Index, found: Found) -> dict[str, Any]:
    """What the review is of: the system, and the population as it was frozen in the index."""
    facts, acting = index.manifest.facts, found.people.acting
    statements = _sha256((index.folder / STATEMENTS).read_text("utf-8"))
    digests = {name: content.digest for name, content in sorted(index.manifest.tables.items())}
    population = {
        "entities": sum(n for type, n in found.census.items() if type),
        "users": sum(acting.principals[id].kind == USER for id in acting.stored),
        "principals": len(acting.stored),
        "statements": statements,
        "checksum": _sha256(json.dumps([digests, statements])),
    }
    kept = ("realm", "revision", "model", "settings", "digest", "from", "until", "bits")
    return {**{name: facts[name] for name in kept}, "population": population}


@dataclass(slots=True)
class _Job:
    """One run: what it reads, and where it writes."""

    spark: SparkSession
    draft: Draft
    index: Index
    chosen: Chosen
    age: Mapping[str, Any]
    _found: Found | None = field(default=None)

    def run(self) -> dict[str, Content]:
        """All stages; the tables that were written."""
        self.draft.stage("ask", self._ask, "{told} comparisons with attributes of users")
        self.draft.stage("find", self._find, "{rows:,} findings")
        self.draft.stage("assets", self._assets, "{assets:,} assets, {orphans:,} orphans")
        self.draft.stage("merge", self._merge, "{questions:,} questions, {review:,} classes")
        tables = self._publish()
        self.draft.stage("write", self._write, "{files} files to read")
        place(self.draft.kept("write") / SPREADSHEETS, self.draft.folder / SPREADSHEETS)
        (self.draft.folder / REPORT).write_bytes((self.draft.kept("write") / REPORT).read_bytes())
        return tables

    def facts(self) -> dict[str, Any]:
        """What readers have to know beside the tables."""
        return _facts(self.index, self._gathered())

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
            self._found = gathered(self.draft.kept("find") / "found", people, self._telling())
        return self._found

    def _ask(self, folder: Path) -> dict[str, Any]:
        asked = told(self.index.system.model)
        if asked:
            estate = estate_of(self.index)
            written.write(each_block(self._blocks, estate, teller(asked), TOLD), folder / "told")
        return {"told": len(asked)}

    def _find(self, folder: Path) -> dict[str, Any]:
        estate = estate_of(self.index)
        judge = finder(estate, Plan(self.chosen, self._telling()))
        written.write(each_block(self._blocks, estate, judge, FOUND), folder / "found")
        return {"rows": self._read(folder / "found", FOUND).count()}

    def _read(self, folder: Path, schema: str) -> DataFrame:
        return written.read(self.spark, folder, schema)

    def _assets(self, folder: Path) -> dict[str, Any]:
        found = self._gathered()
        rows = self._read(self.draft.kept("find") / "found", FOUND)
        described = assets.assets(rows, found.people, found.gone)
        bits = int(self.index.manifest.facts["bits"])
        labelled = assets.labelled(described, self._blocks, bits)
        written.write(labelled, folder / "labelled")
        labelled = self._read(folder / "labelled", _LABELLED)
        written.write(assets.by_asset(labelled), folder / BY_ASSET)
        written.write(assets.orphans(labelled), folder / ORPHANS)
        self._owners(assets.owners(labelled), found, folder)
        counted = assets.groups(labelled).toArrow().select(["group", "name", "way", "key", "n"])
        cells = list(zip(*(column.to_pylist() for column in counted.columns), strict=True))
        for group, made in assets.group_rows(cells, found).items():
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
        tables = Tables(self._gathered(), self.chosen)
        sizes = {}
        for name, made in tables.all():
            _put(made, folder / name)
            sizes[name] = made.num_rows
        written.write(self._members(tables), folder / MEMBERS)
        return sizes

    def _members(self, tables: Tables) -> DataFrame:
        bits = int(self.index.manifest.facts["bits"])
        numbers = F.broadcast(self.spark.createDataFrame(tables.matters()))
        rows = self._read(self.draft.kept("find") / "found", FOUND)
        rows = rows.where(F.col("what") == CLASS).withColumnRenamed("matter", "place")
        return rows.join(numbers, ["type", "place"]).select(
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


def _put(rows: pa.Table, folder: Path) -> None:
    folder.mkdir()
    pq.write_table(rows, folder / "part-00000.parquet", compression="zstd")
