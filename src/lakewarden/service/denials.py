"""Reads that were denied: the first of its kind at once into the audit trail, the others counted.

Writes that are denied are audited one by one. Of denied reads whoever asks could make as many
as it likes, so of each kind (realm, user, operation) there is one row a minute at most, which
says how many it stands for. SOURCE: security reference, section 2 (Vault) and R-50.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

EVERY: Final = 60.0
"""Seconds between two rows of one kind."""

MOST: Final = 10_000
"""So many kinds are remembered; of the one that was forgotten the next is written at once."""

Kind = tuple[str, str, str]
"""Realm, user and operation."""


@dataclass(slots=True)
class _DenialCount:
    written: float
    since: int = 0


class Denials:
    """Counts the denied reads of one process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: OrderedDict[Kind, _DenialCount] = OrderedDict()

    def count(self, realm: str, user: str, operation: str, now: float) -> int:
        """Counts a denied read. Returns the number of reads to audit now; 0: write no row."""
        kind = (realm, user, operation)
        with self._lock:
            count = self._seen.pop(kind, None)
            if count is None:
                count = _DenialCount(now - EVERY)
            self._seen[kind] = count
            if len(self._seen) > MOST:
                self._seen.popitem(last=False)
            count.since += 1
            if now - count.written < EVERY:
                return 0
            stands_for, count.since, count.written = count.since, 0, now
            return stands_for
