"""The line and column of each key of a TOML text, which its parser does not report.

Only tables and keys at the beginning of a line are found; a part of a value has the position of
the value. A text that does not parse has no positions.
"""

from __future__ import annotations

import re
import tomllib
from typing import Final, NamedTuple

Path = tuple[str | int, ...]

_HEADING: Final = re.compile(r"\s*(\[\[?)(.+?)\]\]?\s*(?:#.*)?$")
_KEY: Final = re.compile(r"""\s*((?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+|\s*\.\s*)+)\s*=\s*""")
_QUOTES: Final = ('"' * 3, "'" * 3)


class Position(NamedTuple):
    """A line, the column of the key, and the column before a text's first character."""

    line: int
    column: int
    value: int


def positions(text: str) -> dict[Path, Position]:
    """The position of every table and key; lines and columns are counted from 1."""
    positions: dict[Path, Position] = {}
    table: Path = ()
    counts: dict[Path, int] = {}
    open_quotes = ""
    depth = 0
    for number, line in enumerate(text.split("\n"), 1):
        if open_quotes:
            open_quotes = "" if line.count(open_quotes) % 2 else open_quotes
            continue
        if depth > 0:
            depth += _brackets(line)
            continue
        heading = _HEADING.match(line)
        key = None if heading else _KEY.match(line)
        if heading:
            table = _heading(heading[1], _steps(heading[2]), counts)
            positions.setdefault(table, Position(number, heading.start(1) + 1, heading.end()))
        elif key:
            begin = len(line) - len(line.lstrip()) + 1
            path = (*table, *_steps(key[1]))
            value = line[key.end() :]
            positions[path] = Position(number, begin, key.end() + value.startswith(('"', "'")))
            open_quotes = next((q for q in _QUOTES if value.count(q) % 2), "")
            depth = 0 if open_quotes else max(0, _brackets(value))
    return positions


def position_of(
    places: dict[Path, Position], path: Path, *, value: bool = False
) -> tuple[int, int]:
    """Line and column of a path, or of the nearest existing table; (0, 0) for none."""
    for length in range(len(path), 0, -1):
        position = places.get(path[:length])
        if position is not None:
            return position.line, position.value if value and length == len(
                path
            ) else position.column
    return 0, 0


def _heading(brackets: str, path: Path, counts: dict[Path, int]) -> Path:
    if brackets == "[":
        return path
    counts[path] = counts.get(path, -1) + 1
    return (*path, counts[path])


def _steps(key: str) -> Path:
    """The parts of a dotted key."""
    try:
        inner: object = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError:
        return (key.strip(),)
    path: list[str] = []
    while isinstance(inner, dict):
        name, inner = next(iter(inner.items()))
        path.append(name)
    return tuple(path)


def _brackets(line: str) -> int:
    """How many more lists and tables the line opens than it closes."""
    plain = re.sub(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|#.*', "", line)
    return sum(plain.count(c) for c in "[{") - sum(plain.count(c) for c in "]}")
