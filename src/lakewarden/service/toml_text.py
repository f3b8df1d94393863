"""TOML in the form of policy files: one key with its value per line, nested tables in braces."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")

_WIDE: Final = 70
"""Lists with more characters are written with one value per line."""


def lines(table: Mapping[str, object]) -> Iterator[str]:
    """The table, key by key.

    >>> print("".join(lines({"id": "a", "where": {"domain.id": ["x", "y"]}})), end="")
    id = "a"
    where = { "domain.id" = ["x", "y"] }
    """
    for name, inner in table.items():
        yield f"{key(name)} = {value(inner)}\n"


def key(text: str) -> str:
    """A key, quoted only if necessary."""
    return text if _BARE.fullmatch(text) else quoted(text)


def value(content: object) -> str:
    """A text, number, boolean, list or table."""
    if isinstance(content, Mapping):
        inner = ", ".join(f"{key(str(name))} = {value(item)}" for name, item in content.items())
        return f"{{ {inner} }}"
    if isinstance(content, (list, tuple)):
        if len(content) > 1 and len(str(content)) > _WIDE:
            return "[\n" + "".join(f"  {value(item)},\n" for item in content) + "]"
        return f"[{', '.join(map(value, content))}]"
    return quoted(content) if isinstance(content, str) else json.dumps(content)


def quoted(text: str) -> str:
    """Text in quotes, valid in both TOML and YAML."""
    # JSON's strings are valid there, except for one character that TOML requires to be escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
