"""Every entity of a directory with its id, whatever their number; and what only is named.

The containers come to the driver, where they are few; everything else is sorted once, by gap
and name (`lakewarden.pipeline.index.preorder`), and keeps its order in the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.facts import spelled_parent
from lakewarden.pipeline.index.preorder import TOP, Containers, Ids, Sequenced, ids

if TYPE_CHECKING:
    from collections.abc import Callable

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

_PLACED_SPARK: Final = (
    "type string, name string, parent_type string, parent_name string, stored boolean"
)
ENTITIES: Final = "id int, type string, name string, parent int, end int, stored boolean"
"""Entities with ids: `parent` is -1 at the top, `end` the id behind the last one below."""

_GAPPED: Final = "type string, name string, parent int, stored boolean, gap int"
LEAVES: Final = f"{_GAPPED}, part int, row long"
"""Leaves in order: `parent` is the number of their container, `row` counts within a part."""
_ROW_BITS: Final = 33
"""How many bits Spark counts the rows of one partition with."""


def placed(
    spark: SparkSession, entities: DataFrame, named: Iterable[DataFrame], system: System
) -> DataFrame:
    """The stored entities, and those that are only named: by a row, as a parent, by their type.

    `named` are frames of type and name. An entity that is only named lies where its name says.
    """
    stored = entities.withColumn("stored", F.lit(True))
    parents = entities.select(*_PARENT).where("parent_name is not null").toDF(*_KEY)
    mentioned = parents
    for frame in named:
        mentioned = mentioned.unionByName(frame.toDF(*_KEY))
    types = {row[0] for row in entities.select("type").distinct().collect()}
    missing = _entities(mentioned.distinct().join(entities, _KEY, "left_anti"))
    missing |= {NO_RESOURCE}
    judged = {Entity(type, "") for type in {*system.model.types, *types}}
    missing |= {entity for entity in judged if system.model.judged(entity.type)}
    missing |= _above(spark, missing, entities, system)
    rows = [_row(entity, system) for entity in sorted(missing)]
    table = pa.Table.from_pylist(
        [dict(zip(PLACED.names, row, strict=True)) for row in rows], PLACED
    )
    return stored.unionByName(spark.createDataFrame(table))


def _row(entity: Entity, system: System) -> tuple[str, str, str | None, str | None, bool]:
    parent = spelled_parent(system.spelling, entity) if entity != NO_RESOURCE else None
    return (*entity, *((None, None) if parent is None else parent), False)


def _above(
    spark: SparkSession, missing: set[Entity], entities: DataFrame, system: System
) -> set[Entity]:
    """What is spelled above the missing ones and is not stored either."""
    chains: set[Entity] = set()
    for entity in missing - {NO_RESOURCE}:
        parent = spelled_parent(system.spelling, entity)
        while parent is not None and parent not in missing and parent not in chains:
            chains.add(parent)
            parent = spelled_parent(system.spelling, parent)
    if not chains:
        return chains
    table = pa.table({"type": [e.type for e in chains], "name": [e.name for e in chains]})
    known = _entities(spark.createDataFrame(table).join(entities, _KEY, "left_semi"))
    reached: set[Entity] = set()
    for entity in missing - {NO_RESOURCE}:  # nothing above a stored entity is asked for
        parent = spelled_parent(system.spelling, entity)
        while parent is not None and parent not in known and parent not in reached:
            reached.add(parent)
            parent = spelled_parent(system.spelling, parent)
    return reached


def _entities(frame: DataFrame) -> set[Entity]:
    table = frame.select(*_KEY).toArrow()
    columns = (column.to_pylist() for column in table.columns)
    return {Entity(*cells) for cells in zip(*columns, strict=True)}


@dataclass(frozen=True, slots=True)
class Numbered:
    """The containers on the driver, and the leaves sorted in files.

    `stored[c]` says whether container c is stored. `parts[p]` is the rank of the first leaf of
    the part p of the files.
    """

    containers: Containers
    stored: list[bool]
    sequenced: Sequenced
    ids: Ids
    parts: dict[int, int]


def containers_of(frame: DataFrame) -> tuple[Containers, list[bool]]:
    """The entities of which some other is a member. Raises as `sequence` does, later."""
    parents = frame.select(*_PARENT).where("parent_name is not null").toDF(*_KEY).distinct()
    table = frame.join(F.broadcast(parents), _KEY, "left_semi").toArrow()
    types, names, parent_types, parent_names, stored = (c.to_pylist() for c in table.columns)
    numbers = {entity: number for number, entity in enumerate(zip(types, names, strict=True))}
    above = (numbers.get(p, TOP) for p in zip(parent_types, parent_names, strict=True))
    return Containers(types, names, np.fromiter(above, np.int64, len(names))), stored


def sort_leaves(
    spark: SparkSession,
    frame: DataFrame,
    containers: Containers,
    sequenced: Sequenced,
    total: int,
    bits: int,
) -> DataFrame:
    """The leaves in order, each with its part of the files and its row in that: `LEAVES`.

    There are `total` entities, or a few more, and a part for about each block.
    """
    table = pa.table(
        {
            "type": pa.array(containers.types, pa.string()),
            "name": pa.array(containers.names, pa.string()),
            "number": pa.array(np.arange(len(containers), dtype=np.int32)),
        }
    )
    numbers = F.broadcast(spark.createDataFrame(table))
    leaves = frame.join(numbers.select(*_KEY), _KEY, "left_anti").join(
        numbers.toDF(*_PARENT, "parent"), _PARENT, "left"
    )
    leaves = leaves.select(*_KEY, F.coalesce("parent", F.lit(TOP)).alias("parent"), "stored")
    parts = max(2, -(-total >> bits))
    return (
        leaves.mapInArrow(_gapped(sequenced), _GAPPED)
        .repartitionByRange(parts, "gap", "name", "type")
        .sortWithinPartitions("gap", "name", "type")
        .withColumn("part", F.spark_partition_id())
        .withColumn("row", F.monotonically_increasing_id().bitwiseAND((1 << _ROW_BITS) - 1))
    )


Batches = Iterator[pa.RecordBatch]


def _gapped(sequenced: Sequenced) -> Callable[[Batches], Batches]:
    """Adds to each leaf the gap in which it lies."""

    def add(batches: Batches) -> Batches:
        for batch in batches:
            parents = batch.column("parent").to_numpy()
            gaps = sequenced.gaps[sequenced.first[parents + 1]].astype(np.int32)
            crossed = np.isin(parents, np.fromiter(sequenced.members, np.int64))
            rows = np.flatnonzero(crossed)
            cells = (batch.column(name).take(pa.array(rows)).to_pylist() for name in _KEY)
            for row, type, name in zip(rows.tolist(), *cells, strict=True):
                gaps[row] = sequenced.gap(int(parents[row]), name, type)
            yield batch.append_column("gap", pa.array(gaps))

    return add


def numbered(
    leaves: DataFrame, containers: Containers, stored: list[bool], sequenced: Sequenced
) -> Numbered:
    """What the ids are, from the sorted leaves as they were written."""
    counts = leaves.groupBy("part", "gap").count().toArrow()
    parts, gaps, sizes = (np.asarray(counts.column(n)) for n in ("part", "gap", "count"))
    at_gap = np.bincount(gaps, weights=sizes, minlength=sequenced.size).astype(np.int64)
    in_part = np.bincount(parts, weights=sizes, minlength=1).astype(np.int64)
    starts = np.cumsum(in_part) - in_part
    known = ids(sequenced, at_gap)
    return Numbered(containers, stored, sequenced, known, dict(enumerate(starts.tolist())))


def with_ids(spark: SparkSession, leaves: DataFrame, found: Numbered) -> DataFrame:
    """All entities with their ids; the columns are `ENTITIES`."""
    rows = leaves.select("type", "name", "parent", "stored", "gap", "part", "row")
    return rows.mapInArrow(_with_id(found), ENTITIES).unionByName(_held(spark, found))


def _with_id(found: Numbered) -> Callable[[Batches], Batches]:
    before, own = found.ids.before, np.append(found.ids.containers, -1)  # -1 is the last one
    starts = np.fromiter(found.parts.values(), np.int64)

    def number(batches: Batches) -> Batches:
        for batch in batches:
            gaps, parts, rows, parents = (
                batch.column(name).to_numpy() for name in ("gap", "part", "row", "parent")
            )
            numbers = starts[parts] + rows + before[gaps]
            yield pa.record_batch(
                {
                    "id": pa.array(numbers.astype(np.int32)),
                    "type": batch.column("type"),
                    "name": batch.column("name"),
                    "parent": pa.array(own[parents].astype(np.int32)),
                    "end": pa.array((numbers + 1).astype(np.int32)),
                    "stored": batch.column("stored"),
                }
            )

    return number


def _held(spark: SparkSession, found: Numbered) -> DataFrame:
    """The containers with their ids."""
    own = np.append(found.ids.containers, -1)
    table = pa.table(
        {
            "id": pa.array(found.ids.containers.astype(np.int32)),
            "type": pa.array(found.containers.types, pa.string()),
            "name": pa.array(found.containers.names, pa.string()),
            "parent": pa.array(own[found.containers.parents].astype(np.int32)),
            "end": pa.array(found.ids.ends.astype(np.int32)),
            "stored": pa.array(found.stored, pa.bool_()),
        }
    )
    return spark.createDataFrame(table)
