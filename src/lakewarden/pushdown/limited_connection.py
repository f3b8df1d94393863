"""Connections to PostgreSQL that a server which is frozen, or out of reach, does not hold for ever.

A limit that the server keeps by itself is none where it is frozen.
"""

from __future__ import annotations

from collections.abc import Generator
from time import monotonic
from typing import Any, Final, TypeVar

import psycopg

ANSWER_S: Final = 120
"""How long one statement may take: a grant on all tables of a large catalog takes some seconds."""

R = TypeVar("R")


class LimitedConnection(psycopg.Connection[Any]):
    """A connection whose statements are answered within `answer_s` seconds, or fail."""

    answer_s: float = ANSWER_S

    def wait(self, gen: Generator[Any, Any, R], *args: Any, **options: Any) -> R:
        """Waits for an answer. Raises `OperationalError` when there is none for too long."""
        return super().wait(self._limited(gen), *args, **options)

    def _limited(self, gen: Generator[Any, Any, R]) -> Generator[Any, Any, R]:
        """The same, told every now and then whether there is news."""
        until = monotonic() + self.answer_s
        try:
            state = next(gen)
            while True:
                ready = yield state
                if ready:
                    until = monotonic() + self.answer_s
                elif monotonic() > until:
                    # What is not closed would wait for as long again, to roll back.
                    self.close()
                    message = f"it gave no answer within {self.answer_s:g} seconds"
                    raise psycopg.OperationalError(message)
                state = gen.send(ready)
        except StopIteration as end:
            result: R = end.value
            return result
