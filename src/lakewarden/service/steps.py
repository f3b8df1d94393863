"""Steps of a request: what it read, wrote, decided and called, and when.

A trace shows them below the request. They are timed only inside of `recording`, in the thread
that is inside; elsewhere `step` does nothing. Steps name what is done, never on what.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final

MOST: Final = 64
"""So many steps of a request are kept; further ones are counted."""

SHORTEST: Final = 0.001
"""Waits of fewer seconds are no steps: a span costs more than they tell."""


@dataclass(slots=True)
class Step:
    """A step, with `begun` and `ended` of `time.perf_counter`; None: it goes on.

    `parent` is the number of the step that it is part of, `count` how many of the same kind
    followed on one another, `calls` the system that is called. A call that raises has `failed`.
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
    """The steps of one request, in the order in which they began; one thread at a time adds."""

    found: list[Step] = field(default_factory=list)
    dropped: int = 0
    _open: list[int] = field(default_factory=list)

    def waited(self, name: str, begun: float) -> None:
        """A step that ends now, if it was worth telling (`SHORTEST`)."""
        now = time.perf_counter()
        if now - begun >= SHORTEST and self._has_room():
            parent = self._open[-1] if self._open else None
            self.found.append(Step(name, begun, now, parent))

    def begin(self, name: str, calls: str) -> Step | None:
        """A step that begins; None: there are too many."""
        parent = self._open[-1] if self._open else None
        if self.found:
            last = self.found[-1]
            if (last.name, last.parent, last.ended is None) == (name, parent, False):
                last.count += 1
                last.ended = None
                self._open.append(len(self.found) - 1)
                return last
        if not self._has_room():
            return None
        step = Step(name, time.perf_counter(), None, parent, calls)
        self.found.append(step)
        self._open.append(len(self.found) - 1)
        return step

    def end(self, step: Step, *, failed: bool) -> None:
        """The step that began last ends."""
        self._open.pop()
        step.failed = step.failed or (failed and bool(step.calls))
        step.ended = time.perf_counter()

    def _has_room(self) -> bool:
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
    """What is done inside is a step of the request, if its steps are recorded.

    Steps of one name that follow on one another are told as one, with their number.

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
    """Inside, what this thread does is recorded there; with None nothing is."""
    return _NOTHING if steps is None else _Recording(steps)
