"""What is broken off leaves nothing; what is not loaded allows nothing; what is big is whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lakewarden.kernel.change import EntityAdded, EntityDropped, EntityRenamed, MembershipChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Conflict, Unavailable, Unknown
from lakewarden.kernel.principal import members_of
from lakewarden.kernel.relations import MembershipRow
from lakewarden.service import grant as grants
from lakewarden.service.actor import SYSTEM
from lakewarden.service.desk import Desk
from lakewarden.service.plane import Plane
from lakewarden.store import SqlStore, open_store
from lakewarden.store.writing import SqlWriting
from tests.reliability import whole
from tests.reliability.estate import (
    ANA,
    OWNER,
    READ,
    REALM,
    SCHEMA,
    add_tables,
    build,
    check,
    create,
    put,
    table,
)
from tests.service.test_state import same

MANY = 100_000


class Cancelled(BaseException):
    """What ends a request from outside."""


@pytest.fixture
def store(url: str) -> Iterator[SqlStore]:
    with open_store(url) as opened:
        yield opened


def opened(store: SqlStore) -> Plane:
    plane = Plane(store)
    plane.open()
    return plane


def steps() -> list[Callable[[Desk], object]]:
    """What a write of several parts does, one after the other."""
    return [
        lambda desk: create(desk, table("new")),
        lambda desk: grants.give(desk, REALM, ANA, {table("new"): READ}),
        lambda desk: desk.change(REALM, EntityRenamed(table("old"), table("renamed").name)),
        lambda desk: desk.change(REALM, EntityDropped(table("gone"))),
        lambda desk: desk.change(
            REALM, MembershipChanged(MembershipRow(OWNER, members_of("lk")), False)
        ),
    ]


@pytest.mark.parametrize("error", [Cancelled, Conflict, MemoryError])
@pytest.mark.parametrize("at", range(6))
def test_a_write_that_is_broken_off_anywhere_leaves_nothing(
    store: SqlStore, at: int, error: type[BaseException]
) -> None:
    plane = opened(store)
    build(plane)
    add_tables(plane, table("old"), table("gone"))
    put(plane, table("gone"), allowed=True)
    before, revision = plane.state, store.revision()

    def broken_off(desk: Desk) -> None:
        for number, step in enumerate(steps()):
            if number == at:
                raise error
            step(desk)
        raise error

    with pytest.raises(error):
        plane.write(SYSTEM, broken_off)
    assert plane.state is before
    assert store.revision() == revision
    assert same(opened(store).state, before)
    assert whole.faults(store) == []
    assert check(plane, table("gone"))
    add_tables(plane, table("after"))  # the lock is free


class Failing:
    """A store whose transaction breaks off at one of its own steps."""

    def __init__(self, store: SqlStore, step: str) -> None:
        self._store = store
        self._step = step

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @contextmanager
    def writing(self, *, late: bool = False) -> Iterator[SqlWriting]:
        with self._store.writing(late=late) as writing:

            def fail(*_: object) -> int:
                raise Cancelled

            setattr(writing, self._step, fail)
            yield writing


@pytest.mark.parametrize("step", ["apply", "commit", "_record", "_numbered"])
def test_a_transaction_that_is_broken_off_at_any_step_of_its_own_leaves_nothing(
    store: SqlStore, step: str
) -> None:
    plane = opened(store)
    build(plane)
    before = plane.state
    plane.store = Failing(store, step)
    with pytest.raises(Cancelled):
        add_tables(plane, table(0))
    assert plane.state is before
    plane.store = store
    assert plane.catch_up() is before
    add_tables(plane, table(0))
    assert whole.faults(store) == []


class Away:
    """A store that cannot be reached."""

    def __getattr__(self, name: str) -> Any:
        raise Unavailable("the store does not answer: connection refused")


def test_with_the_store_away_at_the_start_nothing_is_ready_and_nothing_allowed() -> None:
    plane = Plane(Away())
    with pytest.raises(Unavailable):
        plane.open()
    assert plane.current(plane.clock()) is None
    with pytest.raises(Unavailable):
        check(plane, table(0))
    with pytest.raises(Unavailable):
        plane.write(SYSTEM, lambda desk: None)
    with pytest.raises(Unknown, match="there are: none"):
        plane.state.realm(REALM)


def test_a_plane_that_was_never_opened_catches_up_before_it_answers(store: SqlStore) -> None:
    build(opened(store))
    plane = Plane(store)
    assert plane.current(plane.clock()) is None
    assert check(plane, table(0)) is False
    assert same(plane.state, opened(store).state)


def _bring(desk: Desk, *last: Entity) -> None:
    tables = [table(number) for number in range(MANY)]
    desk.change(REALM, *(EntityAdded(each, SCHEMA) for each in (*tables, *last)))


@pytest.mark.slow
def test_a_hundred_thousand_rows_are_all_there(store: SqlStore) -> None:
    plane, other = opened(store), opened(store)
    build(plane)
    plane.write(SYSTEM, _bring, late=True)
    assert len(plane.state.realm(REALM).matrix.snapshot.coded.tree.stored) == MANY + 3
    other.catch_up()
    assert other.state.realm(REALM).matrix.snapshot.coded.is_known(table(MANY - 1))
    with store.reading() as reading:
        assert len(reading.ids(REALM, [table(number) for number in range(MANY)])) == MANY


@pytest.mark.slow
def test_of_a_hundred_thousand_rows_with_a_wrong_one_none_is_there(store: SqlStore) -> None:
    plane = opened(store)
    build(plane)
    before = plane.state
    with pytest.raises(Conflict):
        plane.write(SYSTEM, lambda desk: _bring(desk, table(0)), late=True)
    assert plane.catch_up() is before
    assert same(opened(store).state, before)
