"""The SQL names of Spark's column types."""

from __future__ import annotations

from typing import Final

from pyspark.sql.connect.proto import types_pb2 as types

from lakewarden.expressions.engine_types import COLLATION

_NAMES: Final = {
    "binary": "binary",
    "boolean": "boolean",
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
}


def sql_type(type: types.DataType) -> str:
    """The type in SQL; a nested type is only `struct`, which no mask but NULL fits.

    Likewise, only NULL fits a type with a collation, and a filter only checks whether it is NULL.
    """
    kind = type.WhichOneof("kind") or ""
    match kind:
        case "decimal":
            return f"decimal({type.decimal.precision}, {type.decimal.scale})"
        case "string" if type.string.collation in ("", "UTF8_BINARY"):
            return "string"
        case "string":
            return f"string{COLLATION}{type.string.collation}"
        case "char":
            return f"char({type.char.length})"
        case "var_char":
            return f"varchar({type.var_char.length})"
        case _:
            return _NAMES.get(kind, "struct")
