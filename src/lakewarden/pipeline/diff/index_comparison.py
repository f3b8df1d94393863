"""The comparison of two indexes: which of their entities differ, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64
from pyspark.sql import functions as F  # noqa: N812 — the usual alias

from lakewarden.pipeline import parquet_output
from lakewarden.pipeline.diff import aggregation
from lakewarden.pipeline.diff.block_profile import (
    AFTER,
    BEFORE,
    PAIRED,
    PROFILED,
    SIGNS,
    Describe,
    Pair,
    Sign,
)
from lakewarden.pipeline.diff.user_numbering import Everyone
from lakewarden.pipeline.index.index import BLOCKS, Index
from lakewarden.pipeline.index.task_context import TaskContext, each_block_in
from lakewarden.pipeline.job import Counts
from lakewarden.pipeline.storage.location import Location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CHANGED: Final = "type string, name string, before long, after long"
_DIFFERING: Final = "type string, name string, before long, after long, had string, has string"
_PAIR: Final = ["type", "had", "has"]


@dataclass(frozen=True, slots=True)
class Times:
    """The stages that compare two indexes; the people of both estates include all `users`."""

    spark: SparkSession
    indexes: tuple[Index, Index]
    contexts: tuple[TaskContext, TaskContext]
    users: Everyone

    def _each_block(self, side: int, evaluate_block: Any, schema: str) -> DataFrame:
        place = self.indexes[side].folder / BLOCKS
        return each_block_in(place, self.spark, self.contexts[side], evaluate_block, schema)

    def sign(self, folder: Location) -> Counts:
        """Signs the entities of both indexes."""
        for side, name in enumerate((BEFORE, AFTER)):
            rows = self._each_block(side, Sign(self.contexts[side], self.users, name), SIGNS)
            parquet_output.write(rows, folder / name)
        read = (parquet_output.read(self.spark, folder / name, SIGNS) for name in (BEFORE, AFTER))
        return dict(zip(("before", "after"), (rows.count() for rows in read), strict=True))

    def compare(self, signs: Location, folder: Location) -> Counts:
        """Selects the entities whose signatures differ, or that are on one side only."""
        first, second = (
            parquet_output.read(self.spark, signs / name, SIGNS)
            .withColumnRenamed("id", name)
            .withColumnRenamed("sign", f"{name}_sign")
            for name in (BEFORE, AFTER)
        )
        joined = first.join(second, ["type", "name"], "full_outer")
        differ = ~F.col("before_sign").eqNullSafe(F.col("after_sign"))
        changed = joined.where(differ).select("type", "name", BEFORE, AFTER)
        parquet_output.write(changed, folder / "changed")
        return {"entities": self._changed(folder).count()}

    def _changed(self, folder: Location) -> DataFrame:
        return parquet_output.read(self.spark, folder / "changed", _CHANGED)

    def compare_profiles(self, compared: Location, folder: Location) -> Counts:
        """Computes the profiles of the selected entities, and compares each pair of profiles."""
        changed = self._changed(compared)
        for side, name in enumerate((BEFORE, AFTER)):
            describe = Describe(self.contexts[side], self.users, name, _ids(changed, name))
            parquet_output.write(self._each_block(side, describe, PROFILED), folder / name)
        differing = self._with_profiles(changed, folder)
        parquet_output.write(differing, folder / "differing")
        pairs = parquet_output.read(self.spark, folder / "differing", _DIFFERING)
        profile_pairs = pairs.select(*_PAIR).distinct()
        for name, column in ((BEFORE, "had"), (AFTER, "has")):
            texts = self._profiled(folder, name).where("text is not null")
            texts = texts.groupBy("profile").agg(F.min("text").alias(f"{column}_text"))
            profile_pairs = profile_pairs.join(
                texts.withColumnRenamed("profile", column), column, "left"
            )
        profile_pairs = profile_pairs.select(*_PAIR, "had_text", "has_text")
        pair = Pair(*self.contexts, self.users).parts
        parquet_output.write(profile_pairs.mapInArrow(pair, PAIRED), folder / "paired")
        return {"pairs": profile_pairs.count()}

    def _profiled(self, folder: Location, name: str) -> DataFrame:
        return parquet_output.read(self.spark, folder / name, PROFILED)

    def _with_profiles(self, changed: DataFrame, folder: Location) -> DataFrame:
        """The entities that differ, with the profiles on both sides; null: not on that side."""
        for name, column in ((BEFORE, "had"), (AFTER, "has")):
            rows = self._profiled(folder, name).where("id is not null")
            own = rows.select(F.col("id").alias(name), F.col("profile").alias(column))
            changed = changed.join(own, name, "left")
        return changed.select("type", "name", BEFORE, AFTER, "had", "has")

    def differences(
        self, compared: Location, folder: Location
    ) -> tuple[pa.Table, pa.Table, pa.Table]:
        """Parts by class; class, id, example and count; and the table `members`."""
        paired = parquet_output.read(self.spark, folder / "paired", PAIRED)
        differing = parquet_output.read(self.spark, folder / "differing", _DIFFERING)
        classes = paired.select(*_PAIR, "class").distinct()
        same = [differing[name].eqNullSafe(classes[name]) for name in _PAIR]
        rows = differing.join(F.broadcast(classes), same).select(
            "class", BEFORE, AFTER, differing["name"].alias("example")
        )
        first = F.min(F.struct(F.coalesce(AFTER, BEFORE).alias("id"), "example"))
        examples = rows.groupBy("class").agg(first.alias("first"), F.count("*").alias("n"))
        sides = [
            aggregation.members(
                rows.where(F.col(name).isNotNull()).select("class", F.col(name).alias("id")),
                name,
                self.contexts[side].space,
            )
            for side, name in enumerate((BEFORE, AFTER))
        ]
        classes = examples.select("class", "first.id", "first.example", "n")
        return paired.toArrow(), classes.toArrow(), parquet_output.union(sides).toArrow()


def _ids(changed: DataFrame, side: str) -> bytes:
    """The ids of one side, as a serialized bitmap of 64 bits."""
    rows = changed.where(F.col(side).isNotNull()).select(side).toArrow()
    ids = np.asarray(rows.column(0), dtype=np.uint64)
    return bytes(BitMap64(ids).serialize())
