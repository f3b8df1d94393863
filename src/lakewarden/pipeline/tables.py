"""The pipeline's tables: Arrow and Spark schemas, derived from `lakewarden.kernel.relations`.

Only the quarantine is declared here, because only the pipeline has one. PySpark is imported when a
Spark schema is needed; reading a directory needs none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from lakewarden.kernel.relations import TABLES, Column

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

QUARANTINE: Final = "quarantine"

QUARANTINE_COLUMNS: Final = (
    Column("table"),
    Column("row"),
    Column("reason"),
    Column("detail"),
    Column("place"),
)
"""Rows that were set aside: their intended table, their cells (JSON), the reason, the place."""

COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {**TABLES, QUARANTINE: QUARANTINE_COLUMNS}
"""The columns of every table of a version."""

_ARROW = {
    "string": pa.string(),
    "strings": pa.list_(pa.string()),
    "float": pa.float64(),
    "boolean": pa.bool_(),
}


def arrow_schema(table: str) -> pa.Schema:
    """The Arrow schema of one table.

    >>> arrow_schema("principals").names
    ['kind', 'name']
    """
    return pa.schema([pa.field(c.name, _ARROW[c.kind], c.nullable) for c in COLUMNS[table]])


def spark_schema(table: str) -> StructType:
    """The Spark schema of one table."""
    from pyspark.sql import types

    kinds = {
        "string": types.StringType(),
        "strings": types.ArrayType(types.StringType()),
        "float": types.DoubleType(),
        "boolean": types.BooleanType(),
    }
    return types.StructType(
        [types.StructField(c.name, kinds[c.kind], c.nullable) for c in COLUMNS[table]]
    )
