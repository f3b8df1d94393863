"""The tables of an export that grow with the entities and with the classes, as data frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 — the usual alias
from pyspark.sql.pandas.types import from_arrow_type

from lakewarden.pipeline.export import block_export, schemas
from lakewarden.pipeline.export.people import At
from lakewarden.pipeline.index.block import ATTRIBUTE, EDGE, ENTITY, OWNER
from lakewarden.pipeline.index.id_space import block_number

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


LARGE: Final = (
    schemas.ENTITIES,
    schemas.ATTRIBUTES,
    schemas.RELATIONS,
    schemas.OWNERS,
    schemas.CLASSES,
    schemas.CLASS_STATEMENTS,
    schemas.DECISIONS,
    schemas.CROWD_PRINCIPALS,
    schemas.CROWD_ROLE_SETS,
    schemas.CROWD_USERS,
    schemas.MEETS,
)


def typed(rows: DataFrame, schema: pa.Schema) -> DataFrame:
    """The columns of a table, with their types: findings have all ids in 64 bits."""
    return rows.select(*(F.col(f.name).cast(from_arrow_type(f.type)) for f in schema))


class Large:
    """The tables, from the rows of the blocks and from the findings in them."""

    def __init__(self, spark: SparkSession, blocks: DataFrame, bits: int, rows: DataFrame) -> None:
        self._spark = spark
        # Guests are also rows of another block.
        self._own = blocks.where(block_number("id", bits) == F.col("block"))
        self._block_rows = rows

    def all(self, matters: Mapping[At, int], needs: Mapping[str, int]) -> dict[str, DataFrame]:
        """Every table, by name."""
        needed = self._spark.createDataFrame(list(needs.items()), "word string, need int")
        frames = (
            self._entities(),
            self._rows(ATTRIBUTE, entity="id", attribute="s", value="t"),
            self._rows(EDGE, entity="id", kind="s", target="a"),
            self._rows(OWNER, entity="id", principal="a", ownership="s"),
            self._classes(matters),
            self._class_statements(),
            self._decisions(needed),
            self._user_sets("principals", "principal"),
            self._user_sets("ids", "role_set"),
            self._user_sets("numbers", "user_id"),
            self._meets(needed),
        )
        return dict(zip(LARGE, frames, strict=True))

    def _rows(self, row_kind: int, **columns: str) -> DataFrame:
        rows = self._own.where(F.col("what") == row_kind)
        return rows.select(*(F.col(column).alias(name) for name, column in columns.items()))

    def _of(self, row_kind: int) -> DataFrame:
        return self._block_rows.where(F.col("what") == row_kind)

    def _entities(self) -> DataFrame:
        above = self._of(block_export.ABOVE).select(F.col("ids")[0].alias("a"), "word").distinct()
        rows = self._own.where(F.col("what") == ENTITY).join(F.broadcast(above), "a", "left")
        parent = F.when(F.col("a") >= 0, F.col("a"))
        return rows.select(
            "id",
            F.col("s").alias("type"),
            F.col("t").alias("name"),
            parent.alias("parent"),
            (F.col("b") - 1).alias("last"),
            F.coalesce("word", F.lit("")).alias("path"),
            F.col("flag").alias("stored"),
        )

    def _classes(self, matters: Mapping[At, int]) -> DataFrame:
        cells = [(*at, number) for at, number in matters.items()]
        numbers = self._spark.createDataFrame(cells, "type string, place int, number int")
        rows = self._of(block_export.CLASS).withColumnRenamed("matter", "place")
        rows = rows.join(F.broadcast(numbers), ["type", "place"])
        each = rows.select(
            F.col("number").alias("matter"),
            F.explode("ids").alias("entity"),
            F.col("key").alias("class"),
        )
        return each.sortWithinPartitions("matter", "entity")

    def _class_statements(self) -> DataFrame:
        rows = self._of(block_export.REASON).select(
            F.col("key").alias("class"),
            F.col("other").alias("statement"),
            F.col("word").alias("effect"),
            F.col("type").alias("privilege"),
        )
        return rows.distinct()

    def _decisions(self, needs: DataFrame) -> DataFrame:
        rows = self._of(block_export.DECISION).select("key", "word", "other").distinct()
        rows = rows.join(F.broadcast(needs), "word")
        return rows.select(F.col("key").alias("class"), "need", F.col("other").alias("crowd"))

    def _user_sets(self, members: str, name: str) -> DataFrame:
        # Several equivalent descriptions may exist: all tables must use the same one.
        columns = F.min(F.struct("principals", "ids", "numbers")).alias("said")
        rows = self._of(block_export.CROWD).groupBy("key").agg(columns)
        return rows.select(F.col("key").alias("crowd"), F.explode(f"said.{members}").alias(name))

    def _meets(self, needs: DataFrame) -> DataFrame:
        rows = self._of(block_export.MEETS).join(F.broadcast(needs), "word")
        pairs = F.explode(F.arrays_zip("ids", "numbers"))
        each = rows.select("need", (F.col("other") == "true").alias("exactly"), pairs.alias("one"))
        return each.select(
            "need",
            F.col("one.ids").alias("entity"),
            F.col("one.numbers").alias("principal"),
            "exactly",
        ).sortWithinPartitions("need", "entity")
