"""How new the state is that answers a request, and what proves it.

Without a request to the contrary a request is decided on the newest state that there was when
it arrived, or on a newer one. One question to the store proves it for a whole group: requests
that arrive while a question is under way may have been preceded by a write that it did not see,
so they wait for the next one.

| asked for                          | answered from                                      |
|------------------------------------|----------------------------------------------------|
| nothing, or `fresh`                | the newest state                                   |
| a number of seconds                | any state proven newest no longer ago than that    |
| at least a revision                | a state of that revision or later, else 409        |
| the store cannot be reached        | the last proven state, and says so; then 503       |
| the store is of a newer release    | nothing: 503                                       |
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Final

from lakewarden.app import metrics
from lakewarden.kernel.errors import BadInput, StaleSnapshot, Unavailable
from lakewarden.service.decision_service import DecisionService, StaleRevision
from lakewarden.service.state import State
from lakewarden.store.compatibility import Outgrown

AT_LEAST: Final = "lakewarden-at-least"
"""Request header: the revision that the answer must not be older than."""

CONSISTENCY: Final = "lakewarden-consistency"
"""Request header (and query parameter `consistency`): `fresh`, or seconds of age allowed."""

STALE: Final = "lakewarden-stale"
"""Response header: how old, in seconds, the answer may be, the store being out of reach."""

MAX_AGE_SECONDS: Final = 3_600.0

_PAUSE_SECONDS = 0.02
_MAX_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Consistency:
    """The freshness that a request requires: a revision, and an age in seconds."""

    at_least: int = 0
    age: float = 0.0


NEWEST: Final = Consistency()


@dataclass(frozen=True, slots=True)
class FreshState:
    """A state, and how old it may be, in seconds, where that could not be found out."""

    state: State
    stale: float | None = None


def read_consistency(at_least: str | None, consistency: str | None) -> Consistency:
    """The freshness that the caller requires; raises `BadInput`.

    >>> read_consistency("17", "0.5")
    Consistency(at_least=17, age=0.5)
    """
    return Consistency(_revision(at_least), _age(consistency))


def _revision(text: str | None) -> int:
    if text is None:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise BadInput("expected a revision, as returned in an answer", where=AT_LEAST)
    return int(text)


def _age(text: str | None) -> float:
    if text is None or text == "fresh":
        return 0.0
    plain = text.isascii() and text.replace(".", "", 1).isdigit() and len(text) <= _MAX_DIGITS
    age = float(text) if plain else -1.0
    if not 0.0 <= age <= MAX_AGE_SECONDS:
        expected = f"`fresh` or at most {MAX_AGE_SECONDS:.0f} seconds, as `0.5`"
        raise BadInput(f"expected {expected}", where=CONSISTENCY)
    return age


class Freshness:
    """Gives each request its state. Belongs to one event loop; `executor` queries the store."""

    def __init__(
        self,
        service: DecisionService,
        executor: Executor,
        *,
        wait_seconds: float = 2.0,
        stale_seconds: float = 5.0,
        patience_seconds: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._service = service
        self._executor = executor
        self._wait_seconds = wait_seconds
        self._stale_seconds = stale_seconds
        self._patience_seconds = patience_seconds
        self._clock = clock
        self._proven = -float("inf")
        self._next: asyncio.Future[State] | None = None
        self._is_asking = False

    def opened(self) -> None:
        """The decision service was loaded just now: its state is proven."""
        self._proven = self._clock()

    def at_once(self, wish: Consistency, now: float) -> State | None:
        """A state that will do, where it takes no waiting."""
        state = self._service.current(now)
        if state is not None:
            self._proven = self._clock()
        elif wish.age and self._clock() - self._proven <= wish.age:
            state = self._service.state if self._service.state.covers(now) else None
        return state if state is not None and state.revision >= wish.at_least else None

    async def state(self, wish: Consistency = NEWEST) -> FreshState:
        """A state that will do.

        Raises `StaleRevision` for a revision that is not there within the time allowed,
        `Unavailable` once the store has been out of reach for too long, and `Outgrown` at once
        where a newer release shut this one out.
        """
        begun = self._clock()
        while True:
            ready = self.at_once(wish, self._service.clock())
            if ready is not None:
                return FreshState(ready)
            try:
                state = await asyncio.wait_for(self._newest(), self._wait_seconds)
            except Outgrown:  # the store is there, and its answer is no
                raise
            except (TimeoutError, Unavailable, StaleSnapshot) as error:
                last = self._last(wish)
                if last is not None:
                    return last
                is_slow = isinstance(error, TimeoutError)
                if is_slow and self._clock() - begun < self._patience_seconds:
                    continue
                raise Unavailable("the store cannot be reached") from error
            if state.revision >= wish.at_least:
                return FreshState(state)
            if self._clock() - begun >= self._wait_seconds:
                raise StaleRevision(
                    f"revision `{wish.at_least}` is unknown; the newest is `{state.revision}`"
                )
            await asyncio.sleep(_PAUSE_SECONDS)

    def _last(self, wish: Consistency) -> FreshState | None:
        """The last proven state, while it may still be used (R-23)."""
        state, age = self._service.state, self._clock() - self._proven
        good = state.covers(self._service.clock()) and state.revision >= wish.at_least
        return FreshState(state, stale=age) if good and age <= self._stale_seconds else None

    async def _newest(self) -> State:
        """The newest state that there is from now on; asked for together with others."""
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        waiting = self._next
        if not self._is_asking:
            self._is_asking = True
            reading = asyncio.create_task(self._ask_while_waited_for())
            reading.add_done_callback(_nothing)
        # One waiting request that is given up must not take the answer from the others.
        return await asyncio.shield(waiting)

    async def _ask_while_waited_for(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._next is not None:
                group, self._next = self._next, None
                begun = self._clock()
                metrics.QUESTIONS.inc()
                try:
                    state = await loop.run_in_executor(self._executor, self._service.catch_up)
                except Exception as error:  # noqa: BLE001 — each who waits gets to see it
                    group.set_exception(error)
                    group.exception()
                else:
                    self._proven = max(self._proven, begun)
                    group.set_result(state)
        finally:
            self._is_asking = False


def _nothing(_: object) -> None:
    """Keeps the task from being collected before its end."""
