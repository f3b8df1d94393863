"""Credentials are stored outside of the feed, and attempts are counted once each."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import sqlalchemy as sa

from lakewarden.kernel.change import EntityAdded, EntityDropped, EntityRenamed
from lakewarden.kernel.entity import Entity
from lakewarden.service.credential import LINK, PASSWORD, RESET, Count, Credential
from lakewarden.service.effect import RealmChanged
from lakewarden.store import SqlStore, schema
from tests.store.lake import with_realm

ANA = Entity("user", "lk:ana")
BOB = Entity("user", "lk:bob")
REALM = "lake"
NOW = 1_000.0


def put(store: SqlStore, *credentials: Credential) -> None:
    with store.writing() as writing:
        for credential in credentials:
            writing.put_credential(REALM, credential)
        writing.commit(())


def kinds(store: SqlStore, entity: Entity) -> set[str]:
    with store.reading() as reading:
        found = (PASSWORD, RESET, LINK)
        return {kind for kind in found if reading.credential(REALM, entity, kind) is not None}


def test_a_credential_is_read_as_it_was_put_last(store: SqlStore) -> None:
    with_realm(store)
    put(store, Credential(ANA, PASSWORD, "one"), Credential(ANA, RESET, "r", 5.5))
    put(store, Credential(ANA, PASSWORD, "two"), Credential(BOB, PASSWORD, "b"))
    with store.reading() as reading:
        assert reading.credential(REALM, ANA, PASSWORD) == Credential(ANA, PASSWORD, "two")
        assert reading.credential(REALM, ANA, RESET) == Credential(ANA, RESET, "r", 5.5)
        assert reading.credential("other", ANA, PASSWORD) is None
        assert [one.entity for one in reading.credentials(REALM, PASSWORD)] == [ANA, BOB]
        assert reading.with_credential(REALM, RESET, [ANA, BOB]) == {ANA}


def test_credentials_raise_no_revision_and_enter_no_feed(store: SqlStore) -> None:
    with_realm(store)
    before = store.revision()
    put(store, Credential(ANA, PASSWORD, "never-in-the-feed"))
    assert store.revision() == before
    with store.reading() as reading:
        assert not [row for row in reading.feed(0) if "never-in-the-feed" in (row.row or "")]


def test_what_is_not_committed_is_not_kept(store: SqlStore) -> None:
    with_realm(store)
    with store.writing() as writing:
        writing.put_credential(REALM, Credential(ANA, PASSWORD, "x"))
    assert kinds(store, ANA) == set()


def test_credentials_are_forgotten_one_by_one_or_all(store: SqlStore) -> None:
    with_realm(store)
    put(store, *(Credential(ANA, kind, "x") for kind in (PASSWORD, RESET, LINK)))
    put(store, Credential(BOB, PASSWORD, "x"))
    with store.writing() as writing:
        writing.drop_credentials(REALM, ANA, RESET)
        writing.commit(())
    assert kinds(store, ANA) == {PASSWORD, LINK}
    with store.writing() as writing:
        writing.drop_credentials(REALM, ANA)
        writing.commit(())
    assert kinds(store, ANA) == set()
    assert kinds(store, BOB) == {PASSWORD}


def test_credentials_follow_the_name_and_go_with_the_entity_and_the_realm(store: SqlStore) -> None:
    with_realm(store, EntityAdded(ANA, None), EntityAdded(BOB, None))
    put(store, Credential(ANA, PASSWORD, "a"), Credential(BOB, PASSWORD, "b"))
    with store.writing() as writing:
        writing.apply(REALM, [EntityRenamed(ANA, "lk:ann"), EntityDropped(BOB)])
        writing.commit(())
    assert kinds(store, Entity("user", "lk:ann")) == {PASSWORD}
    assert kinds(store, ANA) == kinds(store, BOB) == set()
    with store.writing() as writing:
        writing.apply(REALM, [RealmChanged(REALM, None)])
        writing.commit(())
    assert kinds(store, Entity("user", "lk:ann")) == set()


TRY = Count(("a", "b"), 3, 60.0)
OTHER = Count(("c",), 5, 60.0)


def test_tries_are_counted_up_to_the_limit_and_again_when_their_time_is_over(
    store: SqlStore,
) -> None:
    assert [store.count_attempt([TRY], NOW + i) for i in range(3)] == [None] * 3
    assert store.count_attempt([TRY], NOW + 3) == NOW + 60
    assert store.count_attempt([TRY], NOW + 59.9) == NOW + 60
    assert store.count_attempt([TRY], NOW + 60) is None


def test_a_try_that_is_refused_counts_nowhere(store: SqlStore) -> None:
    for _ in range(3):
        store.count_attempt([TRY, OTHER], NOW)
    for _ in range(9):
        assert store.count_attempt([TRY, OTHER], NOW) is not None
    assert [store.count_attempt([OTHER], NOW) for _ in range(2)] == [None, None]
    assert store.count_attempt([OTHER], NOW) is not None


def test_a_try_is_taken_back_or_all_are_forgotten(store: SqlStore) -> None:
    for _ in range(3):
        store.count_attempt([TRY, OTHER], NOW)
    store.uncount_attempts([TRY])
    assert store.count_attempt([TRY], NOW) is None
    assert store.count_attempt([TRY], NOW) is not None
    store.uncount_attempts([], [TRY])
    assert [store.count_attempt([TRY], NOW) for _ in range(3)] == [None] * 3


def test_tries_at_the_same_time_are_all_counted(store: SqlStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        tried = list(pool.map(lambda _: store.count_attempt([TRY, OTHER], NOW), range(24)))
    assert tried.count(None) == 3


def test_what_is_noted_is_known_for_its_time(store: SqlStore) -> None:
    store.note(("seen", "x"), NOW + 10)
    assert store.has_note(("seen", "x"), NOW)
    assert not store.has_note(("seen", "x"), NOW + 10)
    assert not store.has_note(("seen", "y"), NOW)


def test_something_is_held_by_one_at_a_time(store: SqlStore) -> None:
    held = ("watch",)
    assert store.acquire_lease(held, 1, NOW, NOW + 60)
    assert not store.acquire_lease(held, 2, NOW + 30, NOW + 90)
    assert store.acquire_lease(held, 1, NOW + 59, NOW + 119)
    assert not store.acquire_lease(held, 2, NOW + 118, NOW + 178)
    assert store.acquire_lease(held, 2, NOW + 119, NOW + 179)
    assert store.acquire_lease(held, 2, NOW + 120, NOW + 120)  # releases it
    assert store.acquire_lease(held, 1, NOW + 120, NOW + 180)
    assert store.acquire_lease(("other",), 2, NOW + 120, NOW + 180)


def test_counts_whose_time_is_over_leave_no_rows(store: SqlStore) -> None:
    for i in range(5):
        store.count_attempt([Count((str(i),), 1, 10.0)], NOW)
    store.count_attempt([TRY], NOW + 10)
    with store.engine.connect() as connection:
        query = sa.select(sa.func.count()).select_from(schema.attempts)
        assert connection.execute(query).scalar_one() == 1
