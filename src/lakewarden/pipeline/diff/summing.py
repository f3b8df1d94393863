"""The tables of a difference, from what tasks found: summed up by part, by user and by class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyroaring import BitMap
from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

from lakewarden.pipeline.index.matching import canonical

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
_PART_KEY: Final = ["class", "gained", "kind", "name"]
_PARTS: Final = ["type", "users", "principals", "statements"]
_SOMEBODY: Final = 0
_PRIVILEGE: Final = "privilege"

Batches = Iterator[pa.RecordBatch]


def distinct_parts(rows: DataFrame) -> DataFrame:
    """The parts of every class, each once, whichever blocks they were found in."""
    kept = [F.min(name).alias(name) for name in _PARTS]
    return rows.where("gained is not null").groupBy(*_PART_KEY).agg(*kept)


def parts(distinct: DataFrame, classes: DataFrame) -> DataFrame:
    """The table `parts`; `classes` has class, entities and example."""
    joined = distinct.join(classes, "class").select(
        "gained",
        "kind",
        "name",
        "type",
        "class",
        "principals",
        "statements",
        "users",
        "entities",
        "example",
    )
    return joined.mapInArrow(_counted, PARTS)


def _counted(rows: Batches) -> Batches:
    for batch in rows:
        users = [BitMap.deserialize(bits) for bits in batch.column("users").to_pylist()]
        others = [_SOMEBODY in one for one in users]
        stored = [one - BitMap([_SOMEBODY]) for one in users]
        counts = np.array([len(one) for one in stored], dtype=np.int64)
        entities = batch.column("entities").to_numpy()
        names = ["gained", "kind", "name", "type", "class", "principals", "statements"]
        yield pa.record_batch(
            {
                **{name: batch.column(name) for name in names},
                "users": pa.array([canonical(one) for one in stored], pa.binary()),
                "n_users": pa.array(counts, pa.int64()),
                "others": pa.array(others, pa.bool_()),
                "entities": batch.column("entities"),
                "example": batch.column("example"),
                "pairs": pa.array(counts * entities, pa.int64()),
            }
        )


def by_user(parts: DataFrame, count: int) -> DataFrame:
    """On how many entities each user gains and loses what; there are `count` users."""

    def add(rows: pa.Table) -> pa.Table:
        entities = np.zeros(count, dtype=np.int64)
        columns = (rows.column(name).to_pylist() for name in ("users", "entities"))
        for bits, size in zip(*columns, strict=True):
            entities[np.asarray(BitMap.deserialize(bits).to_array())] += size
        users = np.flatnonzero(entities)
        key = {name: rows.column(name)[0].as_py() for name in ("gained", "kind", "name")}
        return pa.table(
            {
                "user": pa.array(users.astype(np.int32)),
                "gained": pa.array([key["gained"]] * len(users), pa.bool_()),
                "kind": pa.array([key["kind"]] * len(users), pa.string()),
                "name": pa.array([key["name"]] * len(users), pa.string()),
                "entities": pa.array(entities[users]),
            }
        )

    return parts.where("n_users > 0").groupBy("gained", "kind", "name").applyInArrow(add, BY_USER)


def by_entity_class(parts: DataFrame) -> DataFrame:
    """Of each class of entities: how many, and what is gained and lost on all of them.

    Pairs count privileges; names of operations stand beside those of privileges.
    """
    return parts.groupBy("class").applyInArrow(_of_class, BY_CLASS)


def _of_class(rows: pa.Table) -> pa.Table:
    first = rows.slice(0, 1).to_pylist()[0]
    found: dict[str, object] = {n: first[n] for n in ("class", "type", "entities", "example")}
    table = rows.select(["gained", "kind", "name", "users", "pairs"]).to_pylist()
    for word, gained in (("gained", True), ("lost", False)):
        mine = [row for row in table if row["gained"] is gained]
        users = BitMap.union(BitMap(), *(BitMap.deserialize(row["users"]) for row in mine))
        found[f"{word}_users"] = len(users)
        found[f"{word}_pairs"] = sum(r["pairs"] for r in mine if r["kind"] == _PRIVILEGE)
        found[word] = sorted(row["name"] for row in mine)
    return pa.Table.from_pylist([found], _BY_CLASS)


_BY_CLASS: Final = pa.schema(
    [
        ("class", pa.string()),
        ("type", pa.string()),
        ("entities", pa.int64()),
        ("example", pa.string()),
        ("gained_users", pa.int64()),
        ("lost_users", pa.int64()),
        ("gained_pairs", pa.int64()),
        ("lost_pairs", pa.int64()),
        ("gained", pa.list_(pa.string())),
        ("lost", pa.list_(pa.string())),
    ]
)


def members(ids: DataFrame, side: str, bits: int) -> DataFrame:
    """The table `members` from rows of class and id, block by block."""
    rows = ids.withColumn("block", F.shiftright("id", bits))
    return rows.groupBy("class", "block").applyInArrow(_bitmaps(side), MEMBERS)


def _bitmaps(side: str) -> Callable[[pa.Table], pa.Table]:
    def gather(rows: pa.Table) -> pa.Table:
        ids = BitMap(rows.column("id").to_numpy().astype(np.uint32))
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
