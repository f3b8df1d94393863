"""A run of ingestion: read, check, own, write; whole or not at all.

A run that fails leaves the version before it in place, and the same input again makes no new
one. Rows are counted when they come in, when they are checked and when they are written, and
the counts are compared: what came in is in the version or in its quarantine.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.parquet as pq

from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.kernel.relations import TABLES
from lakewarden.pipeline import ownership as owning
from lakewarden.pipeline.directory import Content, Manifest
from lakewarden.pipeline.ingest.files import refuse_errors
from lakewarden.pipeline.ingest.report import MAX_NOTES, Note, Report, Rows
from lakewarden.pipeline.ingest.row import (
    CELLS,
    COUNTED,
    DELETED,
    ERRORS,
    NOTES,
    PLACEMENTS,
    SPARK_SCHEMA,
    STATEMENTS,
)
from lakewarden.pipeline.ingest.source import Progress, Reading, Source, silent
from lakewarden.pipeline.ingest.version import Draft, draft, read_from, written_to
from lakewarden.pipeline.tables import COLUMNS, QUARANTINE, spark_schema
from lakewarden.service.system import System, load_system

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Result:
    """The version that counts after a run, whether this run made it, and what happened."""

    manifest: Manifest
    is_new: bool
    report: Report


class _Read(NamedTuple):
    """Normalised rows, kept, what came with them, and how many of each table there are."""

    rows: DataFrame
    reading: Reading
    counts: Mapping[str, int]


class _Checked(NamedTuple):
    """Rows with their reasons, kept; how many of each table passed and not, and why not."""

    rows: DataFrame
    passed: Mapping[str, int]
    failed: Mapping[str, int]
    reasons: Mapping[str, int]


class _Owned(NamedTuple):
    """The owners after the rules; how many there are, were added and were removed."""

    rows: DataFrame
    total: int
    added: int = 0
    removed: int = 0


@dataclass(slots=True)
class _Clock:
    """Seconds by stage."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds[name] = round(time.monotonic() - began, 3)


def ingest(
    source: Source,
    out: Path,
    *,
    spark: SparkSession,
    realm: str = "",
    settings: Mapping[str, str] | None = None,
    ownership: Path | None = None,
    progress: Progress = silent,
) -> Result:
    """Reads a source into the directory `out`, as its next version.

    `realm` is the realm's name (default: the model's), `settings` those of the model,
    `ownership` a file of rules (see `lakewarden.pipeline.ownership`). Spark has to reach the
    files and `out` under the paths that are valid here.

    Raises `BadInput` for any error in what is read or configured, with its place, `Conflict`
    when another process works on `out`, `Unavailable` when the source cannot be reached;
    `out` then holds what it held.
    """
    system = load_system(source.model, settings)
    options = dict(source.options)
    rules = None
    if ownership is not None:
        rules = _rules(ownership, spark, system)
        options["ownership"] = hashlib.sha256(ownership.read_bytes()).hexdigest()
    clock = _Clock()
    with draft(out) as one:
        if one.previous is not None and one.previous.model != system.model.name:
            message = f"holds a realm of the model `{one.previous.model}`"
            raise BadInput(message, where=str(out))
        with clock.stage("read"):
            read = _read(source, spark, system, one, progress)
        with clock.stage("check"):
            checked = _check(read, system, one, progress)
        with clock.stage("own"):
            owned = _own(checked, rules, spark, one, progress)
        with clock.stage("write"):
            tables, statements = _write(checked, owned, one, progress)
            _compare(checked, owned, tables, statements, one)
            report = _report(read, checked, owned)
        manifest = Manifest(
            model=system.model.name,
            settings=system.model.settings,
            realm=realm or system.model.name,
            source=source.kind,
            version=0,
            inputs=tuple(read.reading.inputs),
            tables=tables,
            statements=statements,
            options=options,
            deleted=_deleted(read, system),
        )
        report = replace(report, seconds=clock.seconds)
        manifest, is_new = one.finish(manifest, report.table)
    steps = len(COLUMNS) + 1
    progress("write", steps, steps, f"version {manifest.version}{'' if is_new else ', as before'}")
    return Result(manifest, is_new, report)


def _rules(file: Path, spark: SparkSession, system: System) -> owning.Ownership:
    if system.model.spelling != "datahub":
        message = f"owners by pattern are for datasets of DataHub, not for {system.model.title}"
        raise BadInput(message, where=str(file))
    rules = owning.read(file)
    owning.check_in_java(spark, rules, str(file))
    return rules


def _read(
    source: Source, spark: SparkSession, system: System, one: Draft, progress: Progress
) -> _Read:
    """The source's rows, computed once and kept; raises `BadInput` when any is an error."""
    reading = source.read(spark, system, one.scratch, progress)
    rows = _kept(reading.rows, one.scratch / "rows")
    counts = {row["table"]: row["count"] for row in rows.groupBy("table").count().collect()}
    if counts.get(ERRORS):
        errors = rows.filter(rows["table"] == ERRORS).select("place", "c0").collect()
        refuse_errors(sorted(((row[0], row[1]) for row in errors), key=natural))
    total = sum(counts.get(table, 0) for table in COUNTED)
    progress("read", 1, 1, f"{total} rows")
    return _Read(rows, reading, counts)


def natural(error: tuple[str, str]) -> list[tuple[int, str]]:
    """A key that sorts `line 9` before `line 10`."""
    parts = re.split(r"(\d+)", error[0])
    return [(int(part), "") if part.isdecimal() else (0, part) for part in parts]


def _kept(rows: DataFrame, place: Path) -> DataFrame:
    """The same rows, written down, so that they are computed once."""
    rows.write.partitionBy("table").parquet(written_to(place))
    schema = rows.sparkSession.createDataFrame([], SPARK_SCHEMA).schema
    read = rows.sparkSession.read.schema(schema).parquet(read_from(place))
    return read.select(*schema.names)


def _check(read: _Read, system: System, one: Draft, progress: Progress) -> _Checked:
    from lakewarden.pipeline.check import check

    counted = read.rows.filter(read.rows["table"].isin(*COUNTED))
    rows = _kept(check(counted, system.model), one.scratch / "checked")
    passed, failed, reasons = Counter[str](), Counter[str](), Counter[str]()
    for table, reason, count in rows.groupBy("table", "reason").count().collect():
        if reason is None:
            passed[table] += count
        else:
            failed[table] += count
            reasons[reason] += count
    for table in COUNTED:
        judged = passed[table] + failed[table]
        _expect(f"{table} after the checks", judged, read.counts.get(table, 0))
    progress("check", 1, 1, f"{failed.total()} rows set aside")
    return _Checked(rows, passed, failed, reasons)


def _expect(what: str, found: int, expected: int) -> None:
    """INVARIANT: no row is lost on the way, and none appears."""
    if found != expected:
        raise WardenError(f"rows do not add up: {what}: expected {expected}, found {found}")


def _own(
    checked: _Checked,
    rules: owning.Ownership | None,
    spark: SparkSession,
    one: Draft,
    progress: Progress,
) -> _Owned:
    before = _table(checked.rows, "owners")
    if rules is None:
        return _Owned(before, checked.passed["owners"])
    place = one.scratch / "owners"
    owning.apply(before, _table(checked.rows, "entities"), rules).write.parquet(written_to(place))
    after = spark.read.schema(spark_schema("owners")).parquet(read_from(place))
    names = before.columns
    added = after.join(before, names, "left_anti").count()
    removed = before.join(after, names, "left_anti").count()
    progress("own", 1, 1, f"{added} owners added, {removed} removed")
    return _Owned(after, after.count(), added, removed)


def _table(rows: DataFrame, table: str) -> DataFrame:
    """The rows of one table that passed, under the names of its columns."""
    names = ["type", "name"] if table == "entities" else [c.name for c in COLUMNS[table]]
    return rows.filter(_is(rows, table)).select(*CELLS[: len(names)]).toDF(*names)


def _is(rows: DataFrame, table: str) -> Column:
    """Whether a row is of the table and passed."""
    return (rows["table"] == table) & rows["reason"].isNull()


def _write(
    checked: _Checked, owned: _Owned, one: Draft, progress: Progress
) -> tuple[dict[str, Content], Content]:
    passed = checked.passed
    frames = {name: _table(checked.rows, name) for name in TABLES}
    frames["entities"] = _placed(checked.rows)
    frames["owners"] = owned.rows
    frames[QUARANTINE] = _quarantine(checked.rows)
    counts = {**passed, "owners": owned.total, QUARANTINE: sum(checked.failed.values())}
    tables: dict[str, Content] = {}
    for done, name in enumerate(COLUMNS, 1):
        tables[name] = one.write(name, frames[name], counts.get(name, 0))
        progress("write", done, len(COLUMNS) + 1, f"{tables[name].rows} {name}")
    return tables, one.write_statements(_statements(checked))


def _statements(checked: _Checked) -> str:
    """The statements that passed, one JSON object a line, by id."""
    if not checked.passed.get(STATEMENTS):
        return ""
    rows = checked.rows.filter(_is(checked.rows, STATEMENTS))
    found = rows.select("c0", "c1").orderBy("c0").toArrow()
    ids = found.column("c0").to_pylist()
    for id, following in pairwise(ids):
        if id == following:
            raise BadInput(f"statement id `{id}` is used twice")
    return "".join(f"{text}\n" for text in found.column("c1").to_pylist())


def _placed(rows: DataFrame) -> DataFrame:
    """The entities with their places."""
    entities = _table(rows, "entities")
    named = (
        rows.filter(_is(rows, PLACEMENTS))
        .select(*CELLS[:4])
        .toDF("type", "name", "parent_type", "parent_name")
    )
    return entities.join(named, ["type", "name"], "left")


def _quarantine(rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

    return rows.filter("reason is not null").select(
        "table",
        F.to_json(F.array_compact(F.array(*CELLS))).alias("row"),
        "reason",
        F.coalesce("detail", F.lit("")).alias("detail"),
        "place",
    )


def _compare(
    checked: _Checked,
    owned: _Owned,
    tables: Mapping[str, Content],
    statements: Content,
    one: Draft,
) -> None:
    """Compares what was written with what was counted on the way."""
    passed = checked.passed
    for name in TABLES:
        grown = owned.added - owned.removed if name == "owners" else 0
        _expect(f"{name} written", tables[name].rows, passed.get(name, 0) + grown)
    parents = pq.read_table(one.folder / "entities", columns=["parent_type"]).column(0)
    _expect("places written", len(parents) - parents.null_count, passed.get(PLACEMENTS, 0))
    _expect("statements written", statements.rows, passed.get(STATEMENTS, 0))
    _expect("rows in quarantine", tables[QUARANTINE].rows, sum(checked.failed.values()))


def _report(read: _Read, checked: _Checked, owned: _Owned) -> Report:
    counts = read.counts
    rows = {
        name: Rows(counts.get(name, 0), checked.passed.get(name, 0), checked.failed.get(name, 0))
        for name in COUNTED
    }
    notes = read.rows.filter(read.rows["table"] == NOTES).select("c0", "c1").orderBy("c0", "c1")
    found = notes.limit(MAX_NOTES).collect() if counts.get(NOTES) else []
    return Report(
        rows=rows,
        quarantined=dict(sorted(checked.reasons.items())),
        owners_added=owned.added,
        owners_removed=owned.removed,
        named=_named(checked),
        ignored=read.reading.ignored,
        notes=[Note(row[0], row[1]) for row in found],
        note_count=counts.get(NOTES, 0),
        not_read=read.reading.not_read,
    )


def _named(checked: _Checked) -> dict[str, int]:
    """How many names of each type are a parent or a target and not stored."""
    from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

    if not (checked.passed.get(PLACEMENTS) or checked.passed.get("relations")):
        return {}
    sound = checked.rows.filter("reason is null")
    stored = _table(checked.rows, "entities")
    parents = sound.filter(F.col("table") == PLACEMENTS).select("c2", "c3")
    targets = sound.filter("table = 'relations'").select("c3", "c4")
    named = parents.union(targets).toDF("type", "name").distinct()
    counted = named.join(stored, ["type", "name"], "left_anti").groupBy("type").count()
    return {row["type"]: row["count"] for row in counted.orderBy("type").collect()}


def _deleted(read: _Read, system: System) -> tuple[str, ...]:
    """The default statements that the source deleted, as far as they can be."""
    if not read.counts.get(DELETED):
        return ()
    rows = read.rows.filter(read.rows["table"] == DELETED).select("c0").collect()
    editable = {str(t["id"]) for t in system.model.defaults if t.get("editable", False)}
    return tuple(sorted({row[0] for row in rows} & editable))
