"""The store and the deciding state are read at the same revision, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from lakewarden.kernel.errors import Unavailable, Unknown
from lakewarden.service.aligned_reading import aligned_reading, reading_of


class Store:
    """A store whose revision is the next of a list at each read, and the states of it."""

    def __init__(self, *revisions: int) -> None:
        self.revisions = [*revisions]
        self.newest = revisions[0]
        self.realms: dict[str, Any] = {"lake": SimpleNamespace(realm=SimpleNamespace(name="lake"))}
        self.open = 0

    @contextmanager
    def reading(self) -> Iterator[Any]:
        self.newest = self.revisions.pop(0) if self.revisions else self.newest + 1
        self.open += 1
        try:
            yield SimpleNamespace(revision=self.newest)
        finally:
            self.open -= 1

    def catch_up(self) -> Any:
        return SimpleNamespace(revision=self.newest, realms=self.realms, realm=self._realm)

    def _realm(self, name: str) -> Any:
        if name not in self.realms:
            raise Unknown("realm", name)
        return self.realms[name]


def test_a_store_that_moved_on_is_read_at_its_newer_state() -> None:
    store: Any = Store(8, 8)
    old: Any = SimpleNamespace(revision=7, realms=store.realms)
    with aligned_reading(store, old) as (state, reading):
        assert (state.revision, reading.revision) == (8, 8)
    assert store.open == 0


def test_a_store_that_never_stands_still_is_not_read() -> None:
    store: Any = Store(1)
    old: Any = SimpleNamespace(revision=0, realms={})
    with pytest.raises(Unavailable, match="changed while it was read"):
        aligned_reading(store, old).__enter__()
    assert store.open == 0


def test_a_realm_is_read_as_it_is_at_that_moment() -> None:
    store: Any = Store(3)
    store.revisions = [4, 4]
    with reading_of(store, "lake") as (realm, reading):
        assert (realm, reading.revision) == (store.realms["lake"], 4)
    assert store.open == 0
    store.revisions = [4, 4]
    with pytest.raises(Unknown, match="gone"):
        reading_of(store, "gone").__enter__()
    assert store.open == 0
