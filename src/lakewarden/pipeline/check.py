"""What normalised rows are checked for, in Spark: every row passes, or gets a reason.

    repeated          the same row again; the first is kept
    two parents       an entity is placed in several places: none is believed
    cycle             a containment, or a membership among groups and roles, that leads back
    too deep          a place more than 64 levels down
    dangling parent   the parent is not stored, in a system that denies what is not
    not stored        a row about an entity that is not stored
    dangling target   a row names what is not stored, in a system that denies what is not
    incomplete        another edge of the entity was set aside, and rules ask about all of them

A place that data gave is set aside alone and the entity kept, at the top; with a parent that
its name needs, the entity goes too. Frames only: no RDD, no Python function. What has to be
followed from row to row (containers, domains, term groups, groups and roles, which are few,
and what hangs below a missing parent) is followed on the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

from lakewarden.kernel.model import Model
from lakewarden.pipeline.check_rules import (
    ABOUT,
    DANGLING_TARGET,
    DETAILS,
    INCOMPLETE,
    NESTING_KINDS,
    NOT_STORED,
    REPEATED,
    TWO_PARENTS,
    Bad,
    circular,
    dangling,
    denied_types,
    misplaced,
    nesting,
    universal_relations,
)
from lakewarden.service.source_row import CELLS, PLACEMENTS, WIDTHS


def check(rows: DataFrame, model: Model) -> DataFrame:
    """The same rows, with `reason` and `detail` where one does not pass.

    `rows` has the schema of `lakewarden.pipeline.ingest.row`, without notes and errors; it is
    read several times, so it should not have to be computed each time.
    """
    marked = _placed_once(_repeated(rows))
    bad = [*_off_tree(marked, model), *_circular_memberships(marked), *_dangling(marked, model)]
    return _whole(_about_stored(_marked(marked, bad), model), model)


def _rejected(rows: DataFrame, bad: Column, reason: str, detail: Column) -> DataFrame:
    """`rows`, with the reason where `bad` holds of a row that has none yet."""
    is_newly_bad = F.col("reason").isNull() & F.coalesce(bad, F.lit(False))
    return rows.withColumns(
        {
            "reason": F.when(is_newly_bad, F.lit(reason)).otherwise(F.col("reason")),
            "detail": F.when(is_newly_bad, detail).otherwise(F.col("detail")),
        }
    )


def _repeated(rows: DataFrame) -> DataFrame:
    same = Window.partitionBy("table", *CELLS, F.col("reason").isNull()).orderBy("place")
    return _rejected(rows, F.row_number().over(same) > 1, REPEATED, F.lit(DETAILS[REPEATED]))


def _placed_once(rows: DataFrame) -> DataFrame:
    placed = F.col("table") == PLACEMENTS
    sound = placed & F.col("reason").isNull()
    # Rows of other tables are spread by all their cells: two would be a few huge groups.
    others = (F.when(~placed, F.col(cell)) for cell in CELLS[2:])
    entity = Window.partitionBy("table", "c0", "c1", *others)
    places = F.count(F.when(sound, True)).over(entity)
    detail = F.concat(F.lit("one of "), places.cast("string"))
    return _rejected(rows, sound & (places > 1), TWO_PARENTS, detail)


def _sound(rows: DataFrame, table: str) -> DataFrame:
    cells = CELLS[: WIDTHS[table]]
    return rows.filter((F.col("table") == table) & F.col("reason").isNull()).select(*cells)


def _tuples(frame: DataFrame) -> list[tuple[str, ...]]:
    """The rows of a small frame, on the driver."""
    table = frame.toArrow()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _off_tree(rows: DataFrame, model: Model) -> Iterator[Bad]:
    """Places that lead back to where they began, or too far down."""
    nested = nesting(model)
    if nested:
        inner = F.col("c0").isin(nested) & F.col("c2").isin(nested)
        yield from misplaced(_tuples(_sound(rows, PLACEMENTS).filter(inner)))


def _circular_memberships(rows: DataFrame) -> Iterator[Bad]:
    """Memberships among groups and roles by which somebody would be below himself."""
    inner = F.col("c0").isin(*NESTING_KINDS) & F.col("c2").isin(*NESTING_KINDS)
    yield from circular(_tuples(_sound(rows, "memberships").filter(inner)))


def _dangling(rows: DataFrame, model: Model) -> Iterator[Bad]:
    """Entities whose parent is not stored, and all below them, where that denies."""
    denied = denied_types(model)
    if not denied:
        return
    placements = _sound(rows, PLACEMENTS)
    stored = _sound(rows, "entities").toDF("c2", "c3")
    lost = _tuples(
        placements.filter(F.col("c2").isin(denied))
        .join(stored, ["c2", "c3"], "left_anti")
        .select(*CELLS[:4])
    )
    while lost:
        for placement in lost:
            yield from dangling(placement)
        missing = pa.table({"c2": [row[0] for row in lost], "c3": [row[1] for row in lost]})
        below = rows.sparkSession.createDataFrame(missing)
        lost = _tuples(placements.join(below, ["c2", "c3"], "left_semi").select(*CELLS[:4]))


def _marked(rows: DataFrame, bad: Iterable[Bad]) -> DataFrame:
    """`rows`, with the reasons of those that were found on the driver."""
    marks = list(bad)
    if not marks:
        return rows
    frame = _bad_frame(rows.sparkSession, marks)
    same = (rows["table"] == frame["bad_table"]) & F.lit(True)
    for cell in CELLS:
        same = same & rows[cell].eqNullSafe(frame[f"bad_{cell}"])
    joined = rows.join(frame, same & rows["reason"].isNull(), "left")
    return joined.select(
        "table",
        *CELLS,
        "place",
        F.coalesce("bad_reason", "reason").alias("reason"),
        F.coalesce("bad_detail", "detail").alias("detail"),
    )


def _bad_frame(spark: SparkSession, marks: Iterable[Bad]) -> DataFrame:
    columns: dict[str, list[str | None]] = {f"bad_{name}": [] for name in ("table", *CELLS)}
    columns |= {"bad_reason": [], "bad_detail": []}
    # Of a place that is too deep below what is not stored, say: a row has one reason.
    for row in {(row.table, row.cells): row for row in marks}.values():
        cells = (*row.cells, *(None,) * (len(CELLS) - len(row.cells)))
        values = (row.table, *cells, row.reason, row.detail)
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
    schema = pa.schema([(name, pa.string()) for name in columns])
    return spark.createDataFrame(pa.table(columns, schema=schema))


def _about_stored(rows: DataFrame, model: Model) -> DataFrame:
    """`rows`, those rejected that are about, or name, what is not stored where it has to be."""
    stored = _sound(rows, "entities")
    about = F.col("table").isin(*ABOUT)
    second = F.col("table") == "relations"
    type = F.when(second, F.col("c1")).otherwise(F.col("c0"))
    name = F.when(second, F.col("c2")).otherwise(F.col("c1"))
    rows = _joined(rows, stored, (type, name), about, NOT_STORED)
    denied = denied_types(model)
    if not denied or not model.relations:
        return rows
    named = second & F.col("c3").isin(denied)
    return _joined(rows, stored, (F.col("c3"), F.col("c4")), named, DANGLING_TARGET)


def _joined(
    rows: DataFrame, stored: DataFrame, key: tuple[Column, Column], applies: Column, reason: str
) -> DataFrame:
    """`rows`, rejected where `applies` holds and the entity of `key` is not `stored`."""
    type, name = key
    # A row to which it does not apply matches nothing, and is spread by its name all the same.
    keyed = rows.withColumns({"_type": F.when(applies, type), "_name": name})
    known = stored.select(
        F.col("c0").alias("_type"), F.col("c1").alias("_name"), F.lit(True).alias("_stored")
    )
    joined = keyed.join(known, ["_type", "_name"], "left")
    detail = F.concat(F.lit("`"), "_type", F.lit(":"), "_name", F.lit("` is not stored"))
    bad = applies & F.col("_stored").isNull()
    return _rejected(joined, bad, reason, detail).drop("_type", "_name", "_stored")


def _whole(rows: DataFrame, model: Model) -> DataFrame:
    """`rows`, where a rule asks about every edge: one edge less would open more."""
    kinds = universal_relations(model)
    if not kinds:
        return rows
    about_all = (F.col("table") == "relations") & F.col("c0").isin(kinds)
    edges = Window.partitionBy("table", "c0", "c1", "c2")
    lost = F.col("reason").isNotNull() & (F.col("reason") != REPEATED)
    bad = about_all & (F.count(F.when(about_all & lost, True)).over(edges) > 0)
    return _rejected(rows, bad, INCOMPLETE, F.lit(DETAILS[INCOMPLETE]))
