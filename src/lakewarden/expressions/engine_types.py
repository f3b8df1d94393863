"""Column types under the names of one engine, and casts to these types.

MySQL and MariaDB have their own names, and can cast to only a few of their types.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

from lakewarden.expressions.types import Type, read_type

COLLATION: Final = " collate "
"""The part of a Spark type that names the collation of a text column."""

_MYSQL: Final = "mysql"
_UNSIGNED: Final = re.compile(r"\s+(unsigned|zerofill)")
_PARAMETERS: Final = re.compile(r"\(([\d, ]+)\)")
_MYSQL_NAMES: Final = {
    **dict.fromkeys(("tinytext", "mediumtext", "longtext"), Type.STRING),
    "bit(1)": Type.BOOLEAN,
}
_MYSQL_CASTS: Final = {
    Type.STRING: "CAST({} AS CHAR{})",
    Type.BOOLEAN: "CAST({} AS SIGNED)",
    Type.INTEGER: "CAST({} AS SIGNED)",
    Type.DECIMAL: "CAST({} AS DECIMAL{})",
    Type.DOUBLE: "({}) + 0e0",
    Type.DATE: "CAST({} AS DATE)",
    Type.TIMESTAMP: "CAST({} AS DATETIME{})",
}
_WIDE: Final = "bigint"
_OF_WIDE: Final = "CAST({} AS DECIMAL(20))"
"""An unsigned integer may be too large for a signed type."""

_BITS: Final = {
    name: bits
    for bits, names in {
        8: "byte tinyint",
        16: "short smallint int2",
        24: "mediumint",
        32: "int integer int4",
    }.items()
    for name in names.split()
}
_DIGITS: Final = re.compile(r"(?:decimal|numeric|dec)\((\d+)(?:, *(\d+))?\)")

_EXACT: Final = Context(prec=100, rounding=ROUND_HALF_UP)

_SIZED: Final = (Type.STRING, Type.DECIMAL, Type.TIMESTAMP)


def column_type(engine: str, text: str) -> Type:
    """The type of a column with that type in the engine; `OTHER` if the meaning is not certain.

    A `timestamp` of MySQL is a moment shown in the time zone of the session, which any session can
    set, so nothing can be said about its values.

    >>> column_type("mysql", "int(10) unsigned").value, column_type("mysql", "timestamp").value
    ('integer', 'other')
    """
    if engine != _MYSQL:
        return read_type(text)
    plain = _UNSIGNED.sub("", text.lower())
    if plain.startswith("timestamp"):
        return Type.OTHER
    return _MYSQL_NAMES.get(plain) or read_type(plain)


def holds(text: str, number: str) -> bool:
    """Whether a column of that numeric type has room for the number.

    >>> holds("tinyint", "300"), holds("decimal(5, 2)", "999.99"), holds("double", "300")
    (False, True, True)
    """
    plain = _UNSIGNED.sub("", text.lower())
    is_unsigned, digits = plain != text.lower(), _DIGITS.fullmatch(plain)
    if is_unsigned and number.startswith("-"):
        return False
    if digits is not None:
        most, scale = int(digits[1]), int(digits[2] or 0)
        rounded = Decimal(number).quantize(Decimal(1).scaleb(-scale), context=_EXACT)
        return abs(rounded) < Decimal(10) ** (most - scale)
    bits = _BITS.get(_PARAMETERS.sub("", plain))
    most = 2 ** (bits - (not is_unsigned)) if bits else 0
    return not bits or -most <= int(number) < most


def cast_to_column(engine: str, sql: str, text: str) -> str:
    """The SQL value cast to a column's type, which must not be `OTHER`.

    >>> cast_to_column("mysql", "a", "varchar(5)"), cast_to_column("trino", "a", "varchar(5)")
    ('CAST(a AS CHAR(5))', 'CAST(a AS varchar(5))')
    """
    if engine != _MYSQL:
        return f"CAST({sql} AS {text})"
    plain, type = text.lower(), column_type(engine, text)
    if plain.startswith(_WIDE) and _UNSIGNED.search(plain):
        return _OF_WIDE.format(sql)
    size = _PARAMETERS.search(plain) if type in _SIZED else None
    return _MYSQL_CASTS[type].format(sql, size[0] if size else "")
