"""An unavailable store reports that: no error is lost, and no secret is revealed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
import sqlalchemy as sa

from lakewarden.app.fair_queue import THREADS
from lakewarden.kernel.errors import Unavailable
from lakewarden.store import SqlStore, open_store
from lakewarden.store.writing import SqlWriting
from tests.servers import free_port
from tests.store.lake import REALM, SCHEMA, TABLE, event, facts, tables, with_realm, write

PASSWORD = "hunter2"


def test_a_server_that_does_not_listen_is_unavailable_and_keeps_its_password() -> None:
    port = free_port()
    with pytest.raises(Unavailable, match="refused") as away:
        open_store(f"postgresql://ana:{PASSWORD}@127.0.0.1:{port}/lake")
    assert_silent(away.value)


def test_a_refused_login_keeps_its_password(tmp_path: Path, postgres_url: str) -> None:
    wrong = sa.make_url(postgres_url).set(username="nobody-here", password=PASSWORD)
    with pytest.raises(Unavailable) as away:
        open_store(wrong.render_as_string(hide_password=False))
    assert_silent(away.value)


def test_a_folder_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no such file"):
        open_store(f"sqlite:///{tmp_path / 'nowhere' / 'x.db'}")


def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_text("nothing of the kind " * 100)
    with pytest.raises(Unavailable, match="not a database"):
        open_store(f"sqlite:///{path}")
    assert path.read_text().startswith("nothing of the kind")


def test_nobody_else_may_read_the_file(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with open_store(f"sqlite:///{tmp_path / 'x.db'}") as store:
            write(store, *tables(1))
            for path in tmp_path.iterdir():
                assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_every_way_in_says_when_the_store_is_broken(store: SqlStore) -> None:
    with_realm(store)
    with store.engine.begin() as connection:
        connection.exec_driver_sql("alter table counter rename to elsewhere")
    assert_all_unavailable(
        store.revision,
        lambda: facts(store),
        lambda: write(store, *tables(1)),
        lambda: store.prune(1),
    )
    with store.engine.begin() as connection:
        connection.exec_driver_sql("alter table elsewhere rename to counter")
        for table in ("entities", "documents", "audit", "changes", "usage", "tokens", "realms"):
            connection.exec_driver_sql(f"alter table {table} rename to {table}_elsewhere")
    with store.reading() as reading:
        assert_all_unavailable(
            lambda: reading.facts(REALM, None),
            lambda: reading.documents(REALM, [TABLE]),
            lambda: list(reading.documents_of(REALM, "table")),
            lambda: reading.ids(REALM, [TABLE]),
            lambda: list(reading.audit()),
            lambda: reading.feed(0),
            reading.tokens,
            reading.realms,
        )
    assert_all_unavailable(
        lambda: write(store, *tables(1)),
        lambda: recorded(store),
        lambda: store.add_usage("2026-11-21", {(REALM, "ana", "x", TABLE): 1}),
    )
    assert store.revision() == 1


def test_a_full_disk_is_unavailable_and_leaves_nothing(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'x.db'}") as store:
        with_realm(store)

        @sa.event.listens_for(store.engine, "checkout")
        def limit(connection: object, *_: object) -> None:
            connection.execute("pragma max_page_count = 100")  # type: ignore[attr-defined]

        with pytest.raises(Unavailable, match="full") as away:
            write(store, *tables(5000))
        assert_silent(away.value)
        assert len(facts(store).entities) == 4
        assert write(store, *tables(1)) == 2


def test_connections_that_died_are_replaced_before_anybody_notices(
    server_store: SqlStore, server_url: str
) -> None:
    store = server_store
    with_realm(store)
    kill_all_others(server_url)
    assert store.revision() == 1
    kill_all_others(server_url)
    assert len(facts(store).entities) == 4
    kill_all_others(server_url)
    assert write(store, *tables(1)) == 2
    kill_all_others(server_url)
    store.add_usage("2026-11-21", {(REALM, "ana", "x", TABLE): 1})
    kill_all_others(server_url)
    assert store.prune(1) == 0


@pytest.mark.parametrize("count", [1, 1000])
def test_a_connection_that_dies_in_a_write_leaves_nothing_of_it(
    server_store: SqlStore, server_url: str, count: int
) -> None:
    def dying(*last: Callable[[SqlWriting], object]) -> None:
        with server_store.writing() as writing:
            writing.apply(REALM, tables(10))
            kill_all_others(server_url)
            for act in last:
                act(writing)

    with_realm(server_store)
    lasts: list[Callable[[SqlWriting], object]] = [
        lambda writing: writing.apply(REALM, tables(count, 10)),
        lambda writing: writing.commit(()),
        lambda writing: writing.ids(REALM, [TABLE]),
    ]
    for last in lasts:
        with pytest.raises(Unavailable) as away:
            dying(last)
        assert_silent(away.value)
    dying()
    pool = server_store.engine.pool
    assert isinstance(pool, sa.QueuePool)
    assert pool.checkedout() == 0
    assert server_store.revision() == 1
    assert len(facts(server_store).entities) == 4


def test_a_connection_that_dies_between_two_pages_ends_the_reading(
    server_store: SqlStore, server_url: str
) -> None:
    with_realm(server_store)
    recorded(server_store)
    recorded(server_store)
    with server_store.reading() as reading:
        rows = reading.audit()
        next(rows)
        kill_all_others(server_url)
        with pytest.raises(Unavailable) as away:
            list(rows)
        assert_silent(away.value)
    assert len(list_audit(server_store)) >= 2


def list_audit(store: SqlStore) -> list[object]:
    with store.reading() as reading:
        return list(reading.audit())


def recorded(store: SqlStore) -> int:
    with store.writing() as writing:
        return writing.commit([event()])


def kill_all_others(url: str) -> None:
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        connection.exec_driver_sql(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
    engine.dispose()


def assert_all_unavailable(*attempts: Callable[[], object]) -> None:
    for attempt in attempts:
        with pytest.raises(Unavailable) as away:
            attempt()
        assert_silent(away.value)


def assert_silent(error: Exception) -> None:
    """No SQL, no values, no password: also not in the log of the error."""
    shown: BaseException | None = error
    while shown is not None:
        text = str(shown).lower()
        assert "\n" not in text
        for word in (PASSWORD, "select ", "insert ", "update ", SCHEMA.name):
            assert word not in text
        shown = shown.__cause__ or (None if shown.__suppress_context__ else shown.__context__)


def test_each_request_may_hold_two_connections_and_the_server_one_more(
    server_store: SqlStore,
) -> None:
    with ExitStack() as stack:
        held = [stack.enter_context(server_store.reading()) for _ in range(2 * THREADS)]
        assert {reading.revision for reading in held} == {server_store.revision()}
    pool = server_store.engine.pool
    assert isinstance(pool, sa.QueuePool)
    assert pool.checkedin() <= 5
