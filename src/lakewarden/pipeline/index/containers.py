"""Decides which containers are loaded on the driver, and which Spark numbers in place.

A *small* container is one with few entities below it: a table with its columns. Its entities have
consecutive ids after its own. The driver therefore needs only their total number: a small container
counts as a leaf of its container, with a weight. Small containers of level 1 hold only leaves;
those of level n also hold small containers of lower levels.

The other containers are *large*: at most the number of entities divided by the size limit of a
small container. If there are few containers, all count as large.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 — the usual alias

from lakewarden.kernel.entity import Entity
from lakewarden.pipeline import parquet_output
from lakewarden.pipeline.index.id_space import IdWidth
from lakewarden.pipeline.storage.location import Location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ON_DRIVER: Final = 100_000
"""How many containers the driver loads without looking for small ones: some 70 MB."""

SMALL: Final = 1 << 14
"""The most entities of a small container, including itself."""

KEY: Final = ["type", "name"]
PARENT: Final = ["parent_type", "parent_name"]

CONTAINERS: Final = (
    "type string, name string, parent_type string, parent_name string,"
    " stored boolean, members long, weight long"
)
"""Containers: `members` is the number of direct members, all of them stored. `weight` counts the
container itself, its members, and everything in those of its members that are small. One row
without type and name stands for the container of the top-level entities.
"""


@dataclass(frozen=True, slots=True)
class Small:
    """The small containers, by level; the first level comes first."""

    levels: tuple[DataFrame, ...]

    def __bool__(self) -> bool:
        return bool(self.levels)

    def weighed(self, members: DataFrame, below: int) -> DataFrame:
        """Members with the column `weight`: the number of ids that each takes.

        The members contain only small containers of levels below `below`.
        """
        if not below:
            return members.withColumn("weight", F.lit(1).cast("long"))
        known = parquet_output.union(list(self.levels[:below]))
        joined = members.join(known.select(*KEY, "weight"), KEY, "left")
        return joined.withColumn("weight", F.coalesce("weight", F.lit(1).cast("long")))


def counted(entities: DataFrame, kinds: Collection[str]) -> DataFrame:
    """The containers of the entities; `kinds` are the types of parents."""
    counts = entities.groupBy(*PARENT).agg(F.count("*").alias("members")).toDF(*KEY, "members")
    # Filtered by type first: this avoids shuffling all other entities for the join.
    known = entities.where(F.col("type").isin(*kinds)).withColumn("stored", F.lit(True))
    return counts.join(known, KEY, "left").select(
        *KEY,
        *PARENT,
        F.col("stored").isNotNull().alias("stored"),
        "members",
        (F.col("members") + 1).alias("weight"),
    )


def keyed(spark: SparkSession, entities: Collection[Entity]) -> DataFrame:
    """Entities as a table to join with: type and name."""
    names = [[entity.type for entity in entities], [entity.name for entity in entities]]
    return spark.createDataFrame(pa.table([pa.array(n, pa.string()) for n in names], KEY))


def separated(
    spark: SparkSession, place: Location, large: Collection[Entity]
) -> tuple[Small, DataFrame]:
    """The small ones of the containers in the folder `place`, and all others.

    `large` and all their containers stay among the others.
    """
    levels: list[DataFrame] = []
    rest = parquet_output.read(spark, place, CONTAINERS)
    rest_place = place
    while parquet_output.count_rows(rest_place) > ON_DRIVER:
        level = len(levels) + 1
        small_place = place.with_name(f"{place.name}-small-{level}")
        parquet_output.write(_small(rest, large), small_place)
        if not parquet_output.count_rows(small_place):
            break
        small = parquet_output.read(spark, small_place, _SMALL)
        levels.append(small.select(*KEY, "weight"))
        rest_place = place.with_name(f"{place.name}-{level}")
        parquet_output.write(_without(rest, small), rest_place)
        rest = parquet_output.read(spark, rest_place, CONTAINERS)
    return Small(tuple(levels)), rest


_SMALL: Final = "type string, name string, weight long, parent_type string, parent_name string"


def _small(rest: DataFrame, large: Collection[Entity]) -> DataFrame:
    """The containers that are small and hold none of the other containers."""
    holding = rest.select(*PARENT).toDF(*KEY).distinct()
    small = rest.where(F.col("stored") & (F.col("weight") <= SMALL)).join(holding, KEY, "left_anti")
    if large:
        small = small.join(F.broadcast(keyed(rest.sparkSession, large)), KEY, "left_anti")
    return small.select(*KEY, "weight", *PARENT)


def _without(rest: DataFrame, small: DataFrame) -> DataFrame:
    """The other containers, with the content of the small ones added to their weight."""
    inside = small.groupBy(*PARENT).agg(F.sum(F.col("weight") - 1).alias("inside"))
    left = rest.join(small.select(*KEY), KEY, "left_anti")
    weight = F.col("weight") + F.coalesce("inside", F.lit(0).cast("long"))
    # The row for the top level is never small; its weight is not used.
    joined = left.join(inside.toDF(*KEY, "inside"), KEY, "left")
    return joined.select(*KEY, *PARENT, "stored", "members", weight.alias("weight"))


def with_ids(
    entities: DataFrame,
    small: Small,
    level: int,
    owners: DataFrame,
    large: pa.Table,
    tasks: int,
    width: IdWidth,
) -> DataFrame:
    """The members of the small containers of a level: id, type, name, parent and end.

    `owners` are these containers with their `id`s, `large` the keys of the large ones. The members
    are divided among `tasks`; ids have this `width`.
    """
    kinds = _kinds(small.levels[level - 1])
    members = entities.where(F.col("parent_type").isin(*kinds))
    large = large.filter(pc.is_in(large.column("type"), pa.array(sorted(kinds), pa.string())))
    if large.num_rows:
        of = [F.col("of_type") == F.col("parent_type"), F.col("of_name") == F.col("parent_name")]
        # Members of one large container would all go to one task.
        others = entities.sparkSession.createDataFrame(large).toDF("of_type", "of_name")
        members = members.join(F.broadcast(others), of, "left_anti")
    weighed = small.weighed(members, level - 1)
    above = owners.select("type", "name", "id").toDF(*PARENT, "parent")
    # Joined by a hash table, and sorted by the number of the parent before its name: names mostly
    # start alike, so sorting compares them whole. The names distribute the rows.
    joined = weighed.repartition(tasks, *PARENT).join(above.hint("shuffle_hash"), PARENT)
    siblings = Window.partitionBy("parent", *PARENT).orderBy("name", "type")
    if level == 1:
        behind = F.row_number().over(siblings)
    else:
        within = siblings.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        behind = F.sum("weight").over(within)
    end = F.col("parent") + behind + 1
    return joined.withColumn("end", end).select(
        (F.col("end") - F.col("weight")).cast(width.sql).alias("id"),
        *KEY,
        "parent",
        F.col("end").cast(width.sql).alias("end"),
        F.lit(True).alias("stored"),
    )


def _kinds(containers: DataFrame) -> set[str]:
    return set(containers.select("type").distinct().toArrow().column("type").to_pylist())
