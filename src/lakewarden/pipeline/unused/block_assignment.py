"""Assigns accesses to the blocks that judge them; sets aside those of unknown entities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import functions as F  # noqa: N812 — the usual alias

from lakewarden.kernel.model import Model
from lakewarden.pipeline.index.block import ENTITY
from lakewarden.pipeline.index.id_space import IdSpace, block_number
from lakewarden.pipeline.unused.normalized_access import UNKNOWN_ENTITY

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ACCESSES: Final = (
    "number long, block int, principal int, operation string, type string, name string,"
    " allowed boolean, first string, last string, n long, recent long, logs array<string>"
)
"""The distinct accesses. `recent` is their number since the window began, `n` in total."""

QUARANTINE: Final = "log string, place string, reason string, detail string, line string, n long"
"""The rows that were set aside, with the number of rows that each represents."""


class Placed(NamedTuple):
    """The accesses, and the rows that were set aside."""

    accesses: DataFrame
    quarantine: DataFrame


def own_entities(blocks: DataFrame, bits: int) -> DataFrame:
    """The entities of a realm: type, name, id, and whether they are stored."""
    is_own = (F.col("what") == ENTITY) & (block_number("id", bits) == F.col("block"))
    return blocks.where(is_own).selectExpr("s as type", "t as name", "id", "flag as stored")


def placed(rows: DataFrame, blocks: DataFrame, space: IdSpace, model: Model, since: str) -> Placed:
    """The rows (`lakewarden.pipeline.unused.normalized_access.READ_ROWS`), placed and counted.

    If the model judges an entity that is not stored by its name, it is assigned to the block of its
    nearest known ancestor according to the name.
    """
    good = rows.where("reason is null")
    bits, first = space.bits, space.blocks[0]
    entities = own_entities(blocks, bits)
    names = good.groupBy("type", "name").agg(F.first("above").alias("above"))
    matched = names.join(entities, ["type", "name"], "left")
    by_name = _is_judged(model)
    is_known = (F.col("type") == "") | F.coalesce("stored", F.lit(False)) | by_name
    block = F.coalesce(block_number("id", bits), block_number("near", bits), F.lit(first))
    near = _nearest(matched.where(F.col("id").isNull() & by_name), entities)
    where = matched.join(near, ["type", "name"], "left").select(
        "type", "name", F.when(is_known, block).alias("block")
    )
    done = good.drop("reason", "detail", "above", "line").join(where, ["type", "name"])
    return Placed(_counted(done.where("block is not null"), since), _quarantined(rows, done))


def _is_judged(model: Model) -> Column:
    """Whether the model judges names of the type that are not stored."""
    judged = [type for type in model.types if model.judged(type)]
    listed = F.col("type").isin(judged) if judged else F.lit(False)
    return listed | ~F.col("type").isin(list(model.types)) if model.open_types else listed


def _nearest(names: DataFrame, entities: DataFrame) -> DataFrame:
    """By name: the id of its nearest known ancestor according to the name."""
    above = names.select("type", "name", F.posexplode("above").alias("step", "other"))
    others = entities.selectExpr("type as other_type", "name as other_name", "id as other_id")
    spelled = (F.col("other.type") == F.col("other_type")) & (
        F.col("other.name") == F.col("other_name")
    )
    joined = above.join(others, spelled)
    return joined.groupBy("type", "name").agg(F.min_by("other_id", "step").alias("near"))


def _counted(done: DataFrame, since: str) -> DataFrame:
    recent = F.when(F.col("day") >= since, F.col("n")).otherwise(F.lit(0))
    keys = ("block", "principal", "operation", "type", "name", "allowed")
    counted = done.groupBy(*keys).agg(
        F.min("day").alias("first"),
        F.max("day").alias("last"),
        F.sum("n").alias("n"),
        F.sum(recent).alias("recent"),
        F.sort_array(F.collect_set("log")).alias("logs"),
    )
    numbered = counted.withColumn("number", F.monotonically_increasing_id())
    return numbered.select(*(part.split()[0] for part in ACCESSES.split(", ")))


def _quarantined(rows: DataFrame, done: DataFrame) -> DataFrame:
    columns = [part.split()[0] for part in QUARANTINE.split(", ")]
    known = rows.where("reason is not null").withColumn("n", F.lit(1).cast("long"))
    text = F.concat_ws(":", "type", "name")
    missing = done.where("block is null").withColumns(
        {
            "reason": F.lit(UNKNOWN_ENTITY),
            "detail": F.concat(F.lit("`"), text, F.lit("` is not stored")),
            "line": F.concat_ws(" ", "operation", text),
        }
    )
    missing = missing.withColumn("n", F.lit(1).cast("long"))
    return known.select(*columns).unionByName(missing.select(*columns))
