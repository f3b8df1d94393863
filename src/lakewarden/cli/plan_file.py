"""A plan as a JSON document with one list member per line, written incrementally."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

T = TypeVar("T")


def pieces(table: Mapping[str, object]) -> Iterator[str]:
    """The document, line by line, with line ends.

    >>> print("".join(pieces({"a": 1, "b": {"c": [[0, 2], [5, 5]], "d": []}})), end="")
    {
      "a": 1,
      "b": {
        "c": [
          [0, 2],
          [5, 5]
        ],
        "d": []
      }
    }
    """
    yield from _table(table, "", "\n")


def _table(table: Mapping[str, object], indent: str, end: str) -> Iterator[str]:
    yield "{\n"
    for comma, (key, value) in _parted(table.items()):
        yield f"{indent}  {_text(key)}: "
        yield from _value(value, f"{indent}  ", f"{comma}\n")
    yield f"{indent}}}{end}"


def _value(value: object, indent: str, end: str) -> Iterator[str]:
    match value:
        case Mapping() if value:
            yield from _table(value, indent, end)
        case list() if value:
            yield "[\n"
            for comma, item in _parted(value):
                yield f"{indent}  {_text(item)}{comma}\n"
            yield f"{indent}]{end}"
        case _:
            yield f"{_text(value)}{end}"


def _parted(items: Iterable[T]) -> Iterator[tuple[str, T]]:
    """The items, each with the comma that follows it; the last has none."""
    rest = list(items)
    for place, item in enumerate(rest, start=1):
        yield "," if place < len(rest) else "", item


def _text(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(value)
