"""Usage: daily counts of allowed operations, in memory until they are written.

Counted are successful acts and single questions with the answer yes; not lists, filters and
batches, which ask about many things that are then not used. Counting never delays a response, and
counts that could not be written are kept for the next write.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Unavailable
from lakewarden.service.ports import Store

MOST: Final = 200_000
"""The most different counts in memory; further ones are counted as lost."""

_DAY_SECONDS = 86_400
_MOST_UNSORTED = 1_000

Key = tuple[str, str, str, Entity]
"""Realm, user, operation and entity, in the realm's own spelling."""


class Usage:
    """The counts of one process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._acts: deque[tuple[int, str, str, str, str, str]] = deque()
        self._days: dict[int, dict[Key, int]] = {}
        self._size = 0
        self.lost = 0

    def count(
        self, realm: str, user: str, operation: str, type: str, name: str, now: float
    ) -> None:
        """Counts an act on the entity of that type and name; `now` in seconds since the epoch."""
        # COST: 0.2 µs; acts are aggregated in batches.
        self._acts.append((int(now // _DAY_SECONDS), realm, user, operation, type, name))
        if len(self._acts) >= _MOST_UNSORTED:
            with self._lock:
                self._merge_pending()

    def add(
        self, realm: str, user: str, operation: str, on: Entity, now: float, number: int
    ) -> None:
        """Adds a number of acts."""
        with self._lock:
            self._add(int(now // _DAY_SECONDS), {(realm, user, operation, on): number})

    def _merge_pending(self) -> None:
        acts = Counter(self._acts.popleft() for _ in range(len(self._acts)))
        for (day, realm, user, operation, type, name), number in acts.items():
            self._add(day, {(realm, user, operation, Entity(type, name)): number})

    def _add(self, day: int, counts: Mapping[Key, int]) -> None:
        total = self._days.setdefault(day, {})
        for key, number in counts.items():
            if key in total:
                total[key] += number
            elif self._size < MOST:
                total[key] = number
                self._size += 1
            else:
                self.lost += number

    def write(self, store: Store) -> None:
        """Adds the counts to those in the store. Raises `Unavailable`, and then keeps them."""
        with self._lock:
            self._merge_pending()
            days, self._days, self._size = self._days, {}, 0
        for day, counts in list(days.items()):
            try:
                self.lost += store.add_usage(_date(day), counts)
            except Unavailable:
                with self._lock:
                    for unwritten_day, unwritten in days.items():
                        self._add(unwritten_day, unwritten)
                raise
            del days[day]

    def pending(self) -> Iterator[tuple[str, Key, int]]:
        """The counts not written yet: day, key and count."""
        with self._lock:
            self._merge_pending()
            days = {day: dict(counts) for day, counts in self._days.items()}
        for day, counts in sorted(days.items()):
            for key, number in counts.items():
                yield _date(day), key, number


def _date(day: int) -> str:
    return datetime.fromtimestamp(day * _DAY_SECONDS, UTC).date().isoformat()
