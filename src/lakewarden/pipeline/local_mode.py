"""Which jobs are small: they are done in this process, and no Spark is started for them.

A query costs Spark a tenth of a second and more whatever its size, its start some seconds, and a
job asks some fifty. What is done here calls the functions that tasks call elsewhere, or is held by
tests to what Spark makes of the same input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakewarden.pipeline.session import runs_here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 200_000
"""How many rows all tables of an input may have together."""

BYTES = 16 * 1024 * 1024
"""How large files of texts may be together, whose rows nobody has counted yet."""


def has_few(rows: int, spark: SparkSession) -> bool:
    """Whether so many rows are worked on here. Never where Spark is configured to run elsewhere."""
    return rows <= ROWS and runs_here(spark)


def has_little(size: int, spark: SparkSession) -> bool:
    """The same of files of so many bytes."""
    return size <= BYTES and runs_here(spark)
