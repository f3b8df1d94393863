"""The tables of a difference, from the rows of all blocks: totals by part, user and class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
    distinct = {_key(row): row for row in differences.parts.to_pylist()}
    parts = [_counted(row, *classes[row["class"]]) for _, row in sorted(distinct.items())]
    schema = arrow_schema(MEMBERS)
    return Tables(
        pa.Table.from_pylist(parts, arrow_schema(PARTS)),
        differences.members.select(schema.names).cast(schema),
        pa.Table.from_batches(_by_user(parts, count), arrow_schema(BY_USER)),
        pa.Table.from_pylist(list(_by_class(parts)), arrow_schema(BY_CLASS)),
    )


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("class", "gained", "kind", "name"))


def _classes(rows: pa.Table) -> dict[str, tuple[int, str]]:
    """The number of entities of each class, and the name of the first one."""
    sizes: dict[str, int] = {}
    first: dict[str, tuple[int, str]] = {}
    cells = (rows.column(name).to_pylist() for name in ("class", "id", "example", "n"))
    for number, id, example, n in zip(*cells, strict=True):
        sizes[number] = sizes.get(number, 0) + n
        first[number] = min(first.get(number, (id, example)), (id, example))
    return {number: (size, first[number][1]) for number, size in sizes.items()}


def _counted(row: Row, entities: int, example: str) -> Row:
    """A row of the table `parts`."""
    users = BitMap.deserialize(row["users"])
    stored = users - BitMap([_SOMEBODY])
    return {
        **row,
        "users": canonical(stored),
        "n_users": len(stored),
        "others": _SOMEBODY in users,
        "entities": entities,
        "example": example,
        "pairs": len(stored) * entities,
    }


def _grouped(parts: Iterable[Row], *by: str) -> Mapping[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in parts:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return groups


def _by_user(parts: Iterable[Row], count: int) -> Iterator[pa.RecordBatch]:
    """By user: the number of entities on which each question is gained or lost."""
    concerned = (row for row in parts if row["n_users"])
    for (gained, kind, name), rows in _grouped(concerned, "gained", "kind", "name").items():
        entities = np.zeros(count, dtype=np.int64)
        for row in rows:
            users = BitMap.deserialize(row["users"])
            entities[np.asarray(users.to_array())] += row["entities"]
        numbers = np.flatnonzero(entities)
        size = len(numbers)
        columns = [
            pa.array(numbers.astype(np.int32)),
            *(pa.repeat(pa.scalar(cell), size) for cell in (gained, kind, name)),
            pa.array(entities[numbers]),
        ]
        yield pa.record_batch(columns, schema=arrow_schema(BY_USER))


def _by_class(parts: Iterable[Row]) -> Iterator[Row]:
    """By class of entities: their number, and the questions gained and lost on all of them.

    Pairs count privileges only; the names include those of operations.
    """
    for rows in _grouped(parts, "class").values():
        summary: Row = {name: rows[0][name] for name in ("class", "type", "entities", "example")}
        for sign, gained in (("gained", True), ("lost", False)):
            mine = [row for row in rows if row["gained"] is gained]
            users = BitMap.union(BitMap(), *(BitMap.deserialize(row["users"]) for row in mine))
            summary[f"{sign}_users"] = len(users)
            summary[f"{sign}_pairs"] = sum(r["pairs"] for r in mine if r["kind"] == _PRIVILEGE)
            summary[sign] = sorted(row["name"] for row in mine)
        yield summary


def changes(tables: Tables) -> Row:
    """The totals: counts by kind and direction, and the affected users and entities."""
    counts_by_kind: Row = {
        kind: {sign: {"pairs": 0, "parts": 0} for sign in ("gained", "lost")}
        for kind in (_PRIVILEGE, _OPERATION)
    }
    columns = (tables.parts.column(name).to_pylist() for name in ("kind", "gained", "pairs"))
    for kind, gained, pairs in zip(*columns, strict=True):
        counts = counts_by_kind[kind]["gained" if gained else "lost"]
        counts["pairs"] += pairs
        counts["parts"] += 1
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
