"""Decides which jobs are small: they run in this process, without Spark.

A query on Spark takes at least a tenth of a second, its start some seconds, and a job makes about
fifty queries. The code for small jobs either calls the same functions that tasks call elsewhere, or
tests compare it with the results of Spark on the same input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakewarden.pipeline.session import runs_locally

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 200_000
"""The largest total number of rows of an input's tables."""

BYTES = 16 * 1024 * 1024
"""The largest total size of text files whose rows have not been counted yet."""


def is_small(rows: int, spark: SparkSession) -> bool:
    """Whether this many rows are processed here. Never if Spark is configured to run elsewhere."""
    return rows <= ROWS and runs_locally(spark)


def is_small_input(size: int, spark: SparkSession) -> bool:
    """The same for files with this many bytes."""
    return size <= BYTES and runs_locally(spark)
