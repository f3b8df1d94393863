"""The plane: writes are seen at once and everywhere, whole or not at all, in one order."""

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
from lakewarden.service import state as states
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.audit import first_fault
from lakewarden.service.desk import Desk
from lakewarden.service.effect import DocumentChanged, RealmChanged
from lakewarden.service.plane import Plane, StaleRevision
from lakewarden.service.realm import Realm
from lakewarden.store import SqlStore, open_store
from tests.servers import fresh_database
from tests.service.test_state import same

LAKE = Entity("metalake", "lk")
CATALOG = Entity("catalog", "lk:c")
SCHEMA = Entity("schema", "lk:c.s")
TABLE = Entity("table", "lk:c.s.t")
ANA = Principal(USER, "ana")
NOW = 1_700_000_000.0


class Word:
    """The newest revision, shared by the planes of one process."""

    def __init__(self) -> None:
        self._value = 0

    def value(self) -> int:
        return self._value

    def raise_to(self, revision: int) -> None:
        self._value = max(self._value, revision)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlStore]:
    """An empty store, on either engine."""
    if request.param == "sqlite":
        with open_store(f"sqlite:///{tmp_path / 'lakewarden.db'}") as opened:
            yield opened
        return
    url = request.getfixturevalue("postgres_url")
    with fresh_database(url) as fresh, open_store(fresh) as opened:
        yield opened


def opened(store: SqlStore, word: Word | None = None) -> Plane:
    plane = Plane(store, clock=lambda: NOW, word=word)
    plane.open()
    return plane


def with_a_table(store: SqlStore, word: Word | None = None) -> Plane:
    plane = opened(store, word)

    def build(desk: Desk) -> None:
        desk.change("lake", RealmChanged("lake", Realm("lake", "gravitino")))
        for entity, parent in ((LAKE, None), (CATALOG, LAKE), (SCHEMA, CATALOG), (TABLE, SCHEMA)):
            desk.change("lake", EntityAdded(entity, parent))
        desk.change("lake", MembershipChanged(MembershipRow(ANA, members_of("lk")), True))
        desk.change("lake", OwnerChanged(OwnerRow(CATALOG, ANA), True))

    plane.write(SYSTEM, build)
    return plane


def may_load(plane: Plane, user: Principal = ANA, table: Entity = TABLE) -> bool:
    request = Request(user, "table.load", table, NOW)
    return plane.catch_up().realm("lake").matrix.decide(request).allow


def test_a_write_is_seen_by_its_process_and_by_every_other(store: SqlStore) -> None:
    one = with_a_table(store)
    other = opened(store)
    assert may_load(one)
    assert may_load(other)
    one.write(SYSTEM, lambda desk: desk.change("lake", OwnerChanged(OwnerRow(CATALOG, ANA), False)))
    assert not may_load(one)
    assert not may_load(other)
    assert one.state.revision == other.state.revision == store.revision() == 2


def test_whatever_was_written_a_process_that_starts_later_has_the_same_state(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane = with_a_table(store)
    watching = opened(store)
    monkeypatch.setattr(states, "BULK", 3)
    readers = Principal("role", "lk:readers")
    grant = Statement(
        "r", Effect.ALLOW, frozenset({"SELECT_TABLE"}), On(TABLE), frozenset({readers})
    )

    def much(desk: Desk) -> None:
        desk.change("lake", PrincipalChanged(readers, True), StatementAdded(grant))
        desk.change("lake", EntityRenamed(TABLE, "lk:c.s.u"))
        desk.change("@main", PrincipalChanged(Principal(USER, "ben"), True))

    plane.write(SYSTEM, much)
    plane.write(SYSTEM, lambda desk: desk.change("lake", EntityDropped(SCHEMA)))
    watching.catch_up()
    assert same(plane.state, opened(store).state)
    assert same(plane.state, watching.state)
    assert not plane.state.realm("lake").matrix.snapshot.table.statements.keys() & {"r"}


def test_a_write_that_fails_leaves_nothing_behind(store: SqlStore) -> None:
    plane = with_a_table(store)
    before = plane.state

    def half(desk: Desk) -> None:
        desk.change("lake", EntityAdded(Entity("table", "lk:c.s.u"), SCHEMA))
        assert desk.realm("lake").matrix.snapshot.coded.is_known(Entity("table", "lk:c.s.u"))
        desk.change("lake", EntityAdded(TABLE, SCHEMA))

    with pytest.raises(Conflict):
        plane.write(SYSTEM, half)
    assert plane.catch_up() is before
    assert same(opened(store).state, before)


def test_a_denied_write_leaves_its_audit_row_and_no_revision(store: SqlStore) -> None:
    plane = with_a_table(store)
    ben = Actor("ben", request_id="r-1", wire="test")

    def drop(desk: Desk) -> bool:
        realm = desk.realm("lake")
        request = ben.request(realm.realm, realm.system, "table.drop", TABLE, now=desk.now)
        return desk.allowed("lake", request)

    assert plane.write(ben, drop) is False
    assert store.revision() == 1
    with plane.reading() as reading:
        rows = list(reading.audit())
        assert first_fault(rows, reading.audit_head()) is None
    assert len(rows) == 1
    assert '"actor":"ben"' in rows[0].body
    assert '"outcome":"deny"' in rows[0].body
    assert '"request_id":"r-1"' in rows[0].body


def test_a_drop_takes_what_lies_below_and_its_documents_along(store: SqlStore) -> None:
    plane = with_a_table(store)
    plane.write(SYSTEM, lambda d: d.change("lake", DocumentChanged(TABLE, {"comment": "old"})))
    plane.write(SYSTEM, lambda d: d.change("lake", EntityDropped(CATALOG)))
    with plane.reading() as reading:
        assert reading.documents("lake", [TABLE]) == {}
        assert not reading.ids("lake", [CATALOG, SCHEMA, TABLE])
    assert not may_load(plane)


def test_with_a_shared_word_no_query_is_needed_and_nothing_is_missed(store: SqlStore) -> None:
    word = Word()
    one = with_a_table(store, word)
    other = opened(store, word)
    state = other.current(NOW)
    assert state is other.state
    one.write(SYSTEM, lambda d: d.change("lake", EntityDropped(TABLE)))
    assert one.current(NOW) is one.state
    assert other.current(NOW) is None
    assert other.catch_up().revision == 2
    assert other.current(NOW) is other.state
    assert opened(store).current(NOW) is None


def test_a_revision_that_nobody_wrote_is_refused(store: SqlStore) -> None:
    plane = with_a_table(store)
    assert plane.catch_up(at_least=1).revision == 1
    with pytest.raises(StaleRevision, match="`2` is not known here; the newest is `1`"):
        plane.catch_up(at_least=2)


def test_writers_in_many_threads_and_planes_follow_one_another(store: SqlStore) -> None:
    planes = [with_a_table(store), opened(store), opened(store)]
    start = threading.Barrier(6)

    def add(number: int) -> None:
        plane = planes[number % 3]
        start.wait()
        for each in range(5):
            table = Entity("table", f"lk:c.s.t{number}_{each}")
            plane.write(SYSTEM, lambda d, t=table: d.change("lake", EntityAdded(t, SCHEMA)))  # type: ignore[misc]
            assert plane.state.realm("lake").matrix.snapshot.coded.is_known(table)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(add, range(6)))
    assert store.revision() == 31
    for plane in planes:
        plane.catch_up()
    assert same(planes[0].state, planes[1].state)
    assert same(planes[0].state, planes[2].state)
    assert len(opened(store).state.realm("lake").matrix.snapshot.coded.tree.stored) == 34


def test_a_long_import_that_locks_late_is_seen_when_it_is_done(store: SqlStore) -> None:
    plane = with_a_table(store)
    tables = [Entity("table", f"lk:c.s.n{number}") for number in range(3_000)]

    def bring(desk: Desk) -> int:
        desk.change("lake", *(EntityAdded(table, SCHEMA) for table in tables))
        return len(desk.effects)

    assert plane.write(SYSTEM, bring, late=True) == 3_000
    assert plane.state.revision == 2
    assert may_load(plane, table=tables[-1])
    assert same(plane.state, opened(store).state)


def test_a_restored_older_database_is_loaded_anew(store: SqlStore) -> None:
    plane = with_a_table(store)
    plane._state = replace(plane.state, revision=9)  # as if the database had been put back
    assert plane.catch_up().revision == 1
    assert may_load(plane)


def test_people_that_were_there_before_their_realm_are_known_in_it(store: SqlStore) -> None:
    opened(store).write(SYSTEM, lambda d: d.change("@main", PrincipalChanged(ANA, True)))
    later = opened(store)
    realm = Realm("hub", "datahub")
    later.write(SYSTEM, lambda d: d.change("hub", RealmChanged("hub", realm)))
    acting = later.state.realm("hub").matrix.snapshot.coded.acting
    assert Principal(USER, "urn:li:corpuser:ana") in acting.ids


def test_several_drops_in_one_step_know_of_each_other(store: SqlStore) -> None:
    plane = with_a_table(store)
    tag = Entity("tag", "lk:pii")
    edge = RelationRow("tag", TABLE, tag)
    plane.write(
        SYSTEM,
        lambda d: d.change("lake", EntityAdded(tag, LAKE), RelationChanged(edge, True)),
    )
    plane.write(SYSTEM, lambda d: d.change("lake", EntityDropped(TABLE), EntityDropped(tag)))
    assert same(plane.state, opened(store).state)
    with plane.reading() as reading:
        assert not reading.ids("lake", [TABLE, tag])


def test_a_task_that_hides_a_failed_change_is_not_committed(store: SqlStore) -> None:
    plane = with_a_table(store)

    def hide(desk: Desk) -> None:
        with suppress(Conflict):
            desk.change("lake", EntityAdded(TABLE, SCHEMA))

    with pytest.raises(Conflict):
        plane.write(SYSTEM, hide)
    assert store.revision() == 1
    assert may_load(plane)
