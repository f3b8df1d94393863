"""Ids for all entities of a directory, at any size, and for entities that are only named.

The large containers are loaded on the driver (`lakewarden.pipeline.index.containers`). Their other
members, *leaves* and small containers, are sorted once, by gap and name
(`lakewarden.pipeline.index.preorder`), and keep this order in the files. The members of small
containers are numbered after these, level by level.

Tasks get the data of the large containers as small tables to join with: that costs a fraction of
sending a row to Python and back. Only leaves that lie beside containers are sent to Python.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 — the usual alias

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.facts import spelled_parent
from lakewarden.pipeline import parquet_output
from lakewarden.pipeline.index.containers import (
    CONTAINERS,
    KEY,
    ON_DRIVER,
    PARENT,
    Small,
    counted,
    keyed,
    separated,
)
from lakewarden.pipeline.index.containers import with_ids as members_with_ids
from lakewarden.pipeline.index.id_space import IdSpace, IdWidth
from lakewarden.pipeline.index.preorder import TOP, Containers, Ids, Sequenced, ids
from lakewarden.pipeline.storage.location import Location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakewarden.service.system import System

BLOCK_BITS: Final = 17
"""An id without its last bits is the number of its block: 131,072 entities."""

PLACED = pa.schema(
    [
        ("type", pa.string()),
        ("name", pa.string()),
        ("parent_type", pa.string()),
        ("parent_name", pa.string()),
        ("stored", pa.bool_()),
    ]
)
"""Entities before they get ids."""

ENTITIES: Final = "id ID, type string, name string, parent ID, end ID, stored boolean"
"""Entities with ids: `parent` is -1 at the top, `end` is the id after the last descendant."""

_GAPPED: Final = "type string, name string, stored boolean, gap int, part int"
LEAVES: Final = f"{_GAPPED}, weight long, before long"
"""Leaves in order: the gap of each, the number of ids it takes (more than one for a small
container), and the number that the leaves before it in its part of the files take.
"""
_ROW_BITS: Final = 33
"""How many bits Spark uses to count the rows of one partition."""

_ROWS_OF_A_TASK: Final = 1 << 20
"""How many members of small containers a task sorts at most, about: some 200 MB."""

Row = tuple[str, str, str | None, str | None, bool]


@dataclass(frozen=True, slots=True)
class Placed:
    """The stored entities, and those that are only named: by a row, as a parent, by their type.

    `frame` has the columns `PLACED`. `containers` are the large ones, `stored[c]` says whether
    container c is stored, and `leaves[c + 1]` (the first: `TOP`) is the number of its members that
    are not large containers. `small` are the other containers.
    """

    frame: DataFrame
    containers: Containers
    stored: list[bool]
    leaves: list[int]
    small: Small


def placed(
    spark: SparkSession,
    entities: DataFrame,
    named: Iterable[DataFrame],
    system: System,
    place: Location,
) -> Placed:
    """All entities, with their place. An entity that is only named lies where its name says.

    `named` are frames of type and name, without duplicates. The containers are written to the
    folder `place`.
    """
    types = {cells[:2] for cells in _cells(entities.groupBy("type", "parent_type").count())}
    kinds = sorted({above for _, above in types if above is not None})
    parquet_output.write(counted(entities, kinds), place)
    containers = parquet_output.read(spark, place, CONTAINERS)
    absent = containers.where("type IS NOT NULL AND name IS NOT NULL AND NOT stored")
    missing = {Entity(*cells) for cells in _cells(absent.select(*KEY))} | {NO_RESOURCE}
    for frame in named:
        # Only the right side of a join may be small: Spark then does not shuffle the entities.
        known = entities.join(frame, KEY, "left_semi").select(*KEY)
        keys = frame.join(known, KEY, "left_anti")
        missing.update(Entity(*cells) for cells in _cells(keys))
    judged = {Entity(type, "") for type in {*system.model.types, *(type for type, _ in types)}}
    missing |= {entity for entity in judged if system.model.judged(entity.type)}
    missing, above = _with_above(spark, missing, entities, system)
    unstored = [_row(entity, system) for entity in sorted(missing)]
    if parquet_output.count_rows(place) > ON_DRIVER:
        above = _with_containers(spark, above, containers)
    small, rest = separated(spark, place, above.keys())
    held = _cells(rest.select(*KEY, *PARENT, "stored", "members"))
    members = {_named(*cells[:2]): cells[5] for cells in held}
    large = {Entity(*cells[:2]): cells[:5] for cells in held if cells[4]} | above
    # A stored entity without stored members may be the parent of an entity that is only named.
    holding = {p for p in members if p is not None}
    holding.update(p for row in (*above.values(), *unstored) if (p := _parent(row)) is not None)
    rows = [
        row
        for row in (*(large[key] for key in sorted(large)), *unstored)
        if Entity(*row[:2]) in holding
    ]
    table = pa.Table.from_pylist(
        [dict(zip(PLACED.names, row, strict=True)) for row in unstored], PLACED
    )
    stored = entities.select(*KEY, *PARENT, F.lit(True).alias("stored"))
    frame = stored.unionByName(spark.createDataFrame(table))
    return Placed(frame, *_counted(rows, members, unstored), small)


def _counted(
    rows: list[Row], members: dict[Entity | None, int], unstored: list[Row]
) -> tuple[Containers, list[bool], list[int]]:
    """The containers of these rows; which are stored; how many leaves each has."""
    numbers: dict[Entity | None, int] = {Entity(*row[:2]): n for n, row in enumerate(rows)}
    above = [numbers.get(_parent(row), TOP) for row in rows]
    leaves = [0] * (len(rows) + 1)
    for parent, count in members.items():
        leaves[numbers.get(parent, TOP) + 1] += count
    for row in unstored:
        leaves[numbers.get(_parent(row), TOP) + 1] += 1
    for number in above:
        leaves[number + 1] -= 1
    containers = Containers(
        [row[0] for row in rows], [row[1] for row in rows], np.array(above, dtype=np.int64)
    )
    return containers, [row[4] for row in rows], leaves


def _row(entity: Entity, system: System) -> Row:
    parent = spelled_parent(system.spelling, entity) if entity != NO_RESOURCE else None
    return (*entity, *((None, None) if parent is None else parent), False)


def _parent(row: Row) -> Entity | None:
    return _named(row[2], row[3])


def _named(type: str | None, name: str | None) -> Entity | None:
    return None if type is None or name is None else Entity(type, name)


def _with_above(
    spark: SparkSession, missing: set[Entity], entities: DataFrame, system: System
) -> tuple[set[Entity], dict[Entity, Row]]:
    """The missing entities, extended by missing ancestors according to their names.

    Also returns the stored entities that directly contain any of these.
    """
    spelled = {
        entity: spelled_parent(system.spelling, entity) for entity in missing - {NO_RESOURCE}
    }
    todo = [parent for parent in spelled.values() if parent is not None]
    while todo:
        entity = todo.pop()
        if entity not in spelled:
            spelled[entity] = parent = spelled_parent(system.spelling, entity)
            todo += [] if parent is None else [parent]
    known = _stored_rows(spark, entities, spelled.keys() - missing)
    reached = set(missing)
    for entity in missing - {NO_RESOURCE}:  # stops below the first stored entity
        parent = spelled[entity]
        while parent is not None and parent not in known and parent not in reached:
            reached.add(parent)
            parent = spelled[parent]
    holding = {spelled[entity] for entity in reached - {NO_RESOURCE}} & known.keys()
    return reached, {entity: known[entity] for entity in holding if entity is not None}


def _with_containers(
    spark: SparkSession, rows: dict[Entity, Row], containers: DataFrame
) -> dict[Entity, Row]:
    """Some stored entities, and all their ancestors."""
    known, level = dict(rows), rows
    while level:
        parents = {p for row in level.values() if (p := _parent(row)) is not None}
        level = _stored_rows(spark, containers.where("stored"), parents - known.keys())
        known |= level
    return known


def _stored_rows(
    spark: SparkSession, entities: DataFrame, selected: Iterable[Entity]
) -> dict[Entity, Row]:
    """The selected entities that are stored."""
    keys = sorted(selected)
    if not keys:
        return {}
    known = entities.select(*KEY, *PARENT, F.lit(True).alias("stored"))
    known = known.join(F.broadcast(keyed(spark, keys)), KEY, "left_semi")
    return {Entity(*row[:2]): row for row in _cells(known)}


def _cells(frame: DataFrame) -> list[tuple[Any, ...]]:
    columns = (column.to_pylist() for column in frame.toArrow().columns)
    return list(zip(*columns, strict=True))


@dataclass(frozen=True, slots=True)
class Numbered:
    """The containers on the driver, and the leaves sorted in files.

    `stored[c]` says whether container c is stored. `starts[p]` is the number of ids that the leaves
    before part p of the files take.
    """

    containers: Containers
    stored: list[bool]
    sequenced: Sequenced
    ids: Ids
    starts: list[int]
    space: IdSpace


def sort_leaves(spark: SparkSession, placed: Placed, sequenced: Sequenced, bits: int) -> DataFrame:
    """The leaves in order, each with its part of the files and its place in that: `LEAVES`.

    Each part holds about as many leaves as a block: 2 to the power of `bits`.
    """
    total = sum(placed.leaves)
    parts = max(2, -(-total >> bits))
    share = min(1.0, SAMPLED * parts / total)

    def sample(large: Sequence[int]) -> Iterator[tuple[int, str, str]]:
        table = _members_of(placed.containers, large).append_column("parent", pa.array(large))
        some = replace(placed, frame=placed.frame.sample(share))
        yield from _cells(_leaves(spark, some, table).select("parent", "name", "type"))

    leaf_cuts = cuts(weights(sequenced, placed.leaves, total // parts, sample), parts)
    leaves = _gapped(spark, placed, sequenced, leaf_cuts)
    small = placed.small
    if small:
        in_part = Window.partitionBy("part").orderBy("gap", "name", "type")
        to_here = in_part.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        before = F.sum("weight").over(to_here) - F.col("weight")
    else:  # avoids a window sum
        before = F.monotonically_increasing_id().bitwiseAND((1 << _ROW_BITS) - 1)
    return (
        small.weighed(leaves, len(small.levels))
        .repartitionById(len(leaf_cuts) + 1, "part")
        .sortWithinPartitions("part", "gap", "name", "type")
        .withColumn("before", before)
    )


def _members_of(containers: Containers, parents: Sequence[int]) -> pa.Table:
    """The parent columns by which a row lies in one of the containers."""
    of = [(None, None) if p == TOP else (containers.types[p], containers.names[p]) for p in parents]
    columns = [pa.array([cells[place] for cells in of], pa.string()) for place in (0, 1)]
    return pa.table(columns, ["of_type", "of_name"])


def _leaves(spark: SparkSession, placed: Placed, parents: pa.Table) -> DataFrame:
    """The leaves in some containers, each with the columns of its container."""
    keys = {"type": placed.containers.types, "name": placed.containers.names}
    holding = pa.table({name: pa.array(cells, pa.string()) for name, cells in keys.items()})
    is_inside = F.col("parent_type").eqNullSafe(F.col("of_type"))
    is_inside &= F.col("parent_name").eqNullSafe(F.col("of_name"))
    # By type first: most entities are columns, and none of these is compared by name then.
    kinds = set(parents.column("of_type").to_pylist())
    may_be_inside = F.col("parent_type").isin(*(kinds - {None}))
    if None in kinds:
        may_be_inside |= F.col("parent_type").isNull()
    members = placed.frame.where(may_be_inside)
    members = members.join(F.broadcast(spark.createDataFrame(parents)), is_inside)
    return members.join(F.broadcast(spark.createDataFrame(holding)), KEY, "left_anti")


def _gapped(
    spark: SparkSession, placed: Placed, sequenced: Sequenced, leaf_cuts: Sequence[Cut]
) -> DataFrame:
    """The leaves, each with its gap and its part."""
    parents = [parent for parent, count in enumerate(placed.leaves, TOP) if count]
    crossed = [parent for parent in parents if parent in sequenced.members]
    frames = []
    if len(crossed) < len(parents):
        straight = [parent for parent in parents if parent not in sequenced.members]
        frames.append(_straight(spark, placed, sequenced, straight, leaf_cuts))
    if crossed:
        table = _members_of(placed.containers, crossed).append_column("parent", pa.array(crossed))
        leaves = _leaves(spark, placed, table).select(*KEY, "stored", "parent")
        frames.append(leaves.mapInArrow(_crossed(sequenced, leaf_cuts), _GAPPED))
    return parquet_output.union(frames)


def _straight(
    spark: SparkSession,
    placed: Placed,
    sequenced: Sequenced,
    parents: Sequence[int],
    leaf_cuts: Sequence[Cut],
) -> DataFrame:
    """The leaves of containers without inner containers: all leaves of one lie in one gap."""
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
    return members.select(*KEY, "stored", "gap", (F.col("part") + passed).alias("part"))


Batches = Iterator[pa.RecordBatch]


def _crossed(sequenced: Sequenced, leaf_cuts: Sequence[Cut]) -> Callable[[Batches], Batches]:
    """Adds its gap and its part to each leaf that lies beside other containers."""

    def add(batches: Batches) -> Batches:
        for batch in batches:
            cells = [batch.column(name).to_pylist() for name in ("parent", "name", "type")]
            gaps = [sequenced.gap(*row) for row in zip(*cells, strict=True)]
            parts = [part_of(leaf_cuts, *row) for row in zip(gaps, cells[1], strict=True)]
            columns = [pa.array(numbers, pa.int32()) for numbers in (gaps, parts)]
            members = batch.select([*KEY, "stored"])
            yield members.append_column("gap", columns[0]).append_column("part", columns[1])

    return add


def numbered(
    leaves: DataFrame, placed: Placed, sequenced: Sequenced, bits: int, first: int = 0
) -> Numbered:
    """The numbering from `first` on, from the stored sorted leaves.

    A block holds 2 to the power of `bits` ids. Raises `LimitExceeded` for more ids than there may
    be.
    """
    sums = leaves.groupBy("part", "gap").agg(F.sum("weight").alias("size")).toArrow()
    parts, gaps, sizes = (np.asarray(sums.column(n)) for n in ("part", "gap", "size"))
    at_gap = np.bincount(gaps, weights=sizes, minlength=sequenced.size).astype(np.int64)
    in_part = np.bincount(parts, weights=sizes, minlength=1).astype(np.int64)
    starts = (np.cumsum(in_part) - in_part).tolist()
    known = ids(sequenced, at_gap, first)
    space = IdSpace.of(known.count, bits, first)
    return Numbered(placed.containers, placed.stored, sequenced, known, starts, space)


def with_ids(spark: SparkSession, leaves: DataFrame, numbered: Numbered) -> DataFrame:
    """The large containers and the leaves with their ids; the columns are `ENTITIES`."""
    sequenced, known, width = numbered.sequenced, numbered.ids, numbered.space.width
    own = np.append(known.containers, -1)  # index -1 is the last one
    parents = np.repeat(np.arange(TOP, len(numbered.containers)), np.diff(sequenced.first))
    table = pa.table(
        {
            "gap": pa.array(sequenced.gaps.astype(np.int32)),
            "containers": width.array(known.before[sequenced.gaps]),
            "parent": width.array(own[parents]),
        }
    )
    starts = F.array(*map(F.lit, numbered.starts)).cast("array<long>")
    start = F.element_at(starts, F.col("part") + 1)
    rows = leaves.join(F.broadcast(spark.createDataFrame(table)), "gap")
    rows = rows.withColumn("id", start + F.col("before") + F.col("containers"))
    id, end = (F.col("id"), F.col("id") + F.col("weight"))
    id, end = id.cast(width.sql), end.cast(width.sql)
    rows = rows.select(id.alias("id"), *KEY, "parent", end.alias("end"), "stored")
    return rows.unionByName(_containers(spark, numbered))


def write(
    spark: SparkSession, leaves: DataFrame, numbered: Numbered, placed: Placed, place: Location
) -> int:
    """Writes all entities with their ids, level by level; returns the number of levels.

    `read` reads them.
    """
    width = numbered.space.width
    parquet_output.write(with_ids(spark, leaves, numbered), place / "0")
    levels = placed.small.levels
    stored = placed.frame.where("stored")
    names = {"type": placed.containers.types, "name": placed.containers.names}
    large = pa.table({name: pa.array(cells, pa.string()) for name, cells in names.items()})
    tasks = max(2, -(-numbered.ids.count // _ROWS_OF_A_TASK))
    for done, level in enumerate(range(len(levels), 0, -1), 1):
        above = read(spark, place, done, width).where("end > id + 1")
        owners = above.join(levels[level - 1], KEY, "left_semi") if len(levels) > 1 else above
        members = members_with_ids(stored, placed.small, level, owners, large, tasks, width)
        parquet_output.write(members, place / str(done))
    return len(levels) + 1


def read(spark: SparkSession, place: Location, levels: int, width: IdWidth) -> DataFrame:
    """The entities with their ids, as written by `write`; the columns are `ENTITIES`."""
    columns = width.columns(ENTITIES)
    parts = [parquet_output.read(spark, place / str(level), columns) for level in range(levels)]
    return parquet_output.union(parts)


def _containers(spark: SparkSession, numbered: Numbered) -> DataFrame:
    """The containers with their ids."""
    own, width = np.append(numbered.ids.containers, -1), numbered.space.width
    table = pa.table(
        {
            "id": width.array(numbered.ids.containers),
            "type": pa.array(numbered.containers.types, pa.string()),
            "name": pa.array(numbered.containers.names, pa.string()),
            "parent": width.array(own[numbered.containers.parents]),
            "end": width.array(numbered.ids.ends),
            "stored": pa.array(numbered.stored, pa.bool_()),
        }
    )
    return spark.createDataFrame(table)


# Before sorting, the leaves are divided into parts of about the same size. For most containers the
# number of leaves is enough, because all of them lie in one part. For those that are larger than a
# part, rows are sampled. The cuts do not affect ids, only how even the parts are.

Cut = tuple[int, str]
"""The gap and the name that start a part."""

SAMPLED: Final = 200
"""How many rows are sampled per part."""


class Weight(NamedTuple):
    """The approximate number of leaves from here to the next one."""

    gap: int
    name: str
    leaves: float


Sample = Callable[[Sequence[int]], Iterable[tuple[int, str, str]]]
"""Some leaves of the given containers: container, name and type."""


def weights(
    sequenced: Sequenced, leaves: Sequence[int], limit: int, sample: Sample
) -> Iterator[Weight]:
    """The distribution of leaves; `leaves[c + 1]` is the number in container c (or `TOP`).

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
    """The gap after all inner containers of the container; without any, its only gap."""
    return int(sequenced.gaps[sequenced.first[parent + 2] - 1])


def cuts(weights: Iterable[Weight], parts: int) -> list[Cut]:
    """The starts of all parts but the first, ascending; there may be fewer parts."""
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
    """The part of a leaf."""
    return bisect_right(leaf_cuts, (gap, name))
