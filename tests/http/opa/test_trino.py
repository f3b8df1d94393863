"""A real Trino that asks a realm: what users see, read and change, and when a change is seen.

It runs where Trino is installed (`scripts/install-trino.sh`), and needs Java 24 or newer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lakewarden.service.decision_service import DecisionService
from lakewarden.store import open_store
from tests.app.serving import Served, server
from tests.http.opa.test_served import CONFIGURATION, ROOT, furnish
from tests.http.opa.trino_server import Refused, TrinoServer, home, java, trino_server

pytestmark = pytest.mark.trino

OF_METADATA = ["columns", "tables", "views", "schemata", "table_privileges", "roles"]
OF_METADATA += ["applicable_roles", "enabled_roles"]

OUTCOMES: list[tuple[str, str, str | list[list[object]]]] = [
    ("eve", "SELECT 1", "Cannot execute query"),
    ("gone", "SELECT 1", "Cannot execute query"),
    ("ana", "SELECT 1", [[1]]),
    ("ana", "SELECT lower('A')", [["a"]]),
    ("ana", "SHOW CATALOGS", [["memory"], ["system"]]),
    ("olga", "SHOW CATALOGS", [["memory"], ["system"]]),
    ("ana", "SHOW SCHEMAS FROM tpch", "Cannot access catalog tpch"),
    ("olga", "SELECT * FROM tpch.tiny.nation", "Cannot access catalog tpch"),
    ("ana", "CREATE SCHEMA memory.sales", "Cannot create schema memory.sales"),
    ("olga", "CREATE SCHEMA memory.sales", []),
    ("olga", "CREATE SCHEMA memory.hr", []),
    ("ana", "SHOW SCHEMAS FROM memory", [["information_schema"], ["sales"]]),
    ("olga", "SHOW SCHEMAS FROM memory", [["hr"], ["information_schema"], ["sales"]]),
    ("bo", "CREATE TABLE memory.sales.orders (id integer)", "Cannot create table"),
    ("olga", "CREATE TABLE memory.sales.orders (id integer, region varchar)", []),
    ("olga", "CREATE TABLE memory.hr.people (id integer)", []),
    ("olga", "CREATE TABLE memory.absent.orders (id integer)", "Cannot create table"),
    ("ana", "INSERT INTO memory.sales.orders VALUES (1, 'eu')", "Cannot insert into table"),
    ("bo", "INSERT INTO memory.sales.orders VALUES (1, 'eu')", [[1]]),
    ("ana", "SELECT * FROM memory.sales.orders", [[1, "eu"]]),
    ("ana", "SELECT region FROM memory.sales.orders WHERE id = 1", [["eu"]]),
    ("ana", "SELECT count(*) FROM memory.sales.orders", [[1]]),
    ("ana", "SELECT count(*) FROM memory.hr.people", "Cannot select from"),
    ("bo", "SELECT * FROM memory.hr.people", "Cannot select from columns [id]"),
    ("bo", "INSERT INTO memory.hr.people SELECT id FROM memory.sales.orders", "Cannot insert"),
    ("olga", "INSERT INTO memory.hr.people SELECT id FROM memory.sales.orders", [[1]]),
    ("ana", "SELECT o.id FROM memory.sales.orders o, memory.hr.people p", "Cannot select from"),
    ("ana", "SHOW TABLES FROM memory.sales", [["orders"]]),
    ("ana", "SHOW TABLES FROM memory.hr", "Cannot show tables of schema memory.hr"),
    ("olga", "SHOW TABLES FROM memory.hr", [["people"]]),
    ("ana", "SHOW COLUMNS FROM memory.hr.people", "Cannot show columns of table memory.hr.people"),
    (
        "ana",
        "SELECT column_name FROM memory.information_schema.columns WHERE table_schema = 'sales'",
        [["id"], ["region"]],
    ),
    (
        "ana",
        "SELECT table_name FROM memory.information_schema.tables WHERE table_schema <> 'sales'",
        [[name] for name in sorted(OF_METADATA)],
    ),
    ("ana", "SHOW CREATE TABLE memory.hr.people", "Cannot show create table"),
    ("bo", "ALTER TABLE memory.sales.orders RENAME TO memory.sales.kept", "Cannot rename table"),
    ("bo", "ALTER TABLE memory.sales.orders ADD COLUMN more integer", "Cannot add a column"),
    ("bo", "COMMENT ON TABLE memory.sales.orders IS 'x'", "Cannot comment table"),
    ("olga", "COMMENT ON TABLE memory.sales.orders IS 'x'", []),
    ("bo", "TRUNCATE TABLE memory.sales.orders", "Cannot truncate table"),
    ("bo", "DELETE FROM memory.sales.orders", "Cannot delete from table"),
    ("bo", "DROP TABLE memory.sales.orders", "Cannot drop table"),
    ("ana", "CREATE VIEW memory.sales.own AS SELECT 1 AS one", "Cannot create view"),
    ("olga", "CREATE VIEW memory.sales.totals AS SELECT count(*) n FROM memory.sales.orders", []),
    ("olga", "SELECT * FROM memory.sales.totals", [[1]]),
    ("ana", "SELECT * FROM memory.sales.totals", "Cannot select from columns [n]"),
    ("ana", "DROP VIEW memory.sales.totals", "Cannot drop view"),
    ("olga", "ALTER SCHEMA memory.hr RENAME TO staff", "Cannot rename schema"),
    ("olga", "ALTER TABLE memory.hr.people SET AUTHORIZATION ana", "Cannot set authorization"),
    ("olga", "DROP TABLE memory.hr.people", []),
    ("ana", "DROP SCHEMA memory.hr", "Cannot drop schema"),
    ("olga", "DROP SCHEMA memory.hr", []),
    ("ana", "GRANT SELECT ON memory.sales.orders TO USER eve", "Cannot grant privilege"),
    ("ana", "SELECT * FROM system.runtime.nodes", "Cannot select from"),
    ("ana", 'SELECT DISTINCT "user" FROM system.runtime.queries', [["ana"]]),
    (
        "ana",
        "SELECT catalog_name FROM system.metadata.catalogs ORDER BY 1",
        [["memory"], ["system"]],
    ),
    ("ana", "SET SESSION query_priority = 1", []),
]
"""User, statement, and its rows or what the refusal contains; one after the other."""


class Governed:
    """A Trino, and the server that it asks."""

    def __init__(self, trino: TrinoServer, served: Served) -> None:
        self.trino, self.served = trino, served


@contextmanager
def _governed(folder: Path) -> Iterator[Governed]:
    with open_store(f"sqlite:///{folder}/store.db") as store:
        engine, *_ = furnish(DecisionService(store))
    (folder / "lakewarden.toml").write_text(CONFIGURATION)
    settings = ("--auth", "token", "--admin", "root", "--config", str(folder / "lakewarden.toml"))
    with server(folder, *settings, environment={"LAKEWARDEN_ROOT_TOKEN": ROOT}) as served:
        at = f"{served.address}/r/gravitino/opa/v1"
        access = {
            "access-control.name": "opa",
            "opa.policy.uri": f"{at}/allow?token={engine}",
            "opa.policy.batched-uri": f"{at}/batch?token={engine}",
            "opa.policy.row-filters-uri": f"{at}/row-filters?token={engine}",
            "opa.policy.batch-column-masking-uri": f"{at}/batch-column-masks?token={engine}",
        }
        with trino_server(folder / "trino", access) as trino:
            yield Governed(trino, served)


@pytest.fixture(name="governed", scope="module")
def _of_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Governed]:
    java()
    home()
    with _governed(tmp_path_factory.mktemp("trino")) as governed:
        yield governed


def outcome(trino: TrinoServer, user: str, statement: str) -> list[list[object]] | str:
    try:
        return trino.rows(user, statement)
    except Refused as refused:
        return str(refused)


def test_statements_of_users_have_the_outcomes_of_the_mapping(governed: Governed) -> None:
    wrong = []
    for user, statement, expected in OUTCOMES:
        found = outcome(governed.trino, user, statement)
        if isinstance(expected, str):
            right = isinstance(found, str) and expected in found
        else:
            right = isinstance(found, list) and sorted(map(str, found)) == sorted(
                map(str, expected)
            )
        if not right:
            wrong.append((user, statement, found))
    assert wrong == []


def test_a_change_is_seen_by_the_next_statement(governed: Governed) -> None:
    read = "SELECT count(*) FROM memory.sales.orders"
    assert outcome(governed.trino, "ana", read) == [[1]]
    statement = "/api/v1/realms/gravitino/statements/SELECT_TABLE"
    assert governed.served.ask("DELETE", statement, token=ROOT).status == 204
    found = outcome(governed.trino, "ana", read)
    assert isinstance(found, str)
    assert "Cannot select from" in found


def test_without_the_server_trino_denies(governed: Governed) -> None:
    governed.served.stop()
    found = outcome(governed.trino, "olga", "SELECT count(*) FROM memory.sales.orders")
    assert isinstance(found, str)
