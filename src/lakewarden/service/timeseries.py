"""Aspects that are rows of values in time: profiles, usage, operations, runs.

Such an aspect is stored apart from aspects with one value, by entity, aspect, time and mark: two
values of one time are the same if they agree in message, granularity and partition. For each aspect
of an entity a limited number of the newest values is kept. Decisions do not depend on them, so
changes only matter to their readers.

SOURCE: datahub reference 5.4 and 7.1; timeseries records of acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any, Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.service.effect import Effect, ValueChanged, ValuePlace, ValueRow
from lakewarden.service.ports import Reading
from lakewarden.service.write_transaction import WriteTransaction

Value = Mapping[str, Any]

KEPT: Final = 1_000
"""The number of values kept for an aspect of an entity, unless the operator sets another one."""

FIRST: Final = -(2**53)
LAST: Final = 2**53
"""The range of times of a value."""

_SAME: Final = ("messageId", "eventGranularity", "partitionSpec")
_MARK_BYTES: Final = 12
_ALL: Final = 2**31 - 1
_MOST: Final = 10_000
"""The number of values removed in one step."""


class Window(NamedTuple):
    """A time range, both ends included, in milliseconds since the epoch."""

    first: int = FIRST
    last: int = LAST


EVER: Final = Window()


class TimedValue(NamedTuple):
    """A value as read, and the data that was written with it."""

    entity: Entity
    time: int
    mark: str
    value: Value
    system: Value


def written(
    transaction: WriteTransaction,
    realm: str,
    entity: Entity,
    aspect: str,
    value: Value,
    system: Value,
) -> None:
    """Stores a value; replaces an equal one.

    Raises `BadInput` if the value does not contain its time.
    """
    time = _time(aspect, value)
    body = {"value": dict(value), "system": dict(system)}
    transaction.change(realm, ValueChanged(entity, aspect, time, mark_of(value), body))


def trimmed(
    transaction: WriteTransaction, realm: str, entity: Entity, aspect: str, limit: int
) -> None:
    """Removes the oldest values beyond `limit`."""
    rows = transaction.store.values(realm, entity, aspect, FIRST, LAST, _ALL, limit)
    _remove_values(transaction, realm, aspect, rows)


def _time(aspect: str, value: Value) -> int:
    time = value.get("timestampMillis")
    if isinstance(time, bool) or not isinstance(time, int) or not FIRST <= time <= LAST:
        raise BadInput("expected milliseconds since the epoch", where=f"{aspect}.timestampMillis")
    return time


def mark_of(value: Value) -> str:
    """A mark that distinguishes values of one time."""
    same = {name: value.get(name) for name in _SAME}
    text = json.dumps(same, sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=_MARK_BYTES).hexdigest()


def dropped(
    transaction: WriteTransaction, realm: str, entity: Entity, aspect: str, window: Window = EVER
) -> int:
    """Removes values; returns their number."""
    rows = transaction.store.values(realm, entity, aspect, *window, _ALL)
    _remove_values(transaction, realm, aspect, rows)
    return len(rows)


def truncated(
    transaction: WriteTransaction, realm: str, type: str, aspect: str, window: Window
) -> int:
    """Removes the values of all entities of a type; returns their number."""
    rows = list(transaction.store.values_of(realm, type, aspect, *window, None))
    _remove_values(transaction, realm, aspect, rows)
    return len(rows)


def _remove_values(
    transaction: WriteTransaction, realm: str, aspect: str, rows: Sequence[ValueRow]
) -> None:
    for start in range(0, len(rows), _MOST):
        part = rows[start : start + _MOST]
        removed: list[Effect] = [
            ValueChanged(row.entity, aspect, row.time, row.mark, None) for row in part
        ]
        transaction.change(realm, *removed)


def values(
    reading: Reading,
    realm: str,
    entity: Entity,
    aspect: str,
    window: Window = EVER,
    limit: int = _ALL,
) -> list[TimedValue]:
    """The values of an aspect of an entity, newest first."""
    return [_timed(row) for row in reading.values(realm, entity, aspect, *window, limit)]


def of_type(
    reading: Reading,
    realm: str,
    type: str,
    aspect: str,
    window: Window,
    after: ValuePlace | None,
    limit: int,
) -> list[TimedValue]:
    """A page of the values of all entities of a type after a place, newest first."""
    rows = reading.values_of(realm, type, aspect, *window, after)
    return [_timed(row) for row in islice(rows, limit)]


def _timed(row: ValueRow) -> TimedValue:
    body: Any = row.body
    return TimedValue(row.entity, row.time, row.mark, body["value"], body.get("system", {}))
