"""Tables as the jobs write them, and a digest of a table that no order of rows changes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

from lakewarden.pipeline.ingest.version import read_from, written_to
from lakewarden.pipeline.product import Content

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_ONE_GROUP: Final = str(1 << 30)
"""Bytes of a group of rows, of which a file has one, then: no reader takes it in parts."""


def write(frame: DataFrame, place: Path) -> None:
    """Writes a table; only its files of rows stay, and each is read by one task as a whole."""
    options = {"compression": "zstd", "parquet.block.size": _ONE_GROUP}
    frame.write.mode("overwrite").options(**options).parquet(written_to(place))
    for file in place.iterdir():
        if file.suffix != ".parquet":
            file.unlink()


def read(spark: SparkSession, place: Path, schema: str) -> DataFrame:
    """A table that was written."""
    return spark.read.schema(schema).parquet(read_from(place))


def content(frame: DataFrame) -> Content:
    """Rows and digest of a table.

    The digest is the sum, and the exclusive or, of a 64-bit digest of each row: it tells tables
    apart that differ by accident, wherever and in whatever order they were computed.
    """
    return contents({"": frame})[""]


def contents(frames: Mapping[str, DataFrame]) -> dict[str, Content]:
    """The contents of some tables, looked at in one job."""
    digests = [_digests(name, frame) for name, frame in frames.items()]
    found = union(digests).groupBy("table")
    totals = found.agg(
        F.count("*"), F.sum(F.col("row").cast("decimal(38,0)")), F.bit_xor("other")
    ).collect()
    known = {name: cells for name, *cells in totals}
    return {name: _content(*known.get(name, (0, None, None))) for name in frames}


def _digests(name: str, frame: DataFrame) -> DataFrame:
    row = F.xxhash64(*frame.columns)
    other = F.xxhash64(F.lit("other"), *frame.columns)
    return frame.select(F.lit(name).alias("table"), row.alias("row"), other.alias("other"))


def _content(rows: int, sum: Any, mixed: Any) -> Content:
    return Content(rows, f"{_unsigned(sum):016x}{_unsigned(mixed):016x}")


def _unsigned(number: Any) -> int:
    return int(number or 0) & (1 << 64) - 1


def union(frames: list[DataFrame]) -> DataFrame:
    """All rows of some tables of the same columns."""
    return reduce(lambda one, other: one.unionByName(other), frames)
