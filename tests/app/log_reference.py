"""The reference of events in docs/logs.md, and a check of log lines against it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "logs.md"
EVERYWHERE = frozenset({"event", "level", "timestamp"})
OF_LIBRARIES = frozenset({"library", "exception"})

_ROW = re.compile(r"^\| `([^`]+)` \| ([a-z, ]+) \|([^|]*)\| [^|]+ \| [^|]+ \|$", re.MULTILINE)


class Event(NamedTuple):
    """The levels and the fields that an event may have."""

    levels: frozenset[str]
    fields: frozenset[str]


@cache
def documented() -> Mapping[str, Event]:
    """Every event of the page."""
    return {
        event: Event(
            frozenset(levels.strip().split(", ")), frozenset(re.findall(r"`(\w+)`", fields))
        )
        for event, levels, fields in _ROW.findall(PAGE.read_text("utf-8"))
    }


def undocumented(lines: Iterable[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """The lines that do not match the page."""
    return [line for line in lines if not _is_documented(line)]


def _is_documented(line: Mapping[str, object]) -> bool:
    fields = line.keys() - EVERYWHERE
    if "library" in line:
        return fields <= OF_LIBRARIES
    event = documented().get(str(line.get("event")))
    return event is not None and line["level"] in event.levels and fields <= event.fields
