"""Cancellation of work: the client disconnected, or the time limit was exceeded.

What computes or reads for long calls `check` at its steps, in the thread that works. Whoever
waits for the answer cancels from any thread. Outside of `working` nothing is ever cancelled, nor
inside of `shielded`: a commit that has begun is finished.
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
        """Gives the work up: its next `check` raises. Does not block."""
        self.is_cancelled = True

    def interrupt(self) -> None:
        """Interrupts what the cancelled work waits for. May block."""
        with self._lock:
            for interrupt in self._interrupts:
                interrupt()

    @contextmanager
    def interrupting(self, interrupt: Callable[[], object]) -> Iterator[None]:
        """While inside, `interrupt` is how this is interrupted; called in another thread.

        Raises `Cancelled` where the work was given up before.
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
    """That of the work of this thread, if it can be given up."""
    return _current.get()


def is_cancelled() -> bool:
    """Whether the work of this thread was given up."""
    cancellation = _current.get()
    return cancellation is not None and cancellation.is_cancelled


def check() -> None:
    """Raises `Cancelled` where the work of this thread was given up."""
    cancellation = _current.get()
    if cancellation is not None and cancellation.is_cancelled:
        raise Cancelled


def checked(items: Iterable[T], every: int = _ITEMS) -> Iterator[T]:
    """The items, with a `check` before the first of every so many."""
    for number, item in enumerate(items):
        if number % every == 0:
            check()
        yield item


@contextmanager
def working(cancellation: Cancellation) -> Iterator[None]:
    """What this thread does inside may be given up."""
    token = _current.set(cancellation)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def shielded() -> Iterator[None]:
    """What this thread does inside is finished; raises `Cancelled` instead of beginning it."""
    check()
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)
