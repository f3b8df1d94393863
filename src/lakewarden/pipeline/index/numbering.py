"""Every entity of a directory with its id, whatever their number; and what only is named.

The containers come to the driver, where they are few; everything else is sorted once, by gap
and name (`lakewarden.pipeline.index.preorder`), and keeps its order in the files.

Tasks get what they need of the containers as small tables to join with: that costs a row a
fraction of its way to Python and back. Only leaves beside containers go that way.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.facts import spelled_parent
from lakewarden.pipeline import parquet_output
from lakewarden.pipeline.index.preorder import TOP, Containers, Ids, Sequenced, ids

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakewarden.service.system import System

BLOCK_BITS: Final = 17
"""An id without its last bits is the number of its block: 131,072 entities."""

_KEY = ["type", "name"]
_PARENT = ["parent_type", "parent_name"]

PLACED = pa.schema(
    [
        ("type", pa.string()),
        ("name", pa.string()),
        ("parent_type", pa.string()),
        ("parent_name", pa.string()),
        ("stored", pa.bool_()),
    ]
)
"""Entities on their way to ids."""

ENTITIES: Final = "id int, type string, name string, parent int, end int, stored boolean"
"""Entities with ids: `parent` is -1 at the top, `end` the id behind the last one below."""

_GAPPED: Final = "type string, name string, stored boolean, gap int, part int"
LEAVES: Final = f"{_GAPPED}, row long"
"""Leaves in order: the gap that each lies in; `row` counts within a part of the files."""
_ROW_BITS: Final = 33
"""How many bits Spark counts the rows of one partition with."""

Row = tuple[str, str, str | None, str | None, bool]
Family = tuple[str, str | None, str | None, int]
"""A type, a parent, and how many entities of the type have it."""


@dataclass(frozen=True, slots=True)
class Placed:
    """The stored entities, and those that are only named: by a row, as a parent, by their type.

    `frame` has the columns `PLACED`. `containers` are those of which some other is a member,
    `stored[c]` says whether container c is stored, and `leaves[c + 1]` (the first: `TOP`) how
    many of its members hold nothing.
    """

    frame: DataFrame
    containers: Containers
    stored: list[bool]
    leaves: list[int]


def placed(
    spark: SparkSession, entities: DataFrame, named: Iterable[DataFrame], system: System
) -> Placed:
    """What has a place. An entity that is only named lies where its name says.

    `named` are frames of type and name.
    """
    families = _cells(entities.groupBy("type", *_PARENT).count())
    parents = {p for _, *key, _ in families if (p := _named(*key)) is not None}
    stored_rows = _stored_rows(spark, entities, parents)
    missing = (parents - stored_rows.keys()) | {NO_RESOURCE}
    for frame in named:
        keys = frame.toDF(*_KEY).distinct().join(entities, _KEY, "left_anti")
        missing.update(Entity(*cells) for cells in _cells(keys))
    judged = {Entity(type, "") for type in {*system.model.types, *(row[0] for row in families)}}
    missing |= {entity for entity in judged if system.model.judged(entity.type)}
    missing |= _above(spark, missing, stored_rows, entities, system)
    unstored = [_row(entity, system) for entity in sorted(missing)]
    # One that is stored and holds nothing else may hold what is only named.
    parents.update(p for row in unstored if (p := _parent(row)) is not None)
    rows = [row for row in (*stored_rows.values(), *unstored) if Entity(*row[:2]) in parents]
    table = pa.Table.from_pylist(
        [dict(zip(PLACED.names, row, strict=True)) for row in unstored], PLACED
    )
    stored = entities.select(*_KEY, *_PARENT, F.lit(True).alias("stored"))
    return _placed(stored.unionByName(spark.createDataFrame(table)), rows, families, unstored)


def _placed(
    frame: DataFrame,
    rows: list[Row],
    families: list[Family],
    unstored: list[Row],
) -> Placed:
    numbers: dict[Entity | None, int] = {Entity(*row[:2]): n for n, row in enumerate(rows)}
    above = [numbers.get(_parent(row), TOP) for row in rows]
    leaves = [0] * (len(rows) + 1)
    for _, type, name, count in families:
        leaves[numbers.get(_named(type, name), TOP) + 1] += count
    for row in unstored:
        leaves[numbers.get(_parent(row), TOP) + 1] += 1
    for parent in above:
        leaves[parent + 1] -= 1
    containers = Containers(
        [row[0] for row in rows], [row[1] for row in rows], np.array(above, dtype=np.int64)
    )
    return Placed(frame, containers, [row[4] for row in rows], leaves)


def _row(entity: Entity, system: System) -> Row:
    parent = spelled_parent(system.spelling, entity) if entity != NO_RESOURCE else None
    return (*entity, *((None, None) if parent is None else parent), False)


def _parent(row: Row) -> Entity | None:
    return _named(row[2], row[3])


def _named(type: str | None, name: str | None) -> Entity | None:
    return None if type is None or name is None else Entity(type, name)


def _above(
    spark: SparkSession,
    missing: set[Entity],
    stored: dict[Entity, Row],
    entities: DataFrame,
    system: System,
) -> set[Entity]:
    """What is spelled above the missing ones and is not stored either.

    Those above them that are stored are added to `stored`.
    """
    chains: set[Entity] = set()
    for entity in missing - {NO_RESOURCE}:
        parent = spelled_parent(system.spelling, entity)
        while not (parent is None or parent in missing or parent in stored or parent in chains):
            chains.add(parent)
            parent = spelled_parent(system.spelling, parent)
    if not chains:
        return chains
    stored |= _stored_rows(spark, entities, chains)
    reached: set[Entity] = set()
    for entity in missing - {NO_RESOURCE}:  # nothing above a stored entity is asked for
        parent = spelled_parent(system.spelling, entity)
        while parent is not None and parent not in stored and parent not in reached:
            reached.add(parent)
            parent = spelled_parent(system.spelling, parent)
    return reached


def _stored_rows(
    spark: SparkSession, entities: DataFrame, selected: Iterable[Entity]
) -> dict[Entity, Row]:
    """Those of the wanted entities that are stored."""
    keys = sorted(selected)
    if not keys:
        return {}
    table = pa.table({"type": [e.type for e in keys], "name": [e.name for e in keys]})
    known = entities.select(*_KEY, *_PARENT, F.lit(True).alias("stored"))
    known = known.join(F.broadcast(spark.createDataFrame(table)), _KEY, "left_semi")
    return {Entity(*row[:2]): row for row in _cells(known)}


def _cells(frame: DataFrame) -> list[tuple[Any, ...]]:
    columns = (column.to_pylist() for column in frame.toArrow().columns)
    return list(zip(*columns, strict=True))


@dataclass(frozen=True, slots=True)
class Numbered:
    """The containers on the driver, and the leaves sorted in files.

    `stored[c]` says whether container c is stored. `starts[p]` is the rank of the first leaf of
    the part p of the files.
    """

    containers: Containers
    stored: list[bool]
    sequenced: Sequenced
    ids: Ids
    starts: list[int]


def sort_leaves(spark: SparkSession, placed: Placed, sequenced: Sequenced, bits: int) -> DataFrame:
    """The leaves in order, each with its part of the files and its row in that: `LEAVES`.

    There is a part for about each block of 2 to the power of `bits` entities.
    """
    total = sum(placed.leaves)
    parts = max(2, -(-total >> bits))
    share = min(1.0, SAMPLED * parts / total)

    def sample(large: Sequence[int]) -> Iterator[tuple[int, str, str]]:
        table = _members_of(placed.containers, large).append_column("parent", pa.array(large))
        some = replace(placed, frame=placed.frame.sample(share))
        yield from _cells(_leaves(spark, some, table).select("parent", "name", "type"))

    leaf_cuts = cuts(weights(sequenced, placed.leaves, total // parts, sample), parts)
    return (
        _gapped(spark, placed, sequenced, leaf_cuts)
        .repartitionById(len(leaf_cuts) + 1, "part")
        .sortWithinPartitions("gap", "name", "type")
        .withColumn("row", F.monotonically_increasing_id().bitwiseAND((1 << _ROW_BITS) - 1))
    )


def _members_of(containers: Containers, parents: Sequence[int]) -> pa.Table:
    """What says of a row that it lies in one of the containers."""
    of = [(None, None) if p == TOP else (containers.types[p], containers.names[p]) for p in parents]
    columns = [pa.array([cells[place] for cells in of], pa.string()) for place in (0, 1)]
    return pa.table(columns, ["of_type", "of_name"])


def _leaves(spark: SparkSession, placed: Placed, parents: pa.Table) -> DataFrame:
    """The leaves in some containers, each with the columns of its container."""
    keys = {"type": placed.containers.types, "name": placed.containers.names}
    holding = pa.table({name: pa.array(cells, pa.string()) for name, cells in keys.items()})
    is_inside = F.col("parent_type").eqNullSafe(F.col("of_type"))
    is_inside &= F.col("parent_name").eqNullSafe(F.col("of_name"))
    members = placed.frame.join(F.broadcast(spark.createDataFrame(parents)), is_inside)
    return members.join(F.broadcast(spark.createDataFrame(holding)), _KEY, "left_anti")


def _gapped(
    spark: SparkSession, placed: Placed, sequenced: Sequenced, leaf_cuts: Sequence[Cut]
) -> DataFrame:
    """The leaves, each with the gap in which it lies and its part."""
    parents = [parent for parent, count in enumerate(placed.leaves, TOP) if count]
    crossed = [parent for parent in parents if parent in sequenced.members]
    frames = []
    if len(crossed) < len(parents):
        straight = [parent for parent in parents if parent not in sequenced.members]
        frames.append(_straight(spark, placed, sequenced, straight, leaf_cuts))
    if crossed:
        table = _members_of(placed.containers, crossed).append_column("parent", pa.array(crossed))
        leaves = _leaves(spark, placed, table).select(*_KEY, "stored", "parent")
        frames.append(leaves.mapInArrow(_crossed(sequenced, leaf_cuts), _GAPPED))
    return parquet_output.union(frames)


def _straight(
    spark: SparkSession,
    placed: Placed,
    sequenced: Sequenced,
    parents: Sequence[int],
    leaf_cuts: Sequence[Cut],
) -> DataFrame:
    """The leaves of containers in which is no other: all of one lie in one gap."""
    gaps = [last_gap(sequenced, parent) for parent in parents]
    inner: dict[int, list[str]] = {}
    for gap, name in leaf_cuts:
        if name:
            inner.setdefault(gap, []).append(name)
    table = _members_of(placed.containers, parents)
    table = table.append_column("gap", pa.array(gaps, pa.int32()))
    starts = [part_of(leaf_cuts, gap, "") for gap in gaps]
    table = table.append_column("part", pa.array(starts, pa.int32()))
    names = pa.array([inner.get(gap, []) for gap in gaps], pa.list_(pa.string()))
    passed = F.size(F.filter("cuts", lambda cut: cut <= F.col("name")))
    members = _leaves(spark, placed, table.append_column("cuts", names))
    return members.select(*_KEY, "stored", "gap", (F.col("part") + passed).alias("part"))


Batches = Iterator[pa.RecordBatch]


def _crossed(sequenced: Sequenced, leaf_cuts: Sequence[Cut]) -> Callable[[Batches], Batches]:
    """Adds to each leaf the gap in which it lies, beside other containers, and its part."""

    def add(batches: Batches) -> Batches:
        for batch in batches:
            cells = [batch.column(name).to_pylist() for name in ("parent", "name", "type")]
            gaps = [sequenced.gap(*row) for row in zip(*cells, strict=True)]
            parts = [part_of(leaf_cuts, *row) for row in zip(gaps, cells[1], strict=True)]
            columns = [pa.array(numbers, pa.int32()) for numbers in (gaps, parts)]
            members = batch.select([*_KEY, "stored"])
            yield members.append_column("gap", columns[0]).append_column("part", columns[1])

    return add


def numbered(leaves: DataFrame, placed: Placed, sequenced: Sequenced) -> Numbered:
    """What the ids are, from the sorted leaves as they were written."""
    counts = leaves.groupBy("part", "gap").count().toArrow()
    parts, gaps, sizes = (np.asarray(counts.column(n)) for n in ("part", "gap", "count"))
    at_gap = np.bincount(gaps, weights=sizes, minlength=sequenced.size).astype(np.int64)
    in_part = np.bincount(parts, weights=sizes, minlength=1).astype(np.int64)
    starts = (np.cumsum(in_part) - in_part).tolist()
    return Numbered(placed.containers, placed.stored, sequenced, ids(sequenced, at_gap), starts)


def with_ids(spark: SparkSession, leaves: DataFrame, numbered: Numbered) -> DataFrame:
    """All entities with their ids; the columns are `ENTITIES`."""
    sequenced, known = numbered.sequenced, numbered.ids
    own = np.append(known.containers, -1)  # -1 is the last one
    parents = np.repeat(np.arange(TOP, len(numbered.containers)), np.diff(sequenced.first))
    table = pa.table(
        {
            "gap": pa.array(sequenced.gaps.astype(np.int32)),
            "before": pa.array(known.before[sequenced.gaps].astype(np.int32)),
            "parent": pa.array(own[parents].astype(np.int32)),
        }
    )
    start = F.element_at(F.array(*map(F.lit, numbered.starts)), F.col("part") + 1)
    rows = leaves.join(F.broadcast(spark.createDataFrame(table)), "gap")
    rows = rows.withColumn("id", (start + F.col("row") + F.col("before")).cast("int"))
    end = (F.col("id") + 1).alias("end")
    rows = rows.select("id", *_KEY, "parent", end, "stored")
    return rows.unionByName(_containers(spark, numbered))


def _containers(spark: SparkSession, numbered: Numbered) -> DataFrame:
    """The containers with their ids."""
    own = np.append(numbered.ids.containers, -1)
    table = pa.table(
        {
            "id": pa.array(numbered.ids.containers.astype(np.int32)),
            "type": pa.array(numbered.containers.types, pa.string()),
            "name": pa.array(numbered.containers.names, pa.string()),
            "parent": pa.array(own[numbered.containers.parents].astype(np.int32)),
            "end": pa.array(numbered.ids.ends.astype(np.int32)),
            "stored": pa.array(numbered.stored, pa.bool_()),
        }
    )
    return spark.createDataFrame(table)


# The sorted leaves are cut into parts of about the same size, before they are sorted. Of most
# containers the number of leaves says enough, for all of them lie in one part. Of those that hold
# more than a part, rows are sampled. Where cuts are changes no id, only how even the parts are.

Cut = tuple[int, str]
"""The gap and the name with which a part begins."""

SAMPLED: Final = 200
"""How many rows are sampled for a part."""


class Weight(NamedTuple):
    """About so many leaves lie from here on, and before the next."""

    gap: int
    name: str
    leaves: float


Sample = Callable[[Sequence[int]], Iterable[tuple[int, str, str]]]
"""Some leaves of the given containers: container, name and type."""


def weights(
    sequenced: Sequenced, leaves: Sequence[int], limit: int, sample: Sample
) -> Iterator[Weight]:
    """Where the leaves lie; `leaves[c + 1]` is how many the container c (or `TOP`) has.

    Only containers with more than `limit` are sampled.
    """
    large = [parent for parent, count in enumerate(leaves, TOP) if count > limit]
    met: dict[int, list[Cut]] = {}
    for parent, name, type in sample(large) if large else ():
        met.setdefault(parent, []).append((sequenced.gap(parent, name, type), name))
    for parent, count in enumerate(leaves, TOP):
        places = met.get(parent) or [(last_gap(sequenced, parent), "")]
        for gap, name in places if count else ():
            yield Weight(gap, name, count / len(places))


def last_gap(sequenced: Sequenced, parent: int) -> int:
    """The gap behind all containers in the container; where it has none, its only one."""
    return int(sequenced.gaps[sequenced.first[parent + 2] - 1])


def cuts(weights: Iterable[Weight], parts: int) -> list[Cut]:
    """The beginnings of the second part and all others, ascending; there may be fewer parts."""
    ordered = sorted(weights)
    size = sum(weight.leaves for weight in ordered) / parts
    leaf_cuts: list[Cut] = []
    passed, part = 0.0, 0
    for gap, name, count in ordered:
        if int(passed / size) > part and (gap, name) not in leaf_cuts[-1:]:
            part = int(passed / size)
            leaf_cuts.append((gap, name))
        passed += count
    return leaf_cuts


def part_of(leaf_cuts: Sequence[Cut], gap: int, name: str) -> int:
    """The part in which a leaf lies."""
    return bisect_right(leaf_cuts, (gap, name))
