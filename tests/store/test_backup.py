"""Backups: consistent during concurrent writes, and restorable into either engine."""

from __future__ import annotations

import sqlite3
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakewarden.kernel.change import EntityAdded, EntityDropped
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict
from lakewarden.service.audit import first_fault
from lakewarden.store import SqlStore, open_store, restore, upgrade
from tests.servers import fresh_database
from tests.store.conftest import POSTGRES, SQLITE
from tests.store.lake import REALM, SCHEMA, TABLE, facts, sets, tables, with_realm, write
from tests.store.test_upgrade import STEPS, digest, full


@pytest.fixture(params=[SQLITE, pytest.param(POSTGRES, marks=pytest.mark.postgres)])
def other_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The place into which a backup is restored."""
    if request.param == SQLITE:
        yield f"sqlite:///{tmp_path / 'other.db'}"
        return
    with fresh_database(request.getfixturevalue("postgres_url"), stores=True) as fresh:
        yield fresh


@pytest.mark.by_day(3)
def test_everything_comes_back_on_either_engine(
    store: SqlStore, other_url: str, tmp_path: Path
) -> None:
    full(store)
    store.prune(2)
    file = tmp_path / "backup"
    saved = store.backup(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.glob("backup*")] == ["backup"]
    bytes_before = file.read_bytes()
    assert restore(file, other_url) == saved == digest(store.engine)
    assert file.read_bytes() == bytes_before
    with open_store(other_url) as other:
        assert digest(other.engine) == saved
        for scope in (REALM, "other"):
            assert sets(facts(other, scope)) == sets(facts(store, scope))
        with store.reading() as one, other.reading() as two:
            assert one.feed(1) == two.feed(1)
            assert one.realms() == two.realms()
            assert first_fault(two.audit(), two.audit_head) is None
            assert two.audit_head == one.audit_head
        assert write(other, *tables(1, 999)) == 3


@pytest.mark.by_day(2, turns=True)
def test_ids_are_not_given_again_after_a_restore(
    store: SqlStore, other_url: str, tmp_path: Path
) -> None:
    with_realm(store, *tables(5))
    last = Entity("table", "lk:c.s.t4")
    with store.reading() as reading:
        given = reading.ids(REALM, [last])[last]
    write(store, EntityDropped(last))
    store.backup(tmp_path / "backup")
    restore(tmp_path / "backup", other_url)
    with open_store(other_url) as other:
        write(other, EntityAdded(last, SCHEMA))
        with other.reading() as reading:
            assert reading.ids(REALM, [last])[last] > given


@pytest.mark.by_day(2, turns=True)
def test_a_backup_is_of_one_moment_while_others_write(
    store: SqlStore, other_url: str, tmp_path: Path
) -> None:
    """Every write moves one table and counts one more: a backup has both or neither."""
    with_realm(store, *tables(3000))
    done = threading.Event()
    file = tmp_path / "backup"

    def work() -> None:
        turn = 0
        while not done.is_set():
            old = TABLE if turn == 0 else Entity("table", f"moved{turn}")
            turn += 1
            write(store, EntityDropped(old), EntityAdded(Entity("table", f"moved{turn}"), SCHEMA))

    writing = threading.Thread(target=work)
    writing.start()
    try:
        while store.revision() < 5:
            pass
        started = store.revision()
        store.backup(file)
        while store.revision() == started:
            pass
    finally:
        done.set()
        writing.join()
    restore(file, other_url)
    with open_store(other_url) as other:
        revision = other.revision()
        moved = [row.entity.name for row in facts(other).entities if row.entity.name[0] == "m"]
        assert moved == [f"moved{revision - 1}"]
        assert started <= revision <= store.revision()
        with other.reading() as reading:
            assert {row.revision for row in reading.feed(1)} == set(range(2, revision + 1))


@pytest.mark.by_day(2, turns=True)
def test_a_damaged_file_is_refused_and_nothing_comes_in(
    store: SqlStore, other_url: str, tmp_path: Path
) -> None:
    full(store)
    file = tmp_path / "backup"
    store.backup(file)
    for number, sql in enumerate(
        [
            "update entities set name = name || 'x' where id = 3",
            "delete from statements where id = (select max(id) from statements)",
            "update counter set revision = 7",
            "update backup set digest = 'x'",
            "drop table backup",
            "delete from backup",
        ]
    ):
        damaged = tmp_path / f"damaged{number}"
        damaged.write_bytes(file.read_bytes())
        connection = sqlite3.connect(damaged)
        with connection:
            connection.execute(sql)
        connection.close()
        with pytest.raises(BadInput, match=r"damaged|no backup"):
            restore(damaged, other_url)
    cut = tmp_path / "cut"
    cut.write_bytes(file.read_bytes()[:20_000])
    text = tmp_path / "text"
    text.write_text("no backup at all")
    for wrong in (cut, text, tmp_path / "nowhere", tmp_path):
        with pytest.raises(BadInput, match=r"not a complete backup|does not exist"):
            restore(wrong, other_url)
    with open_store(other_url) as other:
        assert (other.revision(), facts(other).entities) == (0, [])


@pytest.mark.by_day(2, turns=True)
def test_what_is_there_is_not_written_over(store: SqlStore, other_url: str, tmp_path: Path) -> None:
    with_realm(store)
    file = tmp_path / "backup"
    store.backup(file)
    with pytest.raises(Conflict, match="already exists"):
        store.backup(file)
    restore(file, other_url)
    with pytest.raises(Conflict, match="the database is not empty"):
        restore(file, other_url)
    with open_store(other_url) as other:
        assert len(facts(other).entities) == 4


def test_a_backup_into_a_folder_that_does_not_exist_is_bad_input(
    store: SqlStore, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=r"the folder of `.*` does not exist"):
        store.backup(tmp_path / "nowhere" / "backup")


def test_a_backup_of_an_older_schema_is_brought_up(store: SqlStore, tmp_path: Path) -> None:
    full(store)
    file, target = tmp_path / "backup", f"sqlite:///{tmp_path / 'other.db'}"
    older = tmp_path / "older.db"
    store.backup(file)
    restore(file, f"sqlite:///{older}")
    with open_store(f"sqlite:///{older}") as old:
        upgrade.downgrade(old.engine, STEPS[0])
        old.backup(tmp_path / "older backup")
    restore(tmp_path / "older backup", target)
    with open_store(target, upgrade=False) as other:
        assert digest(other.engine) == digest(store.engine)
