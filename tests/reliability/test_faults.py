"""Interrupted writes leave nothing; a missing state allows nothing; large writes are complete."""

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
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.write_transaction import WriteTransaction
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


class Cancelled(BaseException):
    """An external cancellation of a request."""


@pytest.fixture
def store(url: str) -> Iterator[SqlStore]:
    with open_store(url) as opened:
        yield opened


def opened(store: SqlStore) -> DecisionService:
    service = DecisionService(store)
    service.open()
    return service


def steps() -> list[Callable[[WriteTransaction], object]]:
    """The parts of a composite write, in order."""
    return [
        lambda transaction: create(transaction, table("new")),
        lambda transaction: grants.grant_privileges(transaction, REALM, ANA, {table("new"): READ}),
        lambda transaction: transaction.change(
            REALM, EntityRenamed(table("old"), table("renamed").name)
        ),
        lambda transaction: transaction.change(REALM, EntityDropped(table("gone"))),
        lambda transaction: transaction.change(
            REALM, MembershipChanged(MembershipRow(OWNER, members_of("lk")), False)
        ),
    ]


@pytest.mark.by_day(12)
@pytest.mark.parametrize("error", [Cancelled, Conflict, MemoryError])
@pytest.mark.parametrize("at", range(6))
def test_a_write_that_is_broken_off_anywhere_leaves_nothing(
    store: SqlStore, at: int, error: type[BaseException]
) -> None:
    service = opened(store)
    build(service)
    add_tables(service, table("old"), table("gone"))
    put(service, table("gone"), allowed=True)
    before, revision = service.state, store.revision()

    def broken_off(transaction: WriteTransaction) -> None:
        for number, step in enumerate(steps()):
            if number == at:
                raise error
            step(transaction)
        raise error

    with pytest.raises(error):
        service.write(SYSTEM, broken_off)
    assert service.state is before
    assert store.revision() == revision
    assert same(opened(store).state, before)
    assert whole.faults(store) == []
    assert check(service, table("gone"))
    add_tables(service, table("after"))  # the lock is free


class Failing:
    """A store whose transaction fails at one of its own steps."""

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
    service = opened(store)
    build(service)
    before = service.state
    service.store = Failing(store, step)
    with pytest.raises(Cancelled):
        add_tables(service, table(0))
    assert service.state is before
    service.store = store
    assert service.catch_up() is before
    add_tables(service, table(0))
    assert whole.faults(store) == []


class Away:
    """An unreachable store."""

    def __getattr__(self, name: str) -> Any:
        raise Unavailable("the store does not answer: connection refused")


def test_with_the_store_away_at_the_start_nothing_is_ready_and_nothing_allowed() -> None:
    service = DecisionService(Away())
    with pytest.raises(Unavailable):
        service.open()
    assert service.current(service.clock()) is None
    with pytest.raises(Unavailable):
        check(service, table(0))
    with pytest.raises(Unavailable):
        service.write(SYSTEM, lambda transaction: None)
    with pytest.raises(Unknown, match="there are: none"):
        service.state.realm(REALM)


def test_a_plane_that_was_never_opened_catches_up_before_it_answers(store: SqlStore) -> None:
    build(opened(store))
    service = DecisionService(store)
    assert service.current(service.clock()) is None
    assert check(service, table(0)) is False
    assert same(service.state, opened(store).state)


@pytest.fixture(params=[40_000, pytest.param(100_000, marks=pytest.mark.nightly)])
def many(request: pytest.FixtureRequest) -> int:
    """More rows than a statement, a page or a batch of any store."""
    number: int = request.param
    return number


def _bring(transaction: WriteTransaction, many: int, *last: Entity) -> None:
    tables = [table(number) for number in range(many)]
    transaction.change(REALM, *(EntityAdded(each, SCHEMA) for each in (*tables, *last)))


@pytest.mark.by_day(1)
@pytest.mark.slow
def test_a_great_many_rows_are_all_there(store: SqlStore, many: int) -> None:
    service, other = opened(store), opened(store)
    build(service)
    service.write(SYSTEM, lambda transaction: _bring(transaction, many), late=True)
    assert len(service.state.realm(REALM).matrix.snapshot.coded.tree.stored) == many + 3
    other.catch_up()
    assert other.state.realm(REALM).matrix.snapshot.coded.is_known(table(many - 1))
    with store.reading() as reading:
        assert len(reading.ids(REALM, [table(number) for number in range(many)])) == many


@pytest.mark.by_day(1)
@pytest.mark.slow
def test_of_a_great_many_rows_with_a_wrong_one_none_is_there(store: SqlStore, many: int) -> None:
    service = opened(store)
    build(service)
    before = service.state
    with pytest.raises(Conflict):
        service.write(SYSTEM, lambda transaction: _bring(transaction, many, table(0)), late=True)
    assert service.catch_up() is before
    assert same(opened(store).state, before)
