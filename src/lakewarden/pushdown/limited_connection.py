"""Connections to PostgreSQL that do not hang forever if a server is frozen or unreachable.

A time limit that the server enforces has no effect when the server is frozen.
"""

from __future__ import annotations

from collections.abc import Generator
from time import monotonic
from typing import Any, Final, TypeVar

import psycopg

ANSWER_S: Final = 120
"""The time limit of one statement: a grant on all tables of a large catalog takes some seconds."""

R = TypeVar("R")


class LimitedConnection(psycopg.Connection[Any]):
    """A connection whose statements complete within `answer_s` seconds or fail."""

    answer_s: float = ANSWER_S

    def wait(self, gen: Generator[Any, Any, R], *args: Any, **options: Any) -> R:
        """Waits for a response. Raises `OperationalError` when none arrives in time."""
        return super().wait(self._limited(gen), *args, **options)

    def _limited(self, gen: Generator[Any, Any, R]) -> Generator[Any, Any, R]:
        """The same generator, which regains control at intervals to check the time limit."""
        until = monotonic() + self.answer_s
        try:
            state = next(gen)
            while True:
                ready = yield state
                if ready:
                    until = monotonic() + self.answer_s
                elif monotonic() > until:
                    # Without a close, the rollback would wait for as long again.
                    self.close()
                    message = f"no response within {self.answer_s:g} seconds"
                    raise psycopg.OperationalError(message)
                state = gen.send(ready)
        except StopIteration as end:
            result: R = end.value
            return result
