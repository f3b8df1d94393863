"""All processes see one order of writes: what one has shown, no other misses afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lakewarden.kernel.change import EntityAdded, EntityDropped, StatementAdded
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.statement import Anything, Effect, Statement
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import RealmChanged
from lakewarden.service.realm import Realm
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import SqlStore, open_store
from lakewarden.store.writing import SqlWriting
from tests.reliability.estate import ANA, REALM, SCHEMA, add_tables, build, check, put, table
from tests.service.test_decision_service import SharedCell
from tests.service.test_state import same


class Between:
    """A store in which a function runs right after a late-locking write has begun."""

    def __init__(self, store: SqlStore, happens: Callable[[], object]) -> None:
        self._store = store
        self._happens = happens

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @contextmanager
    def writing(self, *, late: bool = False) -> Iterator[SqlWriting]:
        with self._store.writing(late=late) as writing:
            if late:
                self._happens()
            yield writing


@pytest.fixture
def store(url: str) -> Iterator[SqlStore]:
    with open_store(url) as opened:
        yield opened


def opened(store: SqlStore, shared_revision: SharedCell | None = None) -> DecisionService:
    service = DecisionService(store, shared_revision=shared_revision)
    service.open()
    return service


def test_what_a_writer_left_that_died_before_it_raised_the_word_is_shown_by_all_or_none(
    store: SqlStore,
) -> None:
    shared_revision = SharedCell()
    one, other = opened(store, shared_revision), opened(store, shared_revision)
    build(one)
    add_tables(one, table(0))
    assert not check(other, table(0))
    put(opened(store), table(0), allowed=True)  # a writer without notification, like one that died
    with pytest.raises(ZeroDivisionError):
        one.write(SYSTEM, lambda transaction: 1 // 0)  # updates `one`, and changes nothing
    assert check(one, table(0))
    assert check(other, table(0))


def test_a_write_that_locks_late_takes_in_what_others_wrote_meanwhile(store: SqlStore) -> None:
    """On PostgreSQL it reads newer rows as it proceeds; these must not become a state."""
    service = opened(store)
    build(service)
    importing, other = opened(store), opened(store)
    add_tables(service, table(0))  # which `importing` has not seen
    importing.store = Between(store, lambda: add_tables(other, table(2)))
    importing.write(SYSTEM, lambda d: d.change(REALM, EntityAdded(table(1), SCHEMA)), late=True)
    assert same(importing.catch_up(), opened(store).state)


def test_a_realm_made_anew_under_another_model_is_taken_in(store: SqlStore) -> None:
    service, behind = opened(store), opened(store)
    build(service)
    behind.catch_up()
    service.write(SYSTEM, lambda transaction: transaction.change(REALM, RealmChanged(REALM, None)))
    read = Statement("all", Effect.ALLOW, frozenset({"READ"}), Anything(), frozenset({ANA}))

    def declare(transaction: WriteTransaction) -> None:
        transaction.change(REALM, RealmChanged(REALM, Realm(REALM, "cdap")))
        transaction.change(REALM, EntityAdded(Entity("instance", "cdap")), StatementAdded(read))

    service.write(SYSTEM, declare)
    assert behind.state.realm(REALM).realm.model == "gravitino"
    assert same(behind.catch_up(), service.state)
    service.write(SYSTEM, lambda d: d.change(REALM, EntityDropped(Entity("instance", "cdap"))))
    assert same(behind.catch_up(), service.state)
