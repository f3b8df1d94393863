"""Observes what happens while a write holds the store's lock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lakewarden.service.decision_service import DecisionService


class LockSpy:
    """A store that counts actions between the lock and the commit."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.locked = 0
        self.tasks = 0
        self.changes = 0
        self.events = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @contextmanager
    def writing(self, *, late: bool = False) -> Iterator[Any]:
        self.locked += 1
        with self._store.writing(late=late) as writing:
            apply, commit = writing.apply, writing.commit

            def applied(scope: str, effects: Any) -> None:
                self.changes += len(effects)
                apply(scope, effects)

            def committed(events: Any) -> int:
                self.events += len(events)
                revision: int = commit(events)
                return revision

            writing.apply, writing.commit = applied, committed
            yield writing


@contextmanager
def spied(service: DecisionService) -> Iterator[LockSpy]:
    """Puts a spy in front of the decision service's store. It counts `tasks` under the lock."""
    store, written = service.store, service._written
    spy = LockSpy(store)

    def seen(*arguments: Any, **named: Any) -> Any:
        # A late task takes the lock only when it changes something, which is counted.
        spy.tasks += not named["late"]
        return written(*arguments, **named)

    patched: Any = service
    patched.store, patched._written = spy, seen
    try:
        yield spy
    finally:
        patched.store = store
        del patched._written


@contextmanager
def only_recorded(service: DecisionService) -> Iterator[None]:
    """Fails if anything except the record of one refusal happens under the lock."""
    with spied(service) as spy:
        yield
    assert (spy.tasks, spy.changes) == (0, 0)
    assert spy.locked <= 1
    assert spy.events <= 1
