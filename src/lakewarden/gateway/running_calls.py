"""Limits the plans that a user may execute concurrently, so that nobody takes all threads."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from lakewarden.gateway.errors import TooManyCalls

MAX_CALLS_OF_USER: Final = 16


class RunningCalls:
    """The running calls of each user. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    @contextmanager
    def counted(self, user: str) -> Iterator[None]:
        """Counts a call of the user while it runs; raises `TooManyCalls`."""
        with self._lock:
            if self._counts[user] >= MAX_CALLS_OF_USER:
                raise TooManyCalls(f"more than {MAX_CALLS_OF_USER} plans are executed at a time")
            self._counts[user] += 1
        try:
            yield
        finally:
            with self._lock:
                self._counts[user] -= 1
                if not self._counts[user]:
                    del self._counts[user]
