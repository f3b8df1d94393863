"""The tables of a difference, from the rows of all blocks: totals by part, user and class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from lakewarden.pipeline.index.id_space import IdSpace, IdWidth, block_number
from lakewarden.pipeline.index.matching import canonical
from lakewarden.pipeline.parquet_output import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

PARTS: Final = (
    "gained boolean, kind string, name string, type string, class string,"
    " principals array<string>, statements array<string>, users binary, n_users long,"
    " others boolean, entities long, example string, pairs long"
)
MEMBERS: Final = "class string, side string, block int, n long, bits binary"
BY_USER: Final = "user int, gained boolean, kind string, name string, entities long"
BY_CLASS: Final = (
    "class string, type string, entities long, example string, gained_users long,"
    " lost_users long, gained_pairs long, lost_pairs long, gained array<string>,"
    " lost array<string>"
)
_KEY: Final = ["class", "gained", "kind", "name"]
_BATCH: Final = 4_096
"""How many rows are Python objects at once."""

_SOMEBODY: Final = 0
_PRIVILEGE: Final = "privilege"
_OPERATION: Final = "operation"

Row = dict[str, Any]


class Differences(NamedTuple):
    """The rows of all blocks.

    `parts` of every class, once for each block with the class; `classes` with class, id, example
    and n; and `members` with at least the columns of that table.
    """

    parts: pa.Table
    classes: pa.Table
    members: pa.Table


class Tables(NamedTuple):
    """The tables, each in the field of its name."""

    parts: pa.Table
    members: pa.Table
    by_user: pa.Table
    by_entity_class: pa.Table


def summed(differences: Differences, count: int) -> Tables:
    """The tables of a difference that affects `count` users."""
    classes = _classes(differences.classes)
    parts = _parts(differences.parts, classes)
    schema = arrow_schema(MEMBERS)
    return Tables(
        parts,
        differences.members.select(schema.names).cast(schema),
        pa.Table.from_batches(_by_user(parts, count), arrow_schema(BY_USER)),
        pa.Table.from_batches(_by_class(parts), arrow_schema(BY_CLASS)),
    )


def _classes(rows: pa.Table) -> dict[str, tuple[int, str]]:
    """The number of entities of each class, and the name of the first one."""
    sizes: dict[str, int] = {}
    first: dict[str, tuple[int, str]] = {}
    cells = (rows.column(name).to_pylist() for name in ("class", "id", "example", "n"))
    for number, id, example, n in zip(*cells, strict=True):
        sizes[number] = sizes.get(number, 0) + n
        first[number] = min(first.get(number, (id, example)), (id, example))
    return {number: (size, first[number][1]) for number, size in sizes.items()}


def _parts(rows: pa.Table, classes: Mapping[str, tuple[int, str]]) -> pa.Table:
    """The table `parts`: each part of a class once, in order."""
    ordered = _ordered(rows, _KEY)
    ordered = ordered.filter(_is_first(ordered.select(_KEY)))
    schema = arrow_schema(PARTS)
    batches = (_counted(batch, classes, schema) for batch in ordered.to_batches(_BATCH))
    return pa.Table.from_batches(batches, schema)


def _ordered(rows: pa.Table, by: Sequence[str]) -> pa.Table:
    """The rows in order of some columns."""
    order = pc.sort_indices(rows.select(by), [(name, "ascending") for name in by])
    # The bitmaps may be more than the 2 GiB that a column of the type `binary` can hold.
    users = rows.column("users").cast(pa.large_binary())
    return rows.set_column(rows.schema.get_field_index("users"), "users", users).take(order)


def _is_first(ordered: pa.Table) -> pa.Array:
    """Whether each row differs from the one before it."""
    if not ordered.num_rows:
        return pa.array([], pa.bool_())
    differs = pa.array(np.zeros(ordered.num_rows - 1, dtype=bool))
    for column in ordered.columns:
        cells = column.combine_chunks()
        differs = pc.or_(differs, pc.not_equal(cells[1:], cells[:-1]))
    return pa.concat_arrays([pa.array([True]), differs])


def _counted(
    batch: pa.RecordBatch, classes: Mapping[str, tuple[int, str]], schema: pa.Schema
) -> pa.RecordBatch:
    """Rows of the table `parts`."""
    names = batch.column("class").to_pylist()
    users = list(map(BitMap.deserialize, batch.column("users").to_pylist()))
    stored = [members - BitMap([_SOMEBODY]) for members in users]
    entities = [classes[name][0] for name in names]
    n_users = list(map(len, stored))
    counted = {
        "users": list(map(canonical, stored)),
        "n_users": n_users,
        "others": [_SOMEBODY in members for members in users],
        "entities": entities,
        "example": [classes[name][1] for name in names],
        "pairs": [n * size for n, size in zip(n_users, entities, strict=True)],
    }
    columns = [
        pa.array(counted[field.name], field.type)
        if field.name in counted
        else batch.column(field.name)
        for field in schema
    ]
    return pa.record_batch(columns, schema=schema)


def _by_user(parts: pa.Table, count: int) -> Iterator[pa.RecordBatch]:
    """By user: the number of entities on which each question is gained or lost."""
    by = ("gained", "kind", "name")
    rows = parts.select([*by, "users", "entities"]).filter(pc.greater(parts["n_users"], 0))
    ordered = _ordered(rows, by)
    for question, of_question in groupby(_rows(ordered), key=lambda row: row[:3]):
        entities = np.zeros(count, dtype=np.int64)
        for *_, users, size in of_question:
            entities[np.asarray(BitMap.deserialize(users).to_array())] += size
        numbers = np.flatnonzero(entities)
        columns = [
            pa.array(numbers.astype(np.int32)),
            *(pa.repeat(pa.scalar(cell), len(numbers)) for cell in question),
            pa.array(entities[numbers]),
        ]
        yield pa.record_batch(columns, schema=arrow_schema(BY_USER))


def _by_class(parts: pa.Table) -> Iterator[pa.RecordBatch]:
    """By class of entities: their number, and the questions gained and lost on all of them.

    Pairs count privileges only; the names include those of operations.
    """
    of_class = ("class", "type", "entities", "example")
    of_part = ("gained", "kind", "name", "users", "pairs")
    waiting: list[Row] = []
    for cells, rows in groupby(_rows(parts.select([*of_class, *of_part])), lambda row: row[:4]):
        own = [row[4:] for row in rows]
        summary: Row = dict(zip(of_class, cells, strict=True))
        for sign, gained in (("gained", True), ("lost", False)):
            mine = [row[1:] for row in own if row[0] is gained]
            users = BitMap.union(BitMap(), *(BitMap.deserialize(bits) for *_, bits, _ in mine))
            summary[f"{sign}_users"] = len(users)
            summary[f"{sign}_pairs"] = sum(row[-1] for row in mine if row[0] == _PRIVILEGE)
            summary[sign] = sorted(name for _, name, *_ in mine)
        waiting.append(summary)
        if len(waiting) == _BATCH:
            yield pa.RecordBatch.from_pylist(waiting, arrow_schema(BY_CLASS))
            waiting = []
    yield pa.RecordBatch.from_pylist(waiting, arrow_schema(BY_CLASS))


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    for batch in table.to_batches(_BATCH):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def changes(tables: Tables) -> Row:
    """The totals: counts by kind and direction, and the affected users and entities."""
    counts_by_kind: Row = {
        kind: {sign: {"pairs": 0, "parts": 0} for sign in ("gained", "lost")}
        for kind in (_PRIVILEGE, _OPERATION)
    }
    by = tables.parts.group_by(["kind", "gained"])
    for row in by.aggregate([("pairs", "sum"), ("pairs", "count")]).to_pylist():
        counts_by_kind[row["kind"]]["gained" if row["gained"] else "lost"] = {
            "pairs": row["pairs_sum"],
            "parts": row["pairs_count"],
        }
    counts_by_kind["users"] = len(pc.unique(tables.by_user.column("user")))
    counts_by_kind["entities"] = pc.sum(tables.by_entity_class.column("entities")).as_py() or 0
    counts_by_kind["others"] = bool(pc.any(tables.parts.column("others")).as_py())
    return counts_by_kind


def members(ids: DataFrame, side: str, space: IdSpace) -> DataFrame:
    """The table `members` from rows of class and id, by block."""
    rows = ids.withColumn("block", block_number("id", space.bits))
    return rows.groupBy("class", "block").applyInArrow(_bitmaps(side, space.width), MEMBERS)


def _bitmaps(side: str, width: IdWidth) -> Callable[[pa.Table], pa.Table]:
    def gather(rows: pa.Table) -> pa.Table:
        ids = width.bitmap(rows.column("id").to_numpy())
        return pa.table(
            {
                "class": rows.column("class").slice(0, 1),
                "side": pa.array([side]),
                "block": rows.column("block").slice(0, 1),
                "n": pa.array([len(ids)], pa.int64()),
                "bits": pa.array([canonical(ids)], pa.binary()),
            }
        )

    return gather
