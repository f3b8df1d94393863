"""Whether an index is valid now: during its interval no statement starts or ends."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from math import inf
from typing import Any


def outside(interval: tuple[float, float], now: float) -> str:
    """A message about an index that is not valid at `now`; empty if it is valid.

    >>> outside((0.0, 60.0), 59.0)
    ''
    >>> outside((0.0, 60.0), 60.0)[:50]
    'the index holds until 1970-01-01T00:01:00+00:00, w'
    """
    start, end = interval
    if start <= now < end:
        return ""
    side = "until" if now >= end else "from"
    when = moment_text(end if now >= end else start)
    return f"the index holds {side} {when}, when the validity of a statement changes"


def moment_text(moment: float) -> str:
    """A moment in UTC, to the second; one beyond the calendar in seconds since the epoch.

    >>> moment_text(1795392000.5), moment_text(1e12)
    ('2026-11-23T00:00:00+00:00', 'second 1,000,000,000,000')
    """
    try:
        return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return f"second {moment:,.0f}"


def end_of(facts: Mapping[str, Any]) -> str:
    """A sentence for readers on when the index with these facts ends; empty if it never does."""
    if facts["until"] is None:
        return ""
    return f"It holds until {moment_text(facts['until'])}: then statements start or end."


def interval_of(facts: Mapping[str, Any]) -> tuple[float, float]:
    """Start and end (exclusive) of the validity of the index with these facts.

    >>> interval_of({"from": None, "until": 60.0})
    (-inf, 60.0)
    """
    start, end = facts["from"], facts["until"]
    return -inf if start is None else start, inf if end is None else end


def currency(facts: Mapping[str, Any]) -> dict[str, str]:
    """For a run report: `not_current` if the index with these facts is not valid by the clock.

    Empty if it is valid. A product of an expired index says who could do what, not who can.
    """
    warning = outside(interval_of(facts), time.time())
    return {"not_current": f"{warning}; rebuild it"} if warning else {}
