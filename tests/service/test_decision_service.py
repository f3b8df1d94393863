"""Writes are visible at once and everywhere, completely or not at all, in one order."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from lakewarden.kernel.change import (
    EntityAdded,
    EntityDropped,
    EntityRenamed,
    MembershipChanged,
    OwnerChanged,
    PrincipalChanged,
    RelationChanged,
    StatementAdded,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Conflict
from lakewarden.kernel.principal import USER, Principal, members_of
from lakewarden.kernel.relations import MembershipRow, OwnerRow, RelationRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.service import state_builder as states
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.audit import first_fault
from lakewarden.service.decision_service import DecisionService, StaleRevision
from lakewarden.service.effect import DocumentChanged, RealmChanged
from lakewarden.service.realm import Realm
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import SqlStore, open_store
from tests.servers import fresh_database
from tests.service.test_state import same

LAKE = Entity("metalake", "lk")
CATALOG = Entity("catalog", "lk:c")
SCHEMA = Entity("schema", "lk:c.s")
TABLE = Entity("table", "lk:c.s.t")
ANA = Principal(USER, "ana")
NOW = 1_700_000_000.0


class SharedCell:
    """The newest revision, shared by the services of one process."""

    def __init__(self) -> None:
        self.cells = [0]

    def raise_to(self, revision: int) -> None:
        self.cells[0] = max(self.cells[0], revision)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlStore]:
    """An empty store, on either engine."""
    if request.param == "sqlite":
        with open_store(f"sqlite:///{tmp_path / 'lakewarden.db'}") as opened:
            yield opened
        return
    url = request.getfixturevalue("postgres_url")
    with fresh_database(url, stores=True) as fresh, open_store(fresh) as opened:
        yield opened


def opened(store: SqlStore, shared_revision: SharedCell | None = None) -> DecisionService:
    service = DecisionService(store, clock=lambda: NOW, shared_revision=shared_revision)
    service.open()
    return service


def with_a_table(store: SqlStore, shared_revision: SharedCell | None = None) -> DecisionService:
    service = opened(store, shared_revision)

    def build(transaction: WriteTransaction) -> None:
        transaction.change("lake", RealmChanged("lake", Realm("lake", "gravitino")))
        for entity, parent in ((LAKE, None), (CATALOG, LAKE), (SCHEMA, CATALOG), (TABLE, SCHEMA)):
            transaction.change("lake", EntityAdded(entity, parent))
        transaction.change("lake", MembershipChanged(MembershipRow(ANA, members_of("lk")), True))
        transaction.change("lake", OwnerChanged(OwnerRow(CATALOG, ANA), True))

    service.write(SYSTEM, build)
    return service


def may_load(service: DecisionService, user: Principal = ANA, table: Entity = TABLE) -> bool:
    request = Request(user, "table.load", table, NOW)
    return service.catch_up().realm("lake").matrix.decide(request).allow


def test_a_write_is_seen_by_its_process_and_by_every_other(store: SqlStore) -> None:
    one = with_a_table(store)
    other = opened(store)
    assert may_load(one)
    assert may_load(other)
    one.write(
        SYSTEM,
        lambda transaction: transaction.change("lake", OwnerChanged(OwnerRow(CATALOG, ANA), False)),
    )
    assert not may_load(one)
    assert not may_load(other)
    assert one.state.revision == other.state.revision == store.revision() == 2


def test_whatever_was_written_a_process_that_starts_later_has_the_same_state(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = with_a_table(store)
    watching = opened(store)
    monkeypatch.setattr(states, "BULK", 3)
    readers = Principal("role", "lk:readers")
    grant = Statement(
        "r", Effect.ALLOW, frozenset({"SELECT_TABLE"}), On(TABLE), frozenset({readers})
    )

    def much(transaction: WriteTransaction) -> None:
        transaction.change("lake", PrincipalChanged(readers, True), StatementAdded(grant))
        transaction.change("lake", EntityRenamed(TABLE, "lk:c.s.u"))
        transaction.change("@main", PrincipalChanged(Principal(USER, "ben"), True))

    service.write(SYSTEM, much)
    service.write(SYSTEM, lambda transaction: transaction.change("lake", EntityDropped(SCHEMA)))
    watching.catch_up()
    assert same(service.state, opened(store).state)
    assert same(service.state, watching.state)
    assert not service.state.realm("lake").matrix.snapshot.table.statements.keys() & {"r"}


def test_a_write_that_fails_leaves_nothing_behind(store: SqlStore) -> None:
    service = with_a_table(store)
    before = service.state

    def half(transaction: WriteTransaction) -> None:
        transaction.change("lake", EntityAdded(Entity("table", "lk:c.s.u"), SCHEMA))
        assert transaction.realm("lake").matrix.snapshot.coded.is_known(Entity("table", "lk:c.s.u"))
        transaction.change("lake", EntityAdded(TABLE, SCHEMA))

    with pytest.raises(Conflict):
        service.write(SYSTEM, half)
    assert service.catch_up() is before
    assert same(opened(store).state, before)


def test_a_denied_write_leaves_its_audit_row_and_no_revision(store: SqlStore) -> None:
    service = with_a_table(store)
    ben = Actor("ben", request_id="r-1", wire="test")

    def drop(transaction: WriteTransaction) -> bool:
        realm = transaction.realm("lake")
        request = ben.request(realm.realm, realm.system, "table.drop", TABLE, now=transaction.now)
        return transaction.allowed("lake", request)

    assert service.write(ben, drop) is False
    assert store.revision() == 1
    with service.reading() as reading:
        rows = list(reading.audit())
        assert first_fault(rows, reading.audit_head) is None
    assert len(rows) == 1
    assert '"actor":"ben"' in rows[0].body
    assert '"outcome":"deny"' in rows[0].body
    assert '"request_id":"r-1"' in rows[0].body


def test_a_drop_takes_what_lies_below_and_its_documents_along(store: SqlStore) -> None:
    service = with_a_table(store)
    service.write(SYSTEM, lambda d: d.change("lake", DocumentChanged(TABLE, {"comment": "old"})))
    service.write(SYSTEM, lambda d: d.change("lake", EntityDropped(CATALOG)))
    with service.reading() as reading:
        assert reading.documents("lake", [TABLE]) == {}
        assert not reading.ids("lake", [CATALOG, SCHEMA, TABLE])
    assert not may_load(service)


def test_with_a_shared_word_no_query_is_needed_and_nothing_is_missed(store: SqlStore) -> None:
    shared_revision = SharedCell()
    one = with_a_table(store, shared_revision)
    other = opened(store, shared_revision)
    state = other.current(NOW)
    assert state is other.state
    one.write(SYSTEM, lambda d: d.change("lake", EntityDropped(TABLE)))
    assert one.current(NOW) is one.state
    assert other.current(NOW) is None
    assert other.catch_up().revision == 2
    assert other.current(NOW) is other.state
    assert opened(store).current(NOW) is None


def test_what_was_read_of_the_store_is_known_before_its_writer_tells_of_it(
    store: SqlStore,
) -> None:
    service = with_a_table(store, SharedCell())
    silent = opened(store)
    silent.write(SYSTEM, lambda transaction: transaction.change("lake", EntityDropped(TABLE)))
    assert service.catch_up().revision == 1
    with service.reading() as reading:
        assert service.catch_up(reading.revision).revision == 2
    assert service.current(NOW) is service.state


def test_a_revision_that_nobody_wrote_is_refused(store: SqlStore) -> None:
    service = with_a_table(store)
    assert service.catch_up(at_least=1).revision == 1
    with pytest.raises(StaleRevision, match="`2` is unknown; the newest is `1`"):
        service.catch_up(at_least=2)


def test_writers_in_many_threads_and_planes_follow_one_another(store: SqlStore) -> None:
    services = [with_a_table(store), opened(store), opened(store)]
    start = threading.Barrier(6)

    def add(number: int) -> None:
        service = services[number % 3]
        start.wait()
        for each in range(5):
            table = Entity("table", f"lk:c.s.t{number}_{each}")
            service.write(SYSTEM, lambda d, t=table: d.change("lake", EntityAdded(t, SCHEMA)))  # type: ignore[misc]
            assert service.state.realm("lake").matrix.snapshot.coded.is_known(table)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(add, range(6)))
    assert store.revision() == 31
    for service in services:
        service.catch_up()
    assert same(services[0].state, services[1].state)
    assert same(services[0].state, services[2].state)
    assert len(opened(store).state.realm("lake").matrix.snapshot.coded.tree.stored) == 34


def test_a_long_import_that_locks_late_is_seen_when_it_is_done(store: SqlStore) -> None:
    service = with_a_table(store)
    tables = [Entity("table", f"lk:c.s.n{number}") for number in range(3_000)]

    def bring(transaction: WriteTransaction) -> int:
        transaction.change("lake", *(EntityAdded(table, SCHEMA) for table in tables))
        return len(transaction.effects)

    assert service.write(SYSTEM, bring, late=True) == 3_000
    assert service.state.revision == 2
    assert may_load(service, table=tables[-1])
    assert same(service.state, opened(store).state)


def test_a_restored_older_database_is_loaded_anew(store: SqlStore) -> None:
    service = with_a_table(store)
    service._state = replace(service.state, revision=9)  # as if a backup had been restored
    assert service.catch_up().revision == 1
    assert may_load(service)


def test_people_that_were_there_before_their_realm_are_known_in_it(store: SqlStore) -> None:
    opened(store).write(SYSTEM, lambda d: d.change("@main", PrincipalChanged(ANA, True)))
    later = opened(store)
    realm = Realm("hub", "datahub")
    later.write(SYSTEM, lambda d: d.change("hub", RealmChanged("hub", realm)))
    memberships = later.state.realm("hub").matrix.snapshot.coded.memberships
    assert Principal(USER, "urn:li:corpuser:ana") in memberships.ids


def test_several_drops_in_one_step_know_of_each_other(store: SqlStore) -> None:
    service = with_a_table(store)
    tag = Entity("tag", "lk:pii")
    edge = RelationRow("tag", TABLE, tag)
    service.write(
        SYSTEM,
        lambda d: d.change("lake", EntityAdded(tag, LAKE), RelationChanged(edge, True)),
    )
    service.write(SYSTEM, lambda d: d.change("lake", EntityDropped(TABLE), EntityDropped(tag)))
    assert same(service.state, opened(store).state)
    with service.reading() as reading:
        assert not reading.ids("lake", [TABLE, tag])


def test_a_task_that_hides_a_failed_change_is_not_committed(store: SqlStore) -> None:
    service = with_a_table(store)

    def hide(transaction: WriteTransaction) -> None:
        with suppress(Conflict):
            transaction.change("lake", EntityAdded(TABLE, SCHEMA))

    with pytest.raises(Conflict):
        service.write(SYSTEM, hide)
    assert store.revision() == 1
    assert may_load(service)
