"""Stores of every earlier schema are migrated and give the same answers, even after a kill.

`stores/NNNN.db.xz` is a store that the last code with that schema wrote (README.md), and
`stores/answers.json` has the expected answers of each.
"""

from __future__ import annotations

import json
import lzma
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import sqlalchemy as sa

from lakewarden.app import open_store as opening
from lakewarden.cli import main
from lakewarden.kernel.change import EntityAdded
from lakewarden.kernel.entity import Entity
from lakewarden.service.actor import SYSTEM
from lakewarden.service.audit import first_fault
from lakewarden.service.decision_service import DecisionService
from lakewarden.store import compatibility, open_store, search_rows, upgrade
from lakewarden.store.backup import rows_digest
from lakewarden.store.engine import POSTGRES, SQLITE, create
from tests.reliability.migrating import killed
from tests.servers import fresh_database

ROOT = Path(__file__).parents[2]
STORES = Path(__file__).parent / "stores"
SCHEMAS = sorted(path.name.partition(".")[0] for path in STORES.glob("*.db.xz"))
EXPECTED: Mapping[str, object] = json.loads((STORES / "answers.json").read_text("utf-8"))
SEARCHED = "0003"
"""The first schema with a full text index, whose tables depend on the engine."""

KILLS = 5
A_FEW = ("0001", "0006", "0013")

Fresh = Callable[[str], str]
"""A function that puts the store of a schema into a new database; returns its URL."""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script that creates the stores, as a module."""
    spec = spec_from_file_location("keep_store", ROOT / "scripts" / "keep-store.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def sqlite(tmp_path: Path) -> Fresh:
    def fresh(schema: str) -> str:
        file = tmp_path / f"{schema}-{len(list(tmp_path.iterdir()))}.db"
        file.write_bytes(lzma.decompress((STORES / f"{schema}.db.xz").read_bytes()))
        return f"sqlite:///{file}"

    return fresh


@pytest.fixture
def postgres(request: pytest.FixtureRequest, sqlite: Fresh) -> Iterator[Fresh]:
    """Copies each store's rows into a PostgreSQL database with the same schema."""
    open_databases = []

    def fresh(schema: str) -> str:
        database = fresh_database(request.getfixturevalue("postgres_url"))
        open_databases.append(database)
        url = database.__enter__()
        copy_rows(sqlite(schema), url, schema)
        return url

    yield fresh
    for database in open_databases:
        database.__exit__(None, None, None)


@contextmanager
def engine_of(url: str) -> Iterator[sa.Engine]:
    engine = create(url)
    try:
        yield engine
    finally:
        engine.dispose()


def copy_rows(source: str, target: str, schema: str) -> None:
    with engine_of(source) as old, engine_of(target) as new:
        upgrade.upgrade(new, schema)
        with old.connect() as stored, new.begin() as connection:
            tables = tables_of(stored)
            for table in tables_of(connection).sorted_tables:
                connection.execute(table.delete())
                rows = stored.execute(sa.select(tables.tables[table.name])).mappings().all()
                if rows:
                    connection.execute(table.insert(), [dict(row) for row in rows])
                if "id" in table.c and table.name != "counter":
                    sql = f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), 9999)"
                    connection.execute(sa.text(sql))
            if schema >= SEARCHED:
                search_rows.fill(connection)


def tables_of(connection: sa.Connection) -> sa.MetaData:
    """The tables of a database, without those of the full text index."""
    found = sa.MetaData()
    found.reflect(connection, only=lambda name, _: not name.startswith(("search", "sqlite_")))
    return found


def shape(engine: sa.Engine) -> Mapping[str, object]:
    """The columns and indexes of every table."""
    inspector = sa.inspect(engine)
    with engine.connect() as connection:
        tables = tables_of(connection)
    return {
        name: (
            sorted((c.name, str(c.type), c.nullable, c.primary_key) for c in table.c),
            sorted(str(index["name"]) for index in inspector.get_indexes(name)),
        )
        for name, table in tables.tables.items()
    }


@contextmanager
def one_service(url: str, patch: pytest.MonkeyPatch) -> Iterator[DecisionService]:
    """The service of a store, opened once for all verbs on this store."""
    with opening.opened_service(url) as service:

        @contextmanager
        def opened(database: str, **_: object) -> Iterator[DecisionService]:
            assert database == url
            yield service

        patch.setattr(opening, "opened_service", opened)
        yield service


def check_answers(
    url: str,
    script: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Asks all questions, performs a write, and checks the audit trail."""
    found: dict[str, Any] = {}
    with monkeypatch.context() as patch, one_service(url, patch) as service:
        for words in script.questions():
            code = main([*words, "--format", "json", "--database", url])
            out, err = capsys.readouterr()
            assert code in (0, 1), err
            found[" ".join(words)] = script.gist(words[0], code, json.loads(out))
        before = service.state.revision
        table = EntityAdded(Entity("schema", "lk:c.new"), Entity("catalog", "lk:c"))
        service.write(SYSTEM, lambda transaction: transaction.change("gravitino", table))
        assert service.state.revision == before + 1
    assert json.loads(json.dumps(found)) == EXPECTED
    with open_store(url, upgrade=False) as store, store.reading() as reading:
        assert first_fault(reading.audit(), reading.audit_head) is None


def test_there_is_a_store_of_every_schema() -> None:
    """`make release` creates the store of the newest schema if it is missing."""
    assert sorted(compatibility.known() - {compatibility.newest()} - set(SCHEMAS)) == []


@pytest.mark.by_day(3)
@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_store_is_migrated_and_answers_as_before(
    schema: str,
    sqlite: Fresh,
    script: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url = sqlite(schema)
    with engine_of(url) as kept, engine_of(f"sqlite:///{tmp_path}/made.db") as made:
        with kept.connect() as connection:
            assert upgrade.current(connection) == schema
        upgrade.upgrade(made, schema)
        assert shape(kept) == shape(made), "a released step has been changed"
        for engine in (kept, made):
            upgrade.upgrade(engine)
        assert shape(kept) == shape(made)
    check_answers(url, script, monkeypatch, capsys)


@pytest.mark.by_day(1)
@pytest.mark.postgres
@pytest.mark.parametrize(
    "schema",
    [s if s in A_FEW else pytest.param(s, marks=pytest.mark.nightly) for s in SCHEMAS],
)
def test_a_store_of_postgresql_is_migrated_and_answers_as_before(
    schema: str,
    postgres: Fresh,
    script: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    check_answers(postgres(schema), script, monkeypatch, capsys)


def migrate_and_stay(url: str, there: Connection) -> None:
    """Migrates the store once, then waits until it is killed."""
    there.send(None)
    open_store(url).close()
    time.sleep(600)


def digest(url: str) -> str:
    with open_store(url) as store, store.engine.connect() as connection:
        return rows_digest(connection)


@pytest.mark.parametrize("engine", [SQLITE, pytest.param(POSTGRES, marks=pytest.mark.postgres)])
@pytest.mark.parametrize(
    ("schema", "kills"),
    [("0001", 1), *(pytest.param(s, KILLS, marks=pytest.mark.nightly) for s in SCHEMAS)],
)
def test_a_migration_that_is_killed_leaves_a_store_that_goes_on(
    schema: str, kills: int, engine: str, request: pytest.FixtureRequest
) -> None:
    fresh: Fresh = request.getfixturevalue({SQLITE: "sqlite", POSTGRES: "postgres"}[engine])
    begun = time.monotonic()
    expected = digest(fresh(schema))
    longest = time.monotonic() - begun
    rng = random.Random(schema)
    for _ in range(kills):
        url = fresh(schema)
        killed(migrate_and_stay, url, rng.uniform(0, longest))
        with engine_of(url) as engine_, engine_.connect() as connection:
            assert upgrade.current(connection) in (schema, compatibility.newest())
        assert digest(url) == expected
