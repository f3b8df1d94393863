"""The other tables of a directory with ids in place of names: relations, owners, attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

from lakewarden.kernel.memberships import Memberships

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EDGES: Final = "kind string, source int, target int"
OWNERS: Final = "id int, owner int, ownership string"
ATTRIBUTES: Final = "id int, attribute string, value string"


def edges(relations: DataFrame, entities: DataFrame) -> DataFrame:
    """The relations between ids; the columns are `EDGES`."""
    ids = entities.select("type", "name", "id")
    sources = ids.toDF("source_type", "source_name", "source")
    targets = relations.select("target_type", "target_name").distinct()
    numbered = targets.join(ids.toDF(*targets.columns, "target"), targets.columns)
    return (
        relations.join(sources, ["source_type", "source_name"])
        .join(numbered, targets.columns)
        .select("kind", "source", "target")
    )


def owners(rows: DataFrame, entities: DataFrame, memberships: Memberships) -> DataFrame:
    """The owners of ids, as numbers of principals; the columns are `OWNERS`."""
    principals = memberships.principals
    table = pa.table(
        {
            "owner_kind": pa.array([p.kind for p in principals], pa.string()),
            "owner_name": pa.array([p.name for p in principals], pa.string()),
            "owner": pa.array(range(len(principals)), pa.int32()),
        }
    )
    numbers = F.broadcast(rows.sparkSession.createDataFrame(table))
    return (
        rows.join(entities.select("type", "name", "id"), ["type", "name"])
        .join(numbers, ["owner_kind", "owner_name"])
        .select("id", "owner", "ownership")
    )


def attributes(rows: DataFrame, entities: DataFrame) -> DataFrame:
    """The attributes of ids; the columns are `ATTRIBUTES`."""
    joined = rows.join(entities.select("type", "name", "id"), ["type", "name"])
    return joined.select("id", "attribute", "value")


def empty(spark: SparkSession, schema: str) -> DataFrame:
    """No rows."""
    return spark.createDataFrame([], schema)
