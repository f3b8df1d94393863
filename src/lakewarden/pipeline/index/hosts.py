"""Which blocks host which guests, from the tables of the estate.

The driver loads all targets of references, and follows them. Pairs of a block and a target are
loaded on the driver if they are few; otherwise Spark follows them, step by step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import functions as F  # noqa: N812 — the usual alias

from lakewarden.pipeline import parquet_output
from lakewarden.pipeline.index import guests
from lakewarden.pipeline.index.id_space import IdSpace, IdWidth, block_number
from lakewarden.pipeline.storage.location import Location

if TYPE_CHECKING:
    Ints = NDArray[np.int64]
    from pyspark.sql import Column, DataFrame, SparkSession

ON_DRIVER: Final = 4_000_000
"""How many pairs of a block and a guest the driver loads at most: some 330 MB."""

PAIRS: Final = "block int, id ID"


@dataclass(frozen=True, slots=True)
class Hosts:
    """The guests of all blocks: `pairs` (see `PAIRS`) of a block, or `guests.EVERY`, and a guest.

    `ids` are the distinct guests. `count` is the total number of guests over all blocks.
    """

    pairs: DataFrame
    ids: DataFrame
    count: int


def hosts_of(
    entities: DataFrame,
    edges: DataFrame | None,
    common: Ints,
    space: IdSpace,
    place: Location,
) -> Hosts:
    """The guests of the blocks: the `common` ones, and the targets of parents and `edges`.

    The folder `place` is for pairs that are not loaded on the driver.
    """
    bits = space.bits
    reached = _reached(entities, edges, common, space)
    frames = [_crossing(entities.select("id", "parent").where("parent >= 0"), bits)]
    if edges is not None:
        frames.append(_crossing(edges, bits))
    crossing = parquet_output.union(frames)
    if len(space.blocks) * len(reached.ids) <= ON_DRIVER:
        return _followed_locally(crossing, reached, common, space)
    return _followed_in_spark(crossing, reached, common, space, place)


def _followed_locally(
    crossing: DataFrame, reached: guests.Reached, common: Ints, space: IdSpace
) -> Hosts:
    spark, width = crossing.sparkSession, space.width
    pairs = guests.Pairs(*_columns(crossing))
    invited = guests.guests_of(common, pairs, reached, space.bits)
    hosted = invited.hosted()
    known = F.broadcast(pair_frame(spark, hosted, width))
    distinct = _frame(spark, width, id=np.unique(hosted.ids))
    return Hosts(known, distinct, invited.count(space.blocks))


def _followed_in_spark(
    crossing: DataFrame,
    reached: guests.Reached,
    common: Ints,
    space: IdSpace,
    place: Location,
) -> Hosts:
    spark, bits, width = crossing.sparkSession, space.bits, space.width
    everywhere = guests.guests_of(common, guests.NO_PAIRS, reached, bits)
    ids, targets = reached.steps()
    steps = F.broadcast(_frame(spark, width, id=ids, target=targets))
    known = new = _written(crossing.distinct(), place / "0", width)
    number = 0
    while parquet_output.count_rows(place / str(number)):
        number += 1
        further = new.join(steps, "id").select("block", F.col("target").alias("id"))
        further = further.where(_is_outside(bits)).distinct()
        unknown = further.join(known, ["block", "id"], "left_anti")
        new = _written(unknown, place / str(number), width)
        known = known.unionByName(new)
    common_ids = F.broadcast(_frame(spark, width, id=everywhere.common))
    others = _written(known.join(common_ids, "id", "left_anti"), place / "pairs", width)
    pairs = others.unionByName(pair_frame(spark, everywhere.hosted(), width))
    count = everywhere.count(space.blocks) + parquet_output.count_rows(place / "pairs")
    return Hosts(pairs, pairs.select("id").distinct(), count)


def _written(pairs: DataFrame, place: Location, width: IdWidth) -> DataFrame:
    parquet_output.write(pairs, place)
    return parquet_output.read(pairs.sparkSession, place, width.columns(PAIRS))


def _is_outside(bits: int) -> Column:
    return block_number("id", bits) != F.col("block")


def _crossing(edges: DataFrame, bits: int) -> DataFrame:
    """The blocks, and the ids outside of them that their edges lead to."""
    source, target = edges.columns
    block = block_number(source, bits)
    pairs = edges.select(block.alias("block"), F.col(target).alias("id"))
    return pairs.where(_is_outside(bits)).distinct()


def _columns(frame: DataFrame) -> list[Ints]:
    table = frame.toArrow()
    return [np.asarray(column, dtype=np.int64) for column in table.columns]


def _reached(
    entities: DataFrame, edges: DataFrame | None, common: Ints, space: IdSpace
) -> guests.Reached:
    """The steps from targets of edges, from common guests, and from containers.

    Of containers, only those that span several blocks; plus all ancestors of these entities.
    """
    spark, bits, width = entities.sparkSession, space.bits, space.width
    ends_in = block_number(F.col("end") - 1, bits)
    crossing = entities.where(block_number("id", bits) != ends_in).select("id", "parent")
    selected = _frame(spark, width, id=common)
    if edges is not None:
        selected = edges.select(F.col("target").alias("id")).unionAll(selected).distinct()
    named = entities.join(selected, "id", "left_semi").select("id", "parent")
    ids, parents = _columns(crossing.unionAll(named))
    missing = np.setdiff1d(parents[parents >= 0], ids)
    while len(missing):
        above = entities.join(F.broadcast(_frame(spark, width, id=missing)), "id", "left_semi")
        some_ids, some_parents = _columns(above.select("id", "parent"))
        ids, parents = np.concatenate([ids, some_ids]), np.concatenate([parents, some_parents])
        missing = np.setdiff1d(some_parents[some_parents >= 0], ids)
    everyone, places = np.unique(ids, return_index=True)
    sources = targets = np.zeros(0, dtype=np.int64)
    if edges is not None:
        known = _frame(spark, width, source=everyone)
        sources, targets = _columns(edges.join(known, "source", "left_semi").distinct())
    order = np.argsort(sources, kind="stable")
    return guests.Reached(everyone, parents[places], sources[order], targets[order])


def pair_frame(spark: SparkSession, pairs: guests.Pairs, width: IdWidth) -> DataFrame:
    """Pairs as a table; the columns are `PAIRS`."""
    columns = {"block": pairs.blocks.astype(np.int32), "id": pairs.ids.astype(width.dtype)}
    return spark.createDataFrame(pa.table({n: pa.array(cells) for n, cells in columns.items()}))


def _frame(spark: SparkSession, width: IdWidth, **columns: Ints) -> DataFrame:
    """Ids, as a table."""
    return spark.createDataFrame(
        pa.table({name: width.array(ids) for name, ids in columns.items()})
    )
