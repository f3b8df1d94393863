"""Whether a store takes writes: a disk that is full, or was made read-only, still answers reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from lakewarden.kernel.errors import Unavailable


class Unwritable(Unavailable):
    """The store answers, and cannot write."""

    public: ClassVar[str] = "the store is not writable"


class Deadlocked(Unavailable):
    """Another write waited for what this one had changed, and it for the other; it may be redone.

    That happens to writes that lock late: what they change is theirs before the others are held up.
    """


class WriteHealth:
    """Why writes fail, by the last attempt. Thread-safe."""

    def __init__(self) -> None:
        self.fault = ""
        """Empty while they do not fail."""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watches a write; conflicts and lock failures do not count."""
        try:
            yield
        except Unwritable as error:
            self.fault = str(error)
            raise

    def succeeded(self) -> None:
        """A write of the size of many was stored."""
        self.fault = ""
