"""The freshness of the state that answers a request, and its proof.

By default a request is decided on the newest state at the time it arrived, or on a newer one. One
query to the store proves this for a whole group of requests. A request that arrives while a query
is in progress may follow a write that this query did not see, so it waits for the next query.

| request or condition               | answered from                                      |
|------------------------------------|----------------------------------------------------|
| nothing, or `fresh`                | the newest state                                   |
| a number of seconds                | any state that was proven newest within that time  |
| at least a revision                | a state of that revision or later, else 409        |
| the store is unreachable           | the last proven state, marked as stale; then 503   |
| the store is of a newer release    | nothing: 503                                       |
| its file was removed or replaced   | nothing: 503                                       |
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
from lakewarden.store.compatibility import IncompatibleSchema
from lakewarden.store.sqlite_file import FileReplaced

AT_LEAST: Final = "lakewarden-at-least"
"""Request header: the oldest revision that may answer."""

CONSISTENCY: Final = "lakewarden-consistency"
"""Request header (and query parameter `consistency`): `fresh`, or the allowed age in seconds."""

STALE: Final = "lakewarden-stale"
"""Response header: how old the answer may be, in seconds, while the store is unreachable."""

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
    """A state, and its possible age in seconds if the store could not confirm it."""

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
        """The decision service was just loaded: its state is proven."""
        self._proven = self._clock()

    def current_state(self, consistency: Consistency, now: float) -> State | None:
        """A state that satisfies the request without waiting; else None."""
        state = self._service.current(now)
        if state is not None:
            self._proven = self._clock()
        elif consistency.age and self._clock() - self._proven <= consistency.age:
            state = self._service.state if self._service.state.covers(now) else None
        return state if state is not None and state.revision >= consistency.at_least else None

    async def state(self, consistency: Consistency = NEWEST) -> FreshState:
        """A state that satisfies the request.

        Raises `StaleRevision` for a revision that does not appear within the time allowed,
        `Unavailable` once the store has been unreachable for too long, and at once
        `IncompatibleSchema` if a newer release has locked this one out, and `FileReplaced`.
        """
        begun = self._clock()
        while True:
            ready = self.current_state(consistency, self._service.clock())
            if ready is not None:
                return FreshState(ready)
            try:
                state = await asyncio.wait_for(self._newest(), self._wait_seconds)
            except (IncompatibleSchema, FileReplaced):  # it will not answer this process again
                raise
            except (TimeoutError, Unavailable, StaleSnapshot) as error:
                last = self._last(consistency)
                if last is not None:
                    return last
                is_slow = isinstance(error, TimeoutError)
                if is_slow and self._clock() - begun < self._patience_seconds:
                    continue
                raise Unavailable("the store cannot be reached") from error
            if state.revision >= consistency.at_least:
                return FreshState(state)
            if self._clock() - begun >= self._wait_seconds:
                unknown = f"revision `{consistency.at_least}` is unknown"
                raise StaleRevision(f"{unknown}; the newest is `{state.revision}`")
            await asyncio.sleep(_PAUSE_SECONDS)

    def _last(self, consistency: Consistency) -> FreshState | None:
        """The last proven state, while its age is within the limit (R-23)."""
        state, age = self._service.state, self._clock() - self._proven
        good = state.covers(self._service.clock()) and state.revision >= consistency.at_least
        return FreshState(state, stale=age) if good and age <= self._stale_seconds else None

    async def _newest(self) -> State:
        """The newest state from now on; one query serves all requests that wait."""
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        waiting = self._next
        if not self._is_asking:
            self._is_asking = True
            reading = asyncio.create_task(self._refresh_while_awaited())
            reading.add_done_callback(_retain)
        # Cancelling one waiting request must not cancel the query for the others.
        return await asyncio.shield(waiting)

    async def _refresh_while_awaited(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._next is not None:
                group, self._next = self._next, None
                begun = self._clock()
                metrics.QUESTIONS.inc()
                try:
                    state = await loop.run_in_executor(self._executor, self._service.catch_up)
                except Exception as error:  # noqa: BLE001 — every waiting request gets it
                    group.set_exception(error)
                    group.exception()
                else:
                    self._proven = max(self._proven, begun)
                    group.set_result(state)
        finally:
            self._is_asking = False


def _retain(_: object) -> None:
    """Keeps a reference to the task until it ends, so it is not garbage-collected."""
