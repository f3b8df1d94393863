"""Timestamps: parsed from the command line, and formatted for output."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from lakewarden.kernel.errors import BadInput


def moment(text: str | None, where: str) -> float:
    """The timestamp in seconds since the epoch; without one, before or after everything.

    >>> moment("2026-11-23", "--since")
    1795392000.0
    """
    if text is None:
        return -math.inf if where == "--since" else math.inf
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        expected = "a date or a time as in `2026-11-23` or `2026-11-23T07:00:00Z`"
        raise BadInput(f"expected {expected}", where=where) from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def shown(moment: float) -> str:
    """A timestamp in UTC, in the notation of `moment`; "" for one before or after everything.

    One beyond the calendar is shown in seconds since the epoch.

    >>> shown(1795392000.0), shown(1e300)
    ('2026-11-23T00:00:00Z', '1e+300')
    """
    if math.isinf(moment):
        return ""
    try:
        return datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return str(moment)


def finite(_: object, seconds: float | None) -> None:
    """A validator of options that raises `ValueError` for seconds that are not finite."""
    if seconds is not None and not math.isfinite(seconds):
        raise ValueError("expected a finite number of seconds")
