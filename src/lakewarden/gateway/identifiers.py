"""Names of tables in Spark's syntax: parts separated by dots, some in backticks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from lakewarden.gateway.errors import Denied

_PART: Final = re.compile(r"`(?:[^`]|``)+`|[A-Za-z0-9_]+")
MAX_CHARACTERS: Final = 1_000


def split(text: str) -> tuple[str, ...]:
    """The parts of a name, in lower case, like in the session catalog of Spark.

    Raises `Denied` for a name that Spark might parse in another way.

    >>> split("Sales.`or``ders`")
    ('sales', 'or`ders')
    """
    names: list[str] = []
    position, is_open = 0, True
    while is_open:
        match = _PART.match(text, position)
        if match is None or len(text) > MAX_CHARACTERS:
            raise Denied("a name cannot be read: put names with other characters in backticks")
        names.append(_plain(match.group()))
        position = match.end()
        is_open = position < len(text)
        if is_open and text[position] != ".":
            raise Denied("a name cannot be read: put names with other characters in backticks")
        position += 1
    return tuple(names)


def _plain(part: str) -> str:
    name = part[1:-1].replace("``", "`") if part.startswith("`") else part
    return name.lower()


def join(names: Iterable[str]) -> str:
    """The name of the parts, each in backticks.

    >>> join(["sales", "or`ders"])
    '`sales`.`or``ders`'
    """
    return ".".join(f"`{name.replace('`', '``')}`" for name in names)
