"""The error in a model's text, and its position. Like loading, it stops at the first fault."""

from __future__ import annotations

import re
import tomllib
from typing import Final, NamedTuple

from lakewarden import models
from lakewarden.analysis.toml_positions import Path, Position, position_of, positions
from lakewarden.kernel.errors import BadInput
from lakewarden.models.own import check_own

_COLUMN: Final = re.compile(r"column (\d+): (.*)", re.DOTALL)
_SYNTAX: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_UNKNOWN_KEY: Final = re.compile(r"unknown keys? `([^`]+)`")
_STEP: Final = re.compile(r'\."((?:[^"\\]|\\.)*)"|\.([^.\[\]"]+)|\[(\d+)\]')
_IN_MACRO: Final = re.compile(r": in macro `(\w+)`")


class Fault(NamedTuple):
    """One fault: the path of the field in the file, line and column from 1, and the message.

    Line and column are 0 if the field is not in the file.
    """

    path: str
    line: int
    column: int
    message: str


def fault_of(text: str) -> Fault | None:
    """The first fault of a model's text; None for a model that loads."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return syntax_fault(str(error), text)
    except RecursionError:
        return Fault("", 1, 1, "nested too deep")
    try:
        check_own(models.of_data(data, ""), "")
    except BadInput as error:
        return placed_fault(error, positions(text))
    return None


def syntax_fault(message: str, text: str) -> Fault:
    """The fault of a TOML syntax error, from the parser's message."""
    place = _SYNTAX.search(message)
    reason = _SYNTAX.sub("", message).lower()
    if place is None or place[1] is None:
        lines = text.split("\n")
        return Fault("", len(lines), len(lines[-1]) + 1, reason)
    return Fault("", int(place[1]), int(place[2]), reason)


def placed_fault(error: BadInput, places: dict[Path, Position]) -> Fault:
    """The fault of a reader's error, at the position that its `where` names (`.case[0].on`)."""
    path = _path(error.where)
    in_rule = _COLUMN.match(error.message)
    if in_rule is not None:
        line, start = position_of(places, path, value=True)
        return Fault(_text(path), line, start + int(in_rule[1]), in_rule[2])
    unknown = _UNKNOWN_KEY.match(error.message)
    # An unknown key has its own position, not that of its table.
    line, column = position_of(places, path if unknown is None else (*path, unknown[1]))
    return Fault(_text(path), line, column, error.message)


def _path(where: str) -> Path:
    """The path that an error names, as `.operations."read".rule: in macro `X``."""
    macro = _IN_MACRO.findall(where)
    if macro:
        return ("macros", macro[-1])
    return tuple(
        quoted.replace('\\"', '"') if quoted else plain if plain else int(index)
        for quoted, plain, index in _STEP.findall(where.partition(": ")[0])
    )


def _text(path: Path) -> str:
    """The path in the notation of the file."""
    shown = ""
    for step in path:
        if isinstance(step, int):
            shown += f"[{step}]"
        elif re.fullmatch(r"[A-Za-z0-9_-]+", step):
            shown += f".{step}"
        else:
            shown += f'."{step}"'
    return shown.removeprefix(".")
