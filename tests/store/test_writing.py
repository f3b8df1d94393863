"""Writes: atomic, in sequence, and with consistent reads."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from lakewarden.kernel.change import EntityAdded, EntityDropped
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict, Unavailable
from lakewarden.service.audit import AuditRow, first_fault
from lakewarden.service.effect import DocumentChanged, TokenChanged, canonical
from lakewarden.service.ports import FeedTruncated
from lakewarden.service.realm import Token
from lakewarden.service.write_health import Deadlocked
from lakewarden.store import SqlStore, engine, open_store
from tests.store.lake import (
    CATALOG,
    GRAVITINO,
    METALAKE,
    REALM,
    SCHEMA,
    TABLE,
    event,
    events,
    facts,
    sets,
    tables,
    with_realm,
    write,
)

WRITERS, WRITES = 8, 12


@contextmanager
def suppress_to(told: list[Exception]) -> Iterator[None]:
    """Appends the error of a write that waited for another to the list."""
    try:
        yield
    except Deadlocked as error:
        told.append(error)


def named(count: int) -> list[Entity]:
    return [Entity("table", f"lk:c.s.t{i}") for i in range(count)]


def everything(store: SqlStore) -> object:
    with store.reading() as reading:
        head, rows = reading.audit_head, sets(reading.facts(REALM, GRAVITINO))
        return reading.revision, reading.feed(0), list(reading.audit()), head, rows


def test_an_empty_store_is_at_revision_0(store: SqlStore) -> None:
    assert store.revision() == 0
    with store.reading() as reading:
        assert (reading.revision, reading.realms(), reading.tokens()) == (0, [], [])
        assert (reading.feed(0), list(reading.audit())) == ([], [])


class Counted(dict[str, object]):
    """A document that counts its serializations."""

    written = 0

    def items(self) -> Any:
        self.written += 1
        return super().items()


def test_a_document_is_written_out_once_for_feed_and_table(store: SqlStore) -> None:
    body = Counted(a="x" * 100)
    write(store, *tables(1), DocumentChanged(named(1)[0], body))
    assert body.written == 1
    with store.reading() as reading:
        assert reading.documents(REALM, named(1)) == {named(1)[0]: dict(body)}


def test_every_write_that_changes_something_is_one_revision(store: SqlStore) -> None:
    assert [write(store, effect) for effect in tables(3)] == [1, 2, 3]
    with store.writing() as writing:
        writing.apply(REALM, [])
        assert writing.commit(events([1])) == 3
    with store.writing() as writing:
        writing.apply(REALM, tables(1, 3))
        writing.apply("other", tables(2))
        assert writing.commit(events([2, 3])) == 4
        assert writing.revision == 4
    with store.reading() as reading:
        assert [(row.revision, row.seq, row.scope) for row in reading.feed(2)] == [
            (3, 0, REALM),
            (4, 0, REALM),
            (4, 1, "other"),
            (4, 2, "other"),
        ]
        assert [(row.seq, row.revision) for row in reading.audit()] == [(1, 3), (2, 4), (3, 4)]


def test_a_write_sees_its_own_changes_and_nobody_else_does(store: SqlStore) -> None:
    with_realm(store)
    with store.writing() as writing:
        writing.apply(REALM, tables(1))
        assert Entity("table", "lk:c.s.t0") in writing.ids(REALM, [Entity("table", "lk:c.s.t0")])
        assert len(facts(store).entities) == 4
        assert store.revision() == 1
        writing.commit(())
    assert len(facts(store).entities) == 5


def test_a_write_that_is_not_committed_leaves_nothing(store: SqlStore) -> None:
    with_realm(store)
    before = everything(store)
    with store.writing() as writing:
        writing.apply(REALM, [EntityDropped(TABLE), DocumentChanged(SCHEMA, {})])
        writing.apply("unheard of", tables(2))
    with pytest.raises(ZeroDivisionError):
        fail(store)
    assert everything(store) == before
    assert write(store, *tables(1)) == 2


def fail(store: SqlStore) -> None:
    with store.writing(late=True) as writing:
        writing.apply(REALM, tables(2))
        writing.lock()
        raise ZeroDivisionError


def test_a_refused_change_leaves_nothing_of_its_write(store: SqlStore) -> None:
    with_realm(store)
    before = everything(store)
    with store.writing() as writing:
        writing.apply(REALM, tables(5))
        with pytest.raises(Conflict):
            writing.apply(REALM, tables(1, 4))
    assert everything(store) == before


def test_a_committed_write_takes_nothing_more(store: SqlStore) -> None:
    with store.writing() as writing:
        writing.commit(())
        for again in (
            writing.lock,
            lambda: writing.apply(REALM, tables(1)),
            lambda: writing.commit(()),
        ):
            with pytest.raises(BadInput, match="already committed"):
                again()


def test_revisions_have_no_gaps_and_the_trail_no_faults_whoever_writes(store: SqlStore) -> None:
    def work(writer: int) -> list[int]:
        revisions = []
        for turn in range(WRITES):
            name = f"t{writer}-{turn}"
            with store.writing(late=bool(turn % 2)) as writing:
                writing.apply(REALM, [EntityAdded(Entity("table", name))])
                revisions.append(writing.commit([event(), event()]))
            assert store.revision() >= revisions[-1]
        return revisions

    write(store, EntityAdded(METALAKE))
    with ThreadPoolExecutor(WRITERS) as pool:
        by_writer = list(pool.map(work, range(WRITERS)))
    assert all(revisions == sorted(revisions) for revisions in by_writer)
    assert sorted(itertools.chain(*by_writer)) == list(range(2, WRITERS * WRITES + 2))
    with store.reading() as reading:
        fed = reading.feed(1)
        assert [row.revision for row in fed] == list(range(2, WRITERS * WRITES + 2))
        assert first_fault(reading.audit(), reading.audit_head) is None
        assert reading.audit_head.seq == 2 * WRITERS * WRITES
        told = {entity.name for entity, _ in reading.facts(REALM, None).entities}
    by_revision = {row.revision: row.key for row in fed}
    assert len(told) == WRITERS * WRITES + 1
    for writer, revisions in enumerate(by_writer):
        for turn, revision in enumerate(revisions):
            assert by_revision[revision] == f'["table","t{writer}-{turn}"]'


def test_a_reader_sees_one_moment(store: SqlStore) -> None:
    with_realm(store)
    with store.reading() as reading:
        write(store, EntityDropped(TABLE), EntityAdded(Entity("table", "lk:c.s.new"), SCHEMA))
        write(store, TokenChanged("1", Token("1", "ab", "ana", 0.0, 1.0)), scope="@main")
        with store.writing() as writing:
            writing.commit(events(range(3)))
        assert reading.revision == 1
        assert [row.entity for row in reading.facts(REALM, None).entities][-1] == TABLE
        assert (list(reading.tokens()), list(reading.audit())) == ([], [])
        assert {row.revision for row in reading.feed(0)} == {1}
        assert reading.audit_head.seq == 0
    assert store.revision() == 3


def test_a_reader_never_sees_half_a_write(store: SqlStore) -> None:
    """Every write moves a mark from one entity to another: there is always exactly one."""
    marks = [Entity("table", f"t{i}") for i in range(2)]
    write(store, EntityAdded(marks[0]))
    done = threading.Event()
    seen: list[tuple[int, list[Entity], int]] = []

    def read() -> None:
        while not done.is_set():
            with store.reading() as reading:
                rows = reading.facts(REALM, None).entities
                fed = reading.feed(0)
                seen.append((reading.revision, [row.entity for row in rows], fed[-1].revision))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for turn in range(40):
        write(store, EntityDropped(marks[turn % 2]), EntityAdded(marks[1 - turn % 2]))
    done.set()
    for reader in readers:
        reader.join()
    assert seen
    for revision, rows, newest in seen:
        assert rows == [marks[(revision - 1) % 2]]
        assert newest == revision


def test_a_late_write_to_a_server_holds_nobody_up_before_its_end(server_store: SqlStore) -> None:
    store = server_store
    with_realm(store)
    with store.writing(late=True) as late:
        late.apply(REALM, tables(1000))
        assert late.revision == 1
        assert write(store, EntityAdded(Entity("table", "lk:c.s.quick"), SCHEMA)) == 2
        late.lock()
        assert late.revision == 2
        late.apply(REALM, tables(1, 1000))
        assert late.commit(events([1])) == 3
    with store.reading() as reading:
        assert [row.revision for row in reading.feed(1)] == [2] + [3] * 1001
        assert [row.seq for row in reading.feed(2)] == list(range(1001))


def test_of_a_late_write_and_another_that_wait_for_each_other_one_is_told_so(
    server_store: SqlStore,
) -> None:
    with_realm(server_store)
    has_lock, told = threading.Event(), list[Exception]()

    def other() -> None:
        with suppress_to(told), server_store.writing() as writing:
            has_lock.set()
            writing.apply(REALM, [EntityDropped(SCHEMA)])
            writing.commit(())

    with suppress_to(told), server_store.writing(late=True) as late:
        late.apply(REALM, [EntityDropped(SCHEMA)])
        waiting = threading.Thread(target=other)
        waiting.start()
        assert has_lock.wait(60)
        late.commit(())
    waiting.join()
    assert len(told) == 1
    assert server_store.revision() == 2


def test_a_late_write_is_at_the_newest_revision_once_it_is_locked(store: SqlStore) -> None:
    with_realm(store)
    with store.writing(late=True) as late:
        assert late.revision == 1
        assert write(store, *tables(1)) == 2
        late.lock()
        assert late.revision == 2
        assert len(late.facts(REALM, None).entities) == 5
        late.lock()
        late.apply(REALM, tables(1, 1))
        assert late.commit(()) == 3


def test_a_locked_write_keeps_the_others_waiting(store: SqlStore) -> None:
    order: list[str] = []

    def other() -> None:
        write(store, EntityAdded(CATALOG))
        order.append("other")

    with store.writing() as writing:
        writing.apply(REALM, [EntityAdded(METALAKE)])
        waiting = threading.Thread(target=other)
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive()
        order.append("first")
        writing.commit(())
    waiting.join()
    assert order == ["first", "other"]


def test_a_writer_that_waits_too_long_is_told_so(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "WAIT_SECONDS", 0.1)
    with open_store(url) as store, store.writing():
        with pytest.raises(Unavailable, match="lock"), store.writing():
            pass
        assert store.revision() == 0


@pytest.mark.by_day(1)
@pytest.mark.slow
@pytest.mark.parametrize("many", [40_000, pytest.param(100_000, marks=pytest.mark.nightly)])
def test_a_great_many_effects_are_one_write(store: SqlStore, many: int) -> None:
    with_realm(store)
    effects = [*tables(many), *(DocumentChanged(entity, {}) for entity in named(1000))]
    assert write(store, *effects) == 2
    assert len(facts(store).entities) == many + 4
    with store.reading() as reading:
        assert len(reading.feed(1)) == many + 1000
    with pytest.raises(Conflict):
        write(store, *tables(many // 5, many), *tables(1))
    assert len(facts(store).entities) == many + 4
    assert write(store, *(EntityDropped(entity) for entity in named(many // 5))) == 3
    assert len(facts(store).entities) == many - many // 5 + 4


def test_two_writes_that_wait_for_each_other_do_not_wait_for_ever(
    server_store: SqlStore,
) -> None:
    """A late write holds its rows; the one with the lock wants to write the same rows."""
    with_realm(server_store)
    outcomes: list[object] = []

    def other() -> None:
        try:
            outcomes.append(write(server_store, *tables(1)))
        except (Unavailable, Conflict) as error:
            outcomes.append(error)

    writing = threading.Thread(target=other)
    try:
        with server_store.writing(late=True) as late:
            late.apply(REALM, tables(1))
            writing.start()
            writing.join(0.3)
            assert writing.is_alive()
            outcomes.append(late.commit(()))
    except Unavailable as error:
        outcomes.append(error)
    writing.join()
    assert [outcome for outcome in outcomes if isinstance(outcome, int)] == [2]
    assert len(facts(server_store).entities) == 5


def test_usage_adds_up(store: SqlStore) -> None:
    def add() -> None:
        for _ in range(5):
            store.add_usage(
                "2026-11-21",
                {(REALM, f"u{i}", "table.load", TABLE): i for i in range(1, 20)},
            )

    adding = [threading.Thread(target=add) for _ in range(4)]
    for thread in adding:
        thread.start()
    for thread in adding:
        thread.join()
    store.add_usage("2026-11-22", {(REALM, "u1", "table.load", TABLE): 1})
    store.add_usage("2026-11-22", {})
    with store.reading() as reading:
        rows = list(reading.usage(REALM, "2026-11-21"))
        assert list(reading.usage(REALM, "2026-11-22")) == rows[-1:]
    assert rows[-1] == ("2026-11-22", "u1", "table.load", TABLE, 1)
    assert {row[1]: row[4] for row in rows[:-1]} == {f"u{i}": 20 * i for i in range(1, 20)}
    assert store.revision() == 0


def test_the_feed_says_when_it_does_not_reach_back(store: SqlStore) -> None:
    for effect in tables(5):
        write(store, effect)
    assert store.prune(3) == 2
    with store.reading() as reading:
        for after in (0, 1):
            with pytest.raises(FeedTruncated):
                reading.feed(after)
        assert [row.revision for row in reading.feed(2)] == [3, 4, 5]
    assert store.prune(1) == 0
    assert store.prune(99) == 3
    with store.reading() as reading:
        assert reading.feed(5) == []
        with pytest.raises(FeedTruncated):
            reading.feed(4)
    assert write(store, *tables(1, 5)) == 6
    with store.reading() as reading:
        assert [row.revision for row in reading.feed(5)] == [6]


def test_the_history_of_one_thing_is_of_that_thing(store: SqlStore) -> None:
    one, other = Entity("table", "lk:c.s.a_b"), Entity("table", "lk:c.s.A_b")
    like = Entity("table", "lk:c.s.axb")
    for entity in (one, other, like):
        write(store, EntityAdded(entity, SCHEMA))
    write(store, EntityDropped(one))
    with store.reading() as reading:
        rows = reading.history(REALM, ["entity"], [canonical(one)], 10, (99, 0))
        assert [(row.revision, row.op) for row in rows] == [(4, "drop"), (1, "put")]
        below = reading.history(REALM, ["entity"], ['"table"'], 2, (4, 0))
        assert [row.revision for row in below] == [3, 2]
        assert reading.history(REALM, ["statement"], [canonical(one)], 10, (99, 0)) == []
        keys = [canonical(each) for each in (one, other)]
        assert reading.last_changed(REALM, "entity", keys) == {keys[0]: 4, keys[1]: 2}
        assert reading.last_changed(REALM, "statement", keys) == {}
        assert reading.audit_of([]) == []


def trail(store: SqlStore, after: int = 0, limit: int | None = None) -> list[AuditRow]:
    with store.reading() as reading:
        return list(reading.audit(after, limit))


def test_the_audit_trail_is_read_from_any_row_on(store: SqlStore) -> None:
    with store.writing() as writing:
        writing.commit(events(range(30)))
    assert [row.seq for row in trail(store)] == list(range(1, 31))
    assert [row.seq for row in trail(store, 10, 3)] == [11, 12, 13]
    assert trail(store, 30) == []


def test_acts_of_many_revisions_are_found_in_one_pass(store: SqlStore) -> None:
    with store.writing() as writing:
        writing.commit(events(range(3)))
    asked: list[str] = []

    def note(*words: Any) -> None:
        asked.append(words[2])

    sa.event.listen(store.engine, "before_cursor_execute", note)
    with store.reading() as reading:
        assert [row.seq for row in reading.audit_of(range(9_000))] == [1, 2, 3]
        assert reading.audit_of(range(1, 9_000)) == []
    assert len([text for text in asked if "FROM audit" in text]) == 2


TAMPER: dict[str, tuple[str, int]] = {
    "a body": ("update audit set body = replace(body, 'allow', 'deny') where seq = 7", 7),
    "a revision": ("update audit set revision = 9 where seq = 7", 7),
    "a digest": (f"update audit set digest = '{'0' * 64}' where seq = 7", 7),
    "a row removed": ("delete from audit where seq = 7", 7),
    "the last rows removed": ("delete from audit where seq > 12", 13),
    "all rows removed": ("delete from audit", 1),
    "a row added": (
        "insert into audit (seq, revision, body, digest) values (21, 0, '{}', 'x')",
        21,
    ),
}


@pytest.mark.parametrize("how", TAMPER)
def test_a_trail_that_somebody_touched_is_found(store: SqlStore, how: str) -> None:
    sql, at = TAMPER[how]
    with store.writing() as writing:
        writing.commit(events(range(20)))
    assert fault(store) is None
    tamper(store, sql)
    assert fault(store) == at


def test_rows_of_the_trail_that_changed_places_are_found(store: SqlStore) -> None:
    with store.writing() as writing:
        writing.commit(events(range(20)))
    for sql in ("99 where seq = 5", "5 where seq = 6", "6 where seq = 99"):
        tamper(store, f"update audit set seq = {sql}")
    assert fault(store) == 5


def tamper(store: SqlStore, sql: str) -> None:
    with store.engine.begin() as connection:
        connection.exec_driver_sql(sql)


def fault(store: SqlStore) -> int | None:
    with store.reading() as reading:
        found = first_fault(reading.audit(), reading.audit_head)
    return None if found is None else found.seq
