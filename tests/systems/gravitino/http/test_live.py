"""Live catalogs: a database's objects are listed, loaded and guarded like all others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
import sqlalchemy as sa

from lakewarden.store.live import SqlLive
from lakewarden.systems.gravitino.settings import GravitinoSettings
from tests.systems.gravitino.http.small_lake import COLUMNS, ML
from tests.systems.gravitino.http.test_authorization import FORBIDDEN, grant
from tests.systems.gravitino.http.wire import Json, Wire

C = f"{ML}/catalogs/shop"
S = f"{C}/schemas/live_sales"
UNSUPPORTED = (405, 1006, "UnsupportedOperationException")
FAILED = (502, 1007, "ConnectionFailedException")


@pytest.fixture
def engine(mariadb_url: str) -> Iterator[sa.Engine]:
    """A database with two tables."""
    found = sa.create_engine(mariadb_url)
    with found.begin() as connection:
        connection.exec_driver_sql("CREATE DATABASE live_sales")
        for name in ("orders", "refunds"):
            connection.exec_driver_sql(f"CREATE TABLE live_sales.{name} (id BIGINT, n VARCHAR(9))")
    yield found
    with found.begin() as connection:
        connection.exec_driver_sql("DROP DATABASE IF EXISTS live_sales")
    found.dispose()


@pytest.fixture
def live(lake: Wire, engine: sa.Engine) -> Wire:
    """The lake with a catalog of that database, whose host is listed."""
    url = engine.url
    listed = GravitinoSettings(jdbc_hosts=(f"127.0.0.1:{url.port}", "127.0.0.1"))
    lake.services = replace(lake.services, systems={"gravitino": listed}, live=SqlLive())
    lake.good("POST", f"{ML}/catalogs", catalog("shop", url))
    return lake


def catalog(name: str, url: sa.URL, **properties: str) -> Json:
    own = {
        "jdbc-url": f"jdbc:mysql://127.0.0.1:{url.port}",
        "jdbc-user": str(url.username),
        "jdbc-password": str(url.password),
        **properties,
    }
    return {"name": name, "type": "relational", "provider": "jdbc-mysql", "properties": own}


def names(answer: Json) -> list[str]:
    return [one["name"] for one in answer["identifiers"]]


def run(engine: sa.Engine, sql: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(sql)


def test_what_the_database_has_is_listed_and_loaded(live: Wire) -> None:
    assert "live_sales" in names(live.good("GET", f"{C}/schemas"))
    assert names(live.good("GET", f"{S}/tables")) == ["orders", "refunds"]
    table = live.good("GET", f"{S}/tables/orders")["table"]
    assert [(one["name"], one["type"]) for one in table["columns"]] == [
        ("id", "long"),
        ("n", "varchar(9)"),
    ]


def test_a_table_is_loaded_before_anything_was_listed(live: Wire) -> None:
    assert live.good("GET", f"{S}/tables/refunds")["table"]["name"] == "refunds"


def test_what_is_found_has_no_owner(live: Wire) -> None:
    live.good("GET", f"{S}/tables/orders")
    for path in ("schema/shop.live_sales", "table/shop.live_sales.orders"):
        assert live.good("GET", f"{ML}/owners/{path}") == {"code": 0}


def test_lists_are_filtered_like_any_other(live: Wire) -> None:
    live.good("GET", f"{S}/tables/orders")
    assert live.bad("GET", f"{S}/tables", user="eve") == FORBIDDEN
    grant(live, "eve", "catalog shop", "USE_CATALOG")
    grant(live, "eve", "schema shop.live_sales", "USE_SCHEMA")
    grant(live, "eve", "table shop.live_sales.refunds", "SELECT_TABLE")
    assert names(live.good("GET", f"{S}/tables", user="eve")) == ["refunds"]
    assert live.bad("GET", f"{S}/tables/orders", user="eve") == FORBIDDEN


def test_whoever_may_not_load_causes_no_look(live: Wire) -> None:
    before = live.service.state.revision
    assert live.bad("GET", f"{S}/tables/orders", user="eve") == FORBIDDEN
    assert live.bad("GET", f"{C}/schemas", user="eve") == FORBIDDEN
    assert live.service.state.revision == before


def test_the_database_is_followed(live: Wire, engine: sa.Engine) -> None:
    assert names(live.good("GET", f"{S}/tables")) == ["orders", "refunds"]
    run(engine, "CREATE TABLE live_sales.notes (id BIGINT)")
    run(engine, "DROP TABLE live_sales.orders")
    assert live.bad("GET", f"{S}/tables/orders") == (404, 1003, "NoSuchTableException")
    assert names(live.good("GET", f"{S}/tables")) == ["notes", "refunds"]
    run(engine, "DROP DATABASE live_sales")
    assert live.bad("GET", S) == (404, 1003, "NoSuchSchemaException")
    assert "live_sales" not in names(live.good("GET", f"{C}/schemas"))


def test_a_list_that_changes_nothing_writes_nothing(live: Wire) -> None:
    live.good("GET", f"{S}/tables")
    before = live.service.state.revision
    live.good("GET", f"{S}/tables")
    live.good("GET", f"{C}/schemas")
    assert live.service.state.revision == before


def test_what_is_made_again_outside_starts_without_grants(live: Wire, engine: sa.Engine) -> None:
    live.good("GET", f"{S}/tables")
    grant(live, "eve", "catalog shop", "USE_CATALOG", "USE_SCHEMA")
    grant(live, "eve", "table shop.live_sales.orders", "SELECT_TABLE")
    run(engine, "DROP TABLE live_sales.orders")
    live.good("GET", f"{S}/tables")
    run(engine, "CREATE TABLE live_sales.orders (id BIGINT)")
    assert names(live.good("GET", f"{S}/tables", user="eve")) == []


def test_nothing_is_written_to_the_database(live: Wire) -> None:
    live.good("GET", f"{S}/tables")
    update = {"updates": [{"@type": "setProperty", "property": "a", "value": "b"}]}
    assert live.bad("POST", f"{C}/schemas", {"name": "x"}) == UNSUPPORTED
    assert live.bad("PUT", S, update) == UNSUPPORTED
    assert live.bad("DELETE", S) == UNSUPPORTED
    table = {"name": "x", "columns": COLUMNS}
    assert live.bad("POST", f"{S}/tables", table) == UNSUPPORTED
    assert live.bad("PUT", f"{S}/tables/orders", update) == UNSUPPORTED
    assert live.bad("DELETE", f"{S}/tables/orders") == UNSUPPORTED
    assert live.bad("DELETE", f"{S}/tables/orders", user="eve") == FORBIDDEN


def test_a_connection_is_tested_for_real(live: Wire, engine: sa.Engine) -> None:
    path = f"{ML}/catalogs/testConnection"
    assert live.ask("POST", path, catalog("new", engine.url)) == (200, {"code": 0})
    status, answer = live.ask("POST", path, catalog("new", engine.url, **{"jdbc-password": "no"}))
    assert (status, answer["code"], answer["type"]) == (200, *FAILED[1:])
    assert answer["message"] == "the database of the catalog did not answer"
    wrong = {"@type": "setProperty", "property": "jdbc-password", "value": "no"}
    assert live.ask("POST", f"{C}/testConnection") == (200, {"code": 0})
    assert live.ask("POST", f"{C}/testConnection", {"updates": [wrong]})[1]["code"] == 1007


def test_a_database_that_is_away_is_said_to_be_and_nothing_is_lost(
    live: Wire, engine: sa.Engine
) -> None:
    live.good("GET", f"{S}/tables")
    away = {"updates": [{"@type": "setProperty", "property": "jdbc-password", "value": "no"}]}
    live.good("PUT", C, away)
    assert live.bad("GET", f"{S}/tables") == FAILED
    assert live.bad("GET", f"{C}/schemas") == FAILED
    back = {"@type": "setProperty", "property": "jdbc-password", "value": str(engine.url.password)}
    live.good("PUT", C, {"updates": [back]})
    assert names(live.good("GET", f"{S}/tables")) == ["orders", "refunds"]


def test_a_host_that_is_not_listed_is_never_contacted(live: Wire, engine: sa.Engine) -> None:
    live.services = replace(
        live.services,
        systems={"gravitino": GravitinoSettings(jdbc_hosts=("db.example",))},
        live=SqlLive(),
    )
    live.good("POST", f"{ML}/catalogs", catalog("plain", engine.url))
    assert names(live.good("GET", f"{ML}/catalogs/plain/schemas")) == []
    live.good("POST", f"{ML}/catalogs/plain/schemas", {"name": "own"})
    path = f"{ML}/catalogs/testConnection"
    wrong = catalog("new", engine.url, **{"jdbc-password": "no"})
    assert live.ask("POST", path, wrong) == (200, {"code": 0})
