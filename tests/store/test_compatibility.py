"""Two releases with one store: the older continues until the newer removes something."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib import import_module
from pathlib import Path

import pytest
import sqlalchemy as sa

from lakewarden import __version__
from lakewarden.kernel.change import EntityAdded
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Unavailable
from lakewarden.service.credential import Count
from lakewarden.store import (
    SqlStore,
    compatibility,
    migrate,
    open_store,
    restore,
    schema,
    upgrade,
)
from lakewarden.store.compatibility import IncompatibleSchema
from lakewarden.store.engine import create
from lakewarden.store.migrations import versions
from tests.cli.realms import Cli
from tests.store.lake import SCHEMA, with_realm
from tests.store.neighbours import (
    CONTRACTED,
    EXPANDED,
    THIS,
    next_release,
    write_steps,
)


def _read(store: SqlStore) -> object:
    with store.reading() as reading:
        return reading.realms()


def _write(store: SqlStore, *, late: bool = False) -> int:
    entity = Entity("schema", f"lk:c.s{store.revision()}")
    with store.writing(late=late) as writing:
        writing.apply("lake", [EntityAdded(entity, None)])
        return writing.commit(())


USES: Sequence[Callable[[SqlStore], object]] = (
    lambda store: store.revision(),
    _read,
    _write,
    lambda store: _write(store, late=True),
    lambda store: store.add_usage("2026-11-21", {("lake", "a", "x", SCHEMA): 1}),
    lambda store: store.count_attempt([Count(("x",), 9, 9.0)], 0.0),
    lambda store: store.uncount_attempts([Count(("x",), 9, 9.0)]),
    lambda store: store.note(("x",), 9.0),
    lambda store: store.has_note(("x",), 0.0),
    lambda store: store.try_to_write(),
    lambda store: store.prune(0),
)
REQUIRES = f"requires a release with schema `{EXPANDED}` or newer, this one has `{THIS}`"


def _write_around(older: SqlStore, url: str, steps: Path) -> None:
    """A write during which the next release migrates; in a file, an open one would block it."""
    with older.writing(late=True) as writing:
        if not url.startswith("sqlite"):
            writing.apply("lake", [EntityAdded(Entity("schema", "lk:c.late"), None)])
        with next_release(steps):
            migrate(url, force=True)
        writing.apply("lake", [EntityAdded(Entity("schema", "lk:c.later"), None)])
        writing.commit(())


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys, {})


@pytest.fixture
def expands(tmp_path: Path) -> Path:
    return write_steps(tmp_path / "steps")


@pytest.fixture
def contracts(tmp_path: Path) -> Path:
    return write_steps(tmp_path / "steps", contracts=True)


def test_every_step_says_who_may_use_the_store_after_it() -> None:
    needed = "0013"
    for step in sorted(path.stem for path in Path(versions.__path__[0]).glob("m*.py")):
        if step[1:5] >= compatibility.FIRST:
            said = import_module(f"{versions.__name__}.{step}").usable_from
            assert needed <= said < step[1:5], f"{step}: neighbours are to run side by side"
            needed = said
            assert compatibility.usable_from(step[1:5]) == said


def test_an_older_release_goes_on_with_a_store_that_a_newer_one_expanded(
    url: str, expands: Path, tmp_path: Path
) -> None:
    with open_store(url) as older:
        with_realm(older)
        with next_release(expands), open_store(url) as newer:
            assert upgrade.check(newer.engine) == EXPANDED
            written = _write(newer)
        for use in USES:
            use(older)
        assert older.revision() == written + 2
        with open_store(url) as opened, open_store(url, upgrade=False) as again:
            assert _read(opened) == _read(again) == _read(older)
        with pytest.raises(Unavailable, match=f"schema `{EXPANDED}`, which a newer release wrote"):
            older.backup(tmp_path / "backup")
        assert not (tmp_path / "backup").exists()
        with next_release(expands):
            older.backup(tmp_path / "backup")
        with pytest.raises(Unavailable, match="which a newer release wrote"):
            restore(tmp_path / "backup", f"sqlite:///{tmp_path / 'restored'}")
        assert migrate(url) == (EXPANDED, EXPANDED)


def test_an_older_release_is_refused_once_a_newer_one_contracted(url: str, contracts: Path) -> None:
    with open_store(url) as older:
        with_realm(older)
        revision = older.revision()
        with next_release(contracts):
            assert migrate(url, force=True) == (THIS, CONTRACTED)
        for use in USES:
            with pytest.raises(IncompatibleSchema, match=REQUIRES):
                use(older)
    for upgrades in (True, False):
        with pytest.raises(IncompatibleSchema, match=REQUIRES):
            open_store(url, upgrade=upgrades)
    with next_release(contracts), open_store(url) as newer:
        assert newer.revision() == revision
        _write(newer)


def test_a_write_that_was_begun_before_is_not_committed_after(url: str, contracts: Path) -> None:
    with open_store(url) as older:
        with_realm(older)
        revision = older.revision()
        with pytest.raises(IncompatibleSchema):
            _write_around(older, url, contracts)
    with next_release(contracts), open_store(url) as newer:
        assert newer.revision() == revision
        with newer.reading() as reading:
            assert reading.audit_head.seq == 0


def test_a_write_that_locks_nothing_ends_before_the_step_or_is_refused(
    server_url: str, contracts: Path
) -> None:
    """Usage and attempts are written without the counter's lock."""
    with open_store(server_url) as older, ThreadPoolExecutor(1) as pool:
        with_realm(older)
        with next_release(contracts):
            with older._changing() as connection:
                migrating = pool.submit(migrate, server_url, force=True)
                with pytest.raises(TimeoutError):
                    migrating.result(timeout=0.3)
                connection.execute(schema.usage.delete())
                assert not migrating.done()
            assert migrating.result(timeout=60.0) == (THIS, CONTRACTED)
        with pytest.raises(IncompatibleSchema, match=REQUIRES):
            older.add_usage("2026-11-21", {("lake", "a", "x", SCHEMA): 1})


def test_a_step_does_not_wait_for_ever(
    server_url: str, contracts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upgrade, "_LOCK_SECONDS", 1)
    with open_store(server_url) as older:
        with_realm(older)
        with (
            next_release(contracts),
            older._changing(),
            pytest.raises(upgrade.InUse, match="do not end in 1 seconds"),
        ):
            migrate(server_url, force=True)
        _write(older)


def test_a_backup_sees_a_schema_that_came_after_it_began(
    url: str, expands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next release migrates between the first read and the copy."""
    with open_store(url) as older:
        with_realm(older)
        check = upgrade.check_schema
        looks: list[int] = []

        def late(connection: sa.Connection) -> None:
            check(connection)
            if not looks:
                looks.append(1)
                connection.rollback()
                with next_release(expands):
                    migrate(url)

        monkeypatch.setattr(upgrade, "check_schema", late)
        with pytest.raises(Unavailable, match=f"schema `{EXPANDED}`, which a newer release wrote"):
            older.backup(tmp_path / "backup")
    assert not [*tmp_path.glob("backup*")]


def test_a_newer_release_waits_for_older_ones_or_shuts_them_out(
    url: str, contracts: Path, cli: Cli
) -> None:
    """A file does not show its users: there the older release is excluded at once."""
    with open_store(url) as older:
        with_realm(older)
        with next_release(contracts):
            if url.startswith("sqlite"):
                assert migrate(url) == (THIS, CONTRACTED)
                return
            for refused in (upgrade.InUse, Unavailable):
                with pytest.raises(refused, match=f"cannot be used by .*{__version__} at"):
                    open_store(url)
            ran = cli("migrate", "--database", url)
            assert (ran.code, ran.out) == (3, "")
            assert (
                "`lakewarden migrate --wait DURATION`, for example `15m`, waits for them" in ran.err
            )
            with pytest.raises(upgrade.InUse):
                migrate(url, wait=0.3)
        _write(older)
    with next_release(contracts):
        ran = cli("migrate", "--wait", "1m", "--database", url)
        assert (ran.code, ran.out) == (0, f"schema {CONTRACTED}, before {THIS}\n")
        assert cli("migrate", "--database", url).out == f"schema {CONTRACTED}, unchanged\n"


def test_a_step_that_does_not_say_shuts_out_every_older_release(url: str, tmp_path: Path) -> None:
    steps = write_steps(tmp_path / "steps", contracts=True, declared=False)
    open_store(url).close()
    with next_release(steps):
        migrate(url)
    with pytest.raises(IncompatibleSchema, match=f"requires a release with schema `{CONTRACTED}`"):
        open_store(url)


def test_the_way_down_says_again_what_it_said_before(url: str, contracts: Path) -> None:
    with next_release(contracts), open_store(url) as newer:
        upgrade.downgrade(newer.engine, EXPANDED)
    with open_store(url) as older:
        assert older.revision() == 0
    with closing(SqlStore(create(url))) as store:
        with next_release(contracts):
            upgrade.downgrade(store.engine, "0013")
        names = {column["name"] for column in sa.inspect(store.engine).get_columns("counter")}
        assert "usable_from" not in names


def test_connections_that_are_of_no_release_shut_nobody_out(
    server_url: str, contracts: Path
) -> None:
    open_store(server_url).close()
    plain = sa.create_engine(sa.make_url(server_url).set(drivername="postgresql+psycopg"))
    try:
        with plain.connect() as connection, next_release(contracts):
            connection.exec_driver_sql("SET application_name = 'lakewarden of somebody'")
            assert migrate(server_url) == (THIS, CONTRACTED)
    finally:
        plain.dispose()


def test_an_empty_database_is_not_migrated(url: str, tmp_path: Path, cli: Cli) -> None:
    missing = f"sqlite:///{tmp_path / 'missing.db'}"
    assert cli("migrate", "--database", missing).code == 3
    assert not (tmp_path / "missing.db").exists()
    open_store(url).close()
    assert cli("migrate", "--wait", "soon", "--database", url).code == 2
