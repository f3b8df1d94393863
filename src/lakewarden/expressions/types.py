"""Types of columns, as far as expressions distinguish them."""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum
from typing import Final


class Type(StrEnum):
    """A type of values. For `OTHER`, an expression can only test for NULL."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    DECIMAL = "decimal"
    DOUBLE = "double"
    STRING = "string"
    DATE = "date"
    TIMESTAMP = "timestamp"
    INSTANT = "timestamp with time zone"
    NULL = "null"
    OTHER = "other"


NUMBERS: Final = frozenset({Type.INTEGER, Type.DECIMAL, Type.DOUBLE})

_NAMES: Final = {
    Type.BOOLEAN: "boolean bool",
    Type.INTEGER: "byte tinyint short smallint int integer long bigint int2 int4 int8 mediumint",
    Type.DECIMAL: "decimal numeric dec",
    Type.DOUBLE: "float double real float4 float8 doubleprecision",
    Type.STRING: "string varchar text charactervarying nvarchar",
    Type.DATE: "date",
    Type.TIMESTAMP: "timestamp timestampwithouttimezone timestamp_ntz datetime",
    Type.INSTANT: "timestampwithtimezone timestamp_tz timestamptz",
}
_BY_NAME: Final = {name: type for type, names in _NAMES.items() for name in names.split()}
_PARAMETERS: Final = re.compile(r"\([^()]*\)")


def read_type(text: str) -> Type:
    """The type that a catalog's type name means; `OTHER` if the meaning is not certain.

    `char(n)` is `OTHER`: engines do not agree on trailing blanks.

    >>> read_type("DECIMAL(10, 2)").value, read_type("varchar(20)").value
    ('decimal', 'string')
    >>> read_type("timestamp(6) with time zone").value, read_type("char(3)").value
    ('timestamp with time zone', 'other')
    """
    plain = "".join(text.lower().split())
    return _BY_NAME.get(plain) or _BY_NAME.get(_PARAMETERS.sub("", plain), Type.OTHER)


def is_moment(text: str) -> bool:
    """Whether this is an existing date and time.

    >>> is_moment("2024-02-29"), is_moment("2023-02-29")
    (True, False)
    """
    try:
        datetime.fromisoformat(text.replace(" +", "+").replace(" -", "-"))
    except ValueError:
        return False
    return True


_CONSTANTS: Final = {
    Type.INTEGER: r"-?[0-9]{1,18}",
    Type.DECIMAL: r"-?[0-9]{1,28}(\.[0-9]{1,10})?",
    Type.DOUBLE: r"-?[0-9]{1,15}(\.[0-9]{1,10})?",
    Type.BOOLEAN: r"true|false",
    Type.DATE: r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
    Type.TIMESTAMP: r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?",
}


def is_constant(text: str, type: Type) -> bool:
    """Whether every engine reads the text as a constant of that type, which is not a string.

    >>> is_constant("-7", Type.INTEGER), is_constant("2024-W01-1", Type.DATE)
    (True, False)
    """
    if re.fullmatch(_CONSTANTS[type], text) is None:
        return False
    return type not in (Type.DATE, Type.TIMESTAMP) or is_moment(text)


def is_comparable(text: str) -> bool:
    r"""Whether every engine compares the text alike; not with control characters beyond ASCII.

    >>> is_comparable("a\tb"), is_comparable("a\u202eb")
    (True, False)
    """
    return "\0" not in text and (text.isprintable() or text.isascii())
