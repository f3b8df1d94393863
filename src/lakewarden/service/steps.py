"""Steps of a request: what it read, wrote, decided and called, and when.

A trace shows them below the request. They are timed only inside `recording`, in the same thread;
elsewhere `step` does nothing. Steps name the action, never its object.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final

MOST: Final = 64
"""The most recorded steps of a request; further ones are counted."""

SHORTEST: Final = 0.001
"""Shorter waits, in seconds, are no steps: a span costs more than it is worth."""


@dataclass(slots=True)
class Step:
    """A step, with `begun` and `ended` of `time.perf_counter`; None: it has not ended.

    `parent` is the number of the enclosing step, `count` the number of consecutive steps of the
    same kind, `calls` the called system. A call that raises has `failed`.
    """

    name: str
    begun: float
    ended: float | None = None
    parent: int | None = None
    calls: str = ""
    count: int = 1
    failed: bool = False


@dataclass(slots=True)
class Steps:
    """The steps of one request, in the order of their beginning; one thread at a time adds."""

    found: list[Step] = field(default_factory=list)
    dropped: int = 0
    _open: list[int] = field(default_factory=list)

    def add_finished(self, name: str, begun: float) -> None:
        """Adds a step that ends now, if it is long enough (`SHORTEST`)."""
        now = time.perf_counter()
        if now - begun >= SHORTEST and self._is_below_limit():
            parent = self._open[-1] if self._open else None
            self.found.append(Step(name, begun, now, parent))

    def begin(self, name: str, calls: str) -> Step | None:
        """Begins a step; None: there are too many."""
        parent = self._open[-1] if self._open else None
        if self.found:
            last = self.found[-1]
            if (last.name, last.parent, last.ended is None) == (name, parent, False):
                last.count += 1
                last.ended = None
                self._open.append(len(self.found) - 1)
                return last
        if not self._is_below_limit():
            return None
        step = Step(name, time.perf_counter(), None, parent, calls)
        self.found.append(step)
        self._open.append(len(self.found) - 1)
        return step

    def end(self, step: Step, *, failed: bool) -> None:
        """Ends the step that began last."""
        self._open.pop()
        step.failed = step.failed or (failed and bool(step.calls))
        step.ended = time.perf_counter()

    def _is_below_limit(self) -> bool:
        if len(self.found) < MOST:
            return True
        self.dropped += 1
        return False


_current: ContextVar[Steps | None] = ContextVar("steps", default=None)
_NOTHING: Final = nullcontext()


class _Timed:
    __slots__ = ("_calls", "_name", "_step", "_steps")

    def __init__(self, steps: Steps, name: str, calls: str) -> None:
        self._steps, self._name, self._calls = steps, name, calls

    def __enter__(self) -> None:
        self._step = self._steps.begin(self._name, self._calls)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._step is not None:
            self._steps.end(self._step, failed=kind is not None)


class _Recording:
    __slots__ = ("_steps", "_token")

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def __enter__(self) -> None:
        self._token: Token[Steps | None] = _current.set(self._steps)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _current.reset(self._token)


def step(name: str, *, calls: str = "") -> AbstractContextManager[None]:
    """A context manager: the work inside is a step of the request, if steps are recorded.

    Consecutive steps of the same name are recorded as one, with their number.

    >>> recorded = Steps()
    >>> with recording(recorded), step("write"):
    ...     for _ in range(3):
    ...         with step("decide"):
    ...             pass
    >>> [(each.name, each.parent, each.count) for each in recorded.found]
    [('write', None, 1), ('decide', 0, 3)]
    """
    steps = _current.get()
    return _NOTHING if steps is None else _Timed(steps, name, calls)


def recording(steps: Steps | None) -> AbstractContextManager[None]:
    """A context manager: inside, this thread's steps are recorded; with None, nothing is."""
    return _NOTHING if steps is None else _Recording(steps)
