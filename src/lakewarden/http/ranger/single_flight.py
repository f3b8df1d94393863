"""A value that takes long to make, for callers who must not wait for long."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock, Semaphore, Thread
from typing import Final, Generic, TypeVar

from lakewarden.kernel.errors import Unavailable

T = TypeVar("T")

PATIENCE_SECONDS: Final = 5.0
"""The time that a caller waits. Meanwhile it holds one of the request threads."""

_AT_ONCE: Final = Semaphore(1)
"""One value at a time is made in a process, so that requests get their share of the CPU."""


class SingleFlight(Generic[T]):
    """The newest value, made by a thread of its own, one at a time.

    A caller gets a value that is current at the time of the call, or becomes so within its
    patience. Otherwise it gets the newest value made so far: a value that keeps changing while it
    is requested would otherwise never be returned.
    """

    def __init__(self, patience: float = PATIENCE_SECONDS) -> None:
        self._patience = patience
        self._lock = Lock()
        self._newest: T | None = None
        self._making: Future[T] | None = None

    def newest(self, is_current: Callable[[T], bool], make: Callable[[T | None], T]) -> T:
        """The current value, or the newest that exists.

        `make` gets the previous one. Raises what `make` raises, and `Unavailable` if there is no
        value yet.
        """
        for _ in range(2):  # the value in progress may be outdated
            with self._lock:
                newest = self._newest
                if newest is not None and is_current(newest):
                    return newest
                if self._making is None:
                    self._making = self._begin(make, newest)
                making = self._making
            with suppress(TimeoutError):
                value = making.result(self._patience)
                if is_current(value):
                    return value
                continue
            break
        with self._lock:
            if self._newest is not None:
                return self._newest
        raise Unavailable("the documents are being made; poll again")

    def _begin(self, make: Callable[[T | None], T], before: T | None) -> Future[T]:
        made: Future[T] = Future()

        def work() -> None:
            try:
                with _AT_ONCE:
                    value = make(before)
            except BaseException as error:  # noqa: BLE001 — it is raised in the waiting thread
                with self._lock:
                    self._making = None
                made.set_exception(error)
                return
            with self._lock:
                self._newest, self._making = value, None
            made.set_result(value)

        Thread(target=work, name="ranger documents", daemon=True).start()
        return made
