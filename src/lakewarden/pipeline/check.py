"""The checks of normalised rows, in Spark: each row passes or gets a reason.

    repeated          a duplicate of another row; the first one is kept
    two parents       the entity is placed in several places: all of them are rejected
    cycle             a cycle of containment, or of memberships among groups and roles
    too deep          a place more than 64 levels down
    dangling parent   the parent is not stored, in a system that denies what is not stored
    not stored        the row is about an entity that is not stored
    dangling target   the row names an entity that is not stored, in a system that denies these
    incomplete        another edge of the entity was set aside, and rules read all of its edges

If the place comes from data, only the place is set aside, and the entity is kept at the top. If the
entity's name requires the parent, the entity is set aside, too. Uses only frames: no RDD, no Python
function. Checks that follow chains of rows run on the driver (containers, domains, term groups,
groups and roles, which are few, and everything below a missing parent).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 — the usual alias

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
    """The same rows, with `reason` and `detail` set for each row that does not pass.

    `rows` has the schema of `lakewarden.pipeline.ingest.row`, without notes and errors. It is read
    several times, so it should be cached or stored.
    """
    marked = _with_unique_places(_repeated(rows))
    bad = [*_off_tree(marked, model), *_circular_memberships(marked), *_dangling(marked, model)]
    return _with_all_edges(_of_stored_entities(_marked(marked, bad), model), model)


def _rejected(rows: DataFrame, bad: Column, reason: str, detail: Column) -> DataFrame:
    """`rows`, with the reason set where `bad` holds and the row has no reason yet."""
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


def _with_unique_places(rows: DataFrame) -> DataFrame:
    placed = F.col("table") == PLACEMENTS
    sound = placed & F.col("reason").isNull()
    # Rows of other tables are partitioned by all their cells: otherwise they form a few huge
    # groups.
    others = (F.when(~placed, F.col(cell)) for cell in CELLS[2:])
    entity = Window.partitionBy("table", "c0", "c1", *others)
    places = F.count(F.when(sound, True)).over(entity)
    detail = F.concat(F.lit("one of "), places.cast("string"))
    return _rejected(rows, sound & (places > 1), TWO_PARENTS, detail)


def _without_rejected(rows: DataFrame, table: str) -> DataFrame:
    cells = CELLS[: WIDTHS[table]]
    return rows.filter((F.col("table") == table) & F.col("reason").isNull()).select(*cells)


def _tuples(frame: DataFrame) -> list[tuple[str, ...]]:
    """The rows of a small frame, on the driver."""
    table = frame.toArrow()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _off_tree(rows: DataFrame, model: Model) -> Iterator[Bad]:
    """Places that are part of a cycle, or too deep."""
    nested = nesting(model)
    if nested:
        inner = F.col("c0").isin(nested) & F.col("c2").isin(nested)
        yield from misplaced(_tuples(_without_rejected(rows, PLACEMENTS).filter(inner)))


def _circular_memberships(rows: DataFrame) -> Iterator[Bad]:
    """Memberships among groups and roles that are part of a cycle."""
    inner = F.col("c0").isin(*NESTING_KINDS) & F.col("c2").isin(*NESTING_KINDS)
    yield from circular(_tuples(_without_rejected(rows, "memberships").filter(inner)))


def _dangling(rows: DataFrame, model: Model) -> Iterator[Bad]:
    """Entities whose parent is not stored, and all below them, if the model denies such names."""
    denied = denied_types(model)
    if not denied:
        return
    placements = _without_rejected(rows, PLACEMENTS)
    stored = _without_rejected(rows, "entities").toDF("c2", "c3")
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
    """`rows`, with the reasons of the rows that were rejected on the driver."""
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
    # A row can be too deep and below a missing parent: it gets one reason.
    for row in {(row.table, row.cells): row for row in marks}.values():
        cells = (*row.cells, *(None,) * (len(CELLS) - len(row.cells)))
        values = (row.table, *cells, row.reason, row.detail)
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
    schema = pa.schema([(name, pa.string()) for name in columns])
    return spark.createDataFrame(pa.table(columns, schema=schema))


def _of_stored_entities(rows: DataFrame, model: Model) -> DataFrame:
    """`rows`, with rows rejected that are about, or refer to, entities that must be stored."""
    stored = _without_rejected(rows, "entities")
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
    """`rows`, rejected where `applies` holds and the entity of `key` is not in `stored`."""
    type, name = key
    # Other rows get a null type, so they match nothing, and are still distributed by name.
    keyed = rows.withColumns({"_type": F.when(applies, type), "_name": name})
    known = stored.select(
        F.col("c0").alias("_type"), F.col("c1").alias("_name"), F.lit(True).alias("_stored")
    )
    joined = keyed.join(known, ["_type", "_name"], "left")
    detail = F.concat(F.lit("`"), "_type", F.lit(":"), "_name", F.lit("` is not stored"))
    bad = applies & F.col("_stored").isNull()
    return _rejected(joined, bad, reason, detail).drop("_type", "_name", "_stored")


def _with_all_edges(rows: DataFrame, model: Model) -> DataFrame:
    """`rows`, checked for rules that read every edge: a missing edge would grant more access."""
    kinds = universal_relations(model)
    if not kinds:
        return rows
    about_all = (F.col("table") == "relations") & F.col("c0").isin(kinds)
    edges = Window.partitionBy("table", "c0", "c1", "c2")
    lost = F.col("reason").isNotNull() & (F.col("reason") != REPEATED)
    bad = about_all & (F.count(F.when(about_all & lost, True)).over(edges) > 0)
    return _rejected(rows, bad, INCOMPLETE, F.lit(DETAILS[INCOMPLETE]))
