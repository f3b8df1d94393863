"""Timestamps in query parameters: seconds since the epoch, or relative to now.

    start=1700000000&end=now
    start=now-1d-12h&end=now-5m

SOURCE: cdap reference 4.7, 4.9; cdapio/cdap, TimeMathParser at v5.1.2.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from lakewarden.http.exchange import Exchange
from lakewarden.names.canonical import quoted
from lakewarden.systems.cdap.http.errors import bad

LAST: Final = 2**53
"""The last valid timestamp, in milliseconds."""

_MOST_SECONDS: Final = LAST // 1_000
_NOW: Final = "now"
_STEPS: Final = re.compile(r"([+-])([0-9]{1,9})([smhd])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


class Span(NamedTuple):
    """From a timestamp, inclusive, to another, exclusive; in milliseconds since the epoch."""

    start: int = 0
    end: int = LAST


def span(exchange: Exchange, first: str = "start", last: str = "end") -> Span:
    """The span between two parameters; open without them. Raises `Failure` 400."""
    parsed = Span(*(_moment(exchange, name, at) for name, at in ((first, 0), (last, LAST))))
    if parsed.start > parsed.end:
        raise bad(f"`{first}` is later than `{last}`")
    return parsed


def read_seconds(text: str, name: str, now: float) -> int:
    """The timestamp in a text, in seconds since the epoch; raises `Failure` 400."""
    moment = _read(text, now)
    if moment is None or not 0 <= moment <= _MOST_SECONDS:
        raise bad(f"expected seconds since the epoch, or `now-1h`, as `{name}`, got {quoted(text)}")
    return moment


def _moment(exchange: Exchange, name: str, otherwise: int) -> int:
    text = exchange.one(name)
    return read_seconds(text, name, exchange.now) * 1_000 if text else otherwise


def _read(text: str, now: float) -> int | None:
    if text.isascii() and text.isdecimal() and len(text) <= 16:
        return int(text)
    return relative_seconds(text, now)


def relative_seconds(text: str, now: float) -> int | None:
    """The timestamp of a text like `now-1h`, in seconds since the epoch; None for other texts."""
    front, steps = text[: len(_NOW)].lower(), text[len(_NOW) :]
    if front != _NOW or _STEPS.sub("", steps):
        return None
    at = int(now)
    for sign, number, unit in _STEPS.findall(steps):
        at += int(f"{sign}{number}") * _SECONDS[unit]
    return at
