"""Schemas and tables of real databases, read unchanged."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from lakewarden.kernel.errors import Unavailable
from lakewarden.service.live import Source
from lakewarden.store import live
from lakewarden.store.live import SqlLive
from tests.servers import fresh_database

LIVE = SqlLive()

MARIADB = (
    "CREATE TABLE live_shop.orders (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,"
    " price DECIMAL(10,2) COMMENT 'in euro', name VARCHAR(20)) COMMENT 'what was sold'"
)

POSTGRES = (
    "CREATE SCHEMA shop",
    "CREATE TABLE shop.orders (id bigserial PRIMARY KEY, price numeric(10,2), at timestamptz)",
    "COMMENT ON TABLE shop.orders IS 'what was sold'",
)


def source(url: str) -> tuple[Source, str]:
    """The database at an SQLAlchemy URL, and its location."""
    parts = sa.make_url(url)
    host = parts.host or str(parts.query["host"])
    user, password = parts.username or "", str(parts.password or "")
    engine = parts.get_backend_name()
    found = Source(engine, host, parts.port or 5432, parts.database or "", user, password)
    return found, host


@pytest.fixture
def mariadb(mariadb_url: str) -> Iterator[str]:
    """A MariaDB server with a shop in it."""
    engine = sa.create_engine(mariadb_url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE DATABASE live_shop")
        connection.exec_driver_sql(MARIADB)
    yield mariadb_url
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP DATABASE live_shop")
    engine.dispose()


@pytest.fixture
def postgres(postgres_url: str) -> Iterator[str]:
    """A PostgreSQL database with a shop in it."""
    with fresh_database(postgres_url) as url:
        engine = sa.create_engine(url)
        with engine.begin() as connection:
            for statement in POSTGRES:
                connection.exec_driver_sql(statement)
        engine.dispose()
        yield url


def test_mariadb_is_read(mariadb: str) -> None:
    found = source(mariadb)
    assert "live_shop" in LIVE.schemas(*found)
    assert not {"mysql", "sys", "information_schema"} & set(LIVE.schemas(*found))
    assert LIVE.tables(*found, "live_shop") == ["orders"]
    table = LIVE.table(*found, "live_shop", "orders")
    assert table is not None
    assert table.comment == "what was sold"
    assert [(one.name, one.type, one.nullable) for one in table.columns] == [
        ("id", "bigint(20)", False),
        ("price", "decimal(10, 2)", True),
        ("name", "varchar(20)", True),
    ]
    assert table.columns[0].counts_up
    assert table.columns[1].comment == "in euro"


def test_postgresql_is_read(postgres: str) -> None:
    found = source(postgres)
    assert LIVE.schemas(*found) == ["public", "shop"]
    assert LIVE.tables(*found, "shop") == ["orders"]
    table = LIVE.table(*found, "shop", "orders")
    assert table is not None
    assert table.comment == "what was sold"
    assert [(one.name, one.type) for one in table.columns] == [
        ("id", "bigint"),
        ("price", "numeric(10, 2)"),
        ("at", "timestamp with time zone"),
    ]


def test_what_is_not_there_is_nothing(postgres: str) -> None:
    found = source(postgres)
    assert LIVE.tables(*found, "none") == []
    assert LIVE.table(*found, "shop", "none") is None
    assert LIVE.table(*found, "none", "orders") is None
    assert LIVE.tables(*found, "pg_catalog") == []


def test_a_database_that_does_not_answer_tells_nothing() -> None:
    nowhere = Source("mysql", "127.0.0.1", 1, "shop", "ana", "hunter2")
    with pytest.raises(Unavailable) as caught:
        LIVE.schemas(nowhere, "127.0.0.1")
    assert str(caught.value) == "the database of the catalog did not answer"


def test_a_wrong_password_tells_nothing(mariadb: str) -> None:
    found, address = source(mariadb)
    wrong = Source("mysql", found.host, found.port, "", found.user, "hunter2")
    with pytest.raises(Unavailable) as caught:
        LIVE.schemas(wrong, address)
    assert str(caught.value) == "the database of the catalog did not answer"


def test_a_postgresql_that_does_not_answer_is_not_waited_for(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "LONGEST_SECONDS", 1.0)

    def sleep(database: sa.Inspector) -> None:
        connection = database.bind
        assert isinstance(connection, sa.Connection)
        connection.exec_driver_sql("SET statement_timeout = 0")
        connection.exec_driver_sql("SELECT pg_sleep(300)")

    with pytest.raises(Unavailable):
        live._query(*source(postgres_url), sleep)
