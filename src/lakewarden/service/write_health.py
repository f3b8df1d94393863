"""Whether a store accepts writes: with a full or read-only disk, it still answers reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from lakewarden.kernel.errors import Unavailable


class Unwritable(Unavailable):
    """The store answers, but cannot write."""

    public: ClassVar[str] = "the store is not writable"


class Deadlocked(Unavailable):
    """A deadlock: this write and another one waited for each other's changes; it may be retried.

    It can happen to late-locking writes: they hold their changed rows before they block other
    writes.
    """


class WriteHealth:
    """The reason why writes fail, from the last attempt. Thread-safe."""

    def __init__(self) -> None:
        self.fault = ""
        """Empty while writes succeed."""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watches a write; conflicts and lock failures do not count."""
        try:
            yield
        except Unwritable as error:
            self.fault = str(error)
            raise

    def succeeded(self) -> None:
        """A write of the size of many writes was stored."""
        self.fault = ""
