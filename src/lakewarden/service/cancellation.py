"""Cancellation of work: the client disconnected, or the time limit was exceeded.

Long computations and reads call `check` at their steps, in the working thread. The waiting caller
cancels from any thread. Outside `working` nothing is ever cancelled, and neither is anything inside
`shielded`: a commit that has begun is finished.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ClassVar, Final, TypeVar

from lakewarden.kernel.errors import Unavailable

T = TypeVar("T")

_ITEMS: Final = 1_000


class Cancelled(Unavailable):
    """The work was cancelled: no client waits for the result."""

    public: ClassVar[str] = "the request was cancelled"

    def __init__(self) -> None:
        super().__init__(self.public)


class Cancellation:
    """Whether one piece of work was cancelled. Thread-safe."""

    def __init__(self) -> None:
        self.is_cancelled = False
        self._lock = threading.Lock()
        self._interrupts: list[Callable[[], object]] = []

    def cancel(self) -> None:
        """Cancels the work: its next `check` raises. Does not block."""
        self.is_cancelled = True

    def interrupt(self) -> None:
        """Interrupts the operation that the cancelled work waits for. May block."""
        with self._lock:
            for interrupt in self._interrupts:
                interrupt()

    @contextmanager
    def interrupting(self, interrupt: Callable[[], object]) -> Iterator[None]:
        """While inside, `interrupt` interrupts this work; it is called in another thread.

        Raises `Cancelled` if the work was already cancelled.
        """
        with self._lock:
            if self.is_cancelled:
                raise Cancelled
            self._interrupts.append(interrupt)
        try:
            yield
        finally:
            with self._lock:
                self._interrupts.remove(interrupt)


_current: ContextVar[Cancellation | None] = ContextVar("cancellation", default=None)


def current() -> Cancellation | None:
    """The cancellation of this thread's work; None if it cannot be cancelled."""
    return _current.get()


def is_cancelled() -> bool:
    """Whether the work of this thread was cancelled."""
    cancellation = _current.get()
    return cancellation is not None and cancellation.is_cancelled


def check() -> None:
    """Raises `Cancelled` if the work of this thread was cancelled."""
    cancellation = _current.get()
    if cancellation is not None and cancellation.is_cancelled:
        raise Cancelled


def checked(items: Iterable[T], every: int = _ITEMS) -> Iterator[T]:
    """The items, with a `check` before the first of every `every` items."""
    for number, item in enumerate(items):
        if number % every == 0:
            check()
        yield item


@contextmanager
def working(cancellation: Cancellation) -> Iterator[None]:
    """Inside, the work of this thread can be cancelled."""
    token = _current.set(cancellation)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def shielded() -> Iterator[None]:
    """Inside, the work of this thread is finished; raises `Cancelled` instead of starting it."""
    check()
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)
