"""The records of a log: who accessed what, how, and on which day; and unreadable lines.

A line of a log is parsed into touches, one for each accessed object. A line that cannot be parsed
gives a `Refused` with the reason, and is set aside; a line that is no access gives neither.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import quoted

BAD_LINE: Final = "bad line"
"""A line that does not have the form of its kind of log."""

_SECONDS_END: Final = 1e11
"""A larger number counts milliseconds: as seconds it would be after the year 5000."""

_DATE: Final = re.compile("[0-9]{8}")
"""An ISO 8601 date without hyphens: as seconds it would be before 1974."""

_YEARS: Final = range(2000, 2100)

_LARGEST_COUNT: Final = 1 << 53


class LoggedAccess(NamedTuple):
    """One access as its log spells it; `on` is `type:name`, empty for no resource."""

    place: str
    who: str
    act: str
    on: str
    day: str
    times: int = 1
    allowed: bool = True


class Refused(NamedTuple):
    """A line, or a part of it, that cannot be parsed."""

    place: str
    line: str
    detail: str


def day_of(value: object) -> str:
    """The UTC day of a moment: ISO 8601 text (UTC if it has no offset), or a number.

    Eight digits are a date. Other numbers are seconds since the epoch, large ones milliseconds.
    Raises `BadInput`, also for moments before 2000 and after 2099, which cannot be real ones.

    >>> day_of("2024-03-01T00:30:00+02:00"), day_of(1709251200), day_of("1709251200000")
    ('2024-02-29', '2024-03-01', '2024-03-01')
    >>> day_of("20240301"), day_of(20240301)
    ('2024-03-01', '2024-03-01')
    """
    try:
        moment = None if isinstance(value, bool) else _moment(value)
    except (ValueError, OverflowError, OSError):
        moment = None
    if moment is None or moment.year not in _YEARS:
        raise BadInput(f"expected a moment, got {quoted(str(value))}")
    return moment.date().isoformat()


def _moment(value: object) -> datetime | None:
    """A moment in UTC; None if there is none; the parsers' exceptions pass through."""
    text = value.strip() if isinstance(value, str) else str(value)
    number = _number(text) if isinstance(value, (str, int, float)) else None
    if number is not None and not _DATE.fullmatch(text):
        seconds = number / 1000 if abs(number) > _SECONDS_END else number
        return datetime.fromtimestamp(seconds, UTC)
    if isinstance(value, (str, int)):
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment
    return None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def count_of(value: object) -> int:
    """A number of accesses: a whole number above 0. Raises `BadInput`."""
    try:
        number = int(value) if isinstance(value, (str, int)) else 0
    except ValueError:
        number = 0
    if not 0 < number < _LARGEST_COUNT or isinstance(value, bool):
        raise BadInput(f"expected a count, got {quoted(str(value))}")
    return number


def text_of(record: Mapping[str, object], path: str) -> str:
    """The text at a path of keys joined by dots; a key that contains the dots itself comes first.

    Raises `BadInput` if the text is missing or empty.
    """
    value = value_at(record, path)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)) or value == "":
        raise BadInput(f"expected text in `{path}`")
    return str(value)


def value_at(record: Mapping[str, object], path: str) -> object:
    """The value at a path of keys joined by dots, or None."""
    if path in record:
        return record[path]
    value: object = record
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
