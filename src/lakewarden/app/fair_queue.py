"""Runs handlers in threads that callers share fairly.

A caller uses at most its share of the threads; its further requests wait. Waiting callers take
turns, no matter how many requests each has. The waiting requests are limited per caller and in
total; a request beyond these limits is refused, and the caller may retry it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import ClassVar, Final, Generic, TypeVar

from lakewarden.kernel.errors import Unavailable

T = TypeVar("T")

THREADS: Final = 16
"""Handlers that run at the same time; writes wait for each other anyway."""


class TooManyWaiting(Unavailable):
    """Too many requests are already waiting."""

    public: ClassVar[str] = "too many requests are waiting; try again later"

    def __init__(self) -> None:
        super().__init__(self.public)


class FairQueue(Generic[T]):
    """Runs callers' work in the threads of an executor. Belongs to one event loop.

    At most `threads` jobs run at the same time, `share` of them for one caller; at most `waiting`
    requests wait, `caller_waiting` of them for one caller.
    """

    def __init__(
        self, executor: Executor, *, threads: int, share: int, waiting: int, caller_waiting: int
    ) -> None:
        self._executor = executor
        self._threads = threads
        self._share = share
        self._waiting = waiting
        self._caller_waiting = caller_waiting
        self._running: Counter[str] = Counter()
        self._queues: OrderedDict[str, deque[_Turn[T]]] = OrderedDict()
        self._queued = 0

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        return self._queued

    def submit(self, caller: str, work: Callable[[], T]) -> asyncio.Future[T]:
        """The future result of the work; work that is cancelled while it waits is not run.

        Raises `TooManyWaiting`.
        """
        turn = _Turn(caller, work, asyncio.get_running_loop().create_future())
        queue = self._queues.get(caller)
        if queue is None and self._may_run(caller):
            self._run(turn)
            return turn.result
        if self._queued >= self._waiting or (queue and len(queue) >= self._caller_waiting):
            raise TooManyWaiting
        self._queues.setdefault(caller, deque()).append(turn)
        self._queued += 1
        turn.result.add_done_callback(lambda _: self._withdraw(turn))
        return turn.result

    def _may_run(self, caller: str) -> bool:
        return self._running.total() < self._threads and self._running[caller] < self._share

    def _run(self, turn: _Turn[T]) -> None:
        self._running[turn.caller] += 1
        working = asyncio.get_running_loop().run_in_executor(self._executor, turn.work)
        working.add_done_callback(lambda done: self._finish(turn, done))

    def _finish(self, turn: _Turn[T], done: asyncio.Future[T]) -> None:
        """Releases the thread of a finished job, and passes its result on."""
        self._running[turn.caller] -= 1
        if not self._running[turn.caller]:
            del self._running[turn.caller]
        error = None if done.cancelled() else done.exception()
        if not turn.result.done():
            if done.cancelled():
                turn.result.cancel()
            elif error is not None:
                turn.result.set_exception(error)
            else:
                turn.result.set_result(done.result())
        self._run_next()

    def _run_next(self) -> None:
        for caller in list(self._queues):
            if not self._may_run(caller):
                continue
            turn = self._queues[caller][0]
            self._remove(turn)
            if caller in self._queues:
                self._queues.move_to_end(caller)
            self._run(turn)
            return

    def _withdraw(self, turn: _Turn[T]) -> None:
        """Removes a turn that ended before it started."""
        if turn in self._queues.get(turn.caller, ()):
            self._remove(turn)

    def _remove(self, turn: _Turn[T]) -> None:
        queue = self._queues[turn.caller]
        queue.remove(turn)
        self._queued -= 1
        if not queue:
            del self._queues[turn.caller]


class _Turn(Generic[T]):
    """A job that waits for a thread; compared by identity."""

    def __init__(self, caller: str, work: Callable[[], T], result: asyncio.Future[T]) -> None:
        self.caller = caller
        self.work = work
        self.result = result
