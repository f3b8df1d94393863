"""A real Trino with a realm: what users see, read and change, and when a change is visible.

It runs where Trino is installed (`scripts/install-trino.sh`), and needs Java 24 or newer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from lakewarden.kernel.relations import Facts
from lakewarden.service.decision_service import DecisionService
from lakewarden.store import open_store
from lakewarden.testing.trino import Refused, TrinoServer, trino_server
from tests.app.serving import Served, server
from tests.http.opa.test_served import CONFIGURATION, ROOT, furnish
from tests.http.opa.trino_server import need_trino

pytestmark = pytest.mark.trino

TIMES = {"opa.http-client.connect-timeout": "2s", "opa.http-client.request-timeout": "10s"}
CATALOGS = {"memory": "memory", "tpch": "tpch"}
OF_METADATA = ["columns", "tables", "views", "schemata", "table_privileges", "roles"]
OF_METADATA += ["applicable_roles", "enabled_roles"]

Outcome = tuple[str, str, str | list[list[object]]]
"""User, statement, and its rows or a part of its error message."""

OUTCOMES: list[Outcome] = [
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
"""User, statement, and its rows or a part of its error message; in sequence."""


class Governed:
    """A Trino, and the server that it queries."""

    def __init__(self, trino: TrinoServer, served: Served) -> None:
        self.trino, self.served = trino, served


AccessControl = Callable[[Path, str, str], Mapping[str, str]]
"""The properties for Trino's access control, by folder, address of the realm and token."""


def by_opa(_folder: Path, realm: str, token: str) -> Mapping[str, str]:
    """OPA requests to the realm."""
    at = f"{realm}/opa/v1"
    return {
        "access-control.name": "opa",
        "opa.policy.uri": f"{at}/allow?token={token}",
        "opa.policy.batched-uri": f"{at}/batch?token={token}",
        "opa.policy.row-filters-uri": f"{at}/row-filters?token={token}",
        "opa.policy.batch-column-masking-uri": f"{at}/batch-column-masks?token={token}",
        **TIMES,
    }


@contextmanager
def governed_trino(
    folder: Path,
    facts: Facts | None = None,
    configuration: str = CONFIGURATION,
    access_control: AccessControl = by_opa,
) -> Iterator[Governed]:
    """A private Trino and a private server, with the realm of `furnish`."""
    with open_store(f"sqlite:///{folder}/store.db") as store:
        engine, *_ = furnish(DecisionService(store), facts)
    (folder / "lakewarden.toml").write_text(configuration)
    settings = ("--auth", "token", "--admin", "root", "--config", str(folder / "lakewarden.toml"))
    with server(folder, *settings, environment={"LAKEWARDEN_ROOT_TOKEN": ROOT}) as served:
        access = access_control(folder, f"{served.address}/r/gravitino", engine)
        with trino_server(folder / "trino", CATALOGS, access) as trino:
            yield Governed(trino, served)


@pytest.fixture(name="governed", scope="module")
def _of_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Governed]:
    need_trino()
    with governed_trino(tmp_path_factory.mktemp("trino")) as governed:
        yield governed


def outcome(trino: TrinoServer, user: str, statement: str) -> list[list[object]] | str:
    try:
        return trino.rows(user, statement)
    except Refused as refused:
        return str(refused)


def wrong_outcomes(trino: TrinoServer, statements: list[Outcome]) -> list[tuple[str, str, object]]:
    """The statements with an unexpected outcome; the order of rows does not count."""
    wrong: list[tuple[str, str, object]] = []
    for user, statement, expected in statements:
        found = outcome(trino, user, statement)
        if isinstance(expected, str):
            right = isinstance(found, str) and expected in found
        else:
            right = isinstance(found, list) and sorted(map(str, found)) == sorted(
                map(str, expected)
            )
        if not right:
            wrong.append((user, statement, found))
    return wrong


def test_statements_of_users_have_the_outcomes_of_the_mapping(governed: Governed) -> None:
    assert wrong_outcomes(governed.trino, OUTCOMES) == []


LIMITS: tuple[tuple[str, str, dict[str, object]], ...] = (
    (
        "filters",
        "own-region",
        {
            "on": "table:lk:lake.sales.clients",
            "expression": "region = $user.name",
            "except": ["user:olga"],
        },
    ),
    (
        "masks",
        "iban",
        {
            "on": "table:lk:lake.sales.clients",
            "expression": "null",
            "to": ["user:ana"],
        },
    ),
    (
        "masks",
        "last4",
        {
            "on": "column:lk:lake.sales.clients.iban",
            "expression": "last4",
            "except": ["user:olga"],
        },
    ),
)
CLIENTS: list[Outcome] = [
    ("olga", "CREATE TABLE memory.sales.clients (id integer, region varchar, iban varchar)", []),
    (
        "olga",
        "INSERT INTO memory.sales.clients VALUES (1, 'ana', 'DE44500105175407'),"
        " (2, 'bo', 'FR1420041010050500'), (3, NULL, NULL)",
        [[3]],
    ),
]
LIMITED: list[Outcome] = [
    ("ana", "SELECT count(*) FROM memory.sales.clients", [[1]]),
    ("bo", "SELECT * FROM memory.sales.clients", [[2, "bo", "****0500"]]),
    ("ana", "SELECT * FROM memory.sales.clients", [[None, None, None]]),
    ("ana", "SELECT id FROM memory.sales.clients WHERE id = 1", []),
    ("bo", "SELECT id FROM memory.sales.clients WHERE iban LIKE 'FR%'", []),
    ("bo", "SELECT iban, count(*) FROM memory.sales.clients GROUP BY iban", [["****0500", 1]]),
    (
        "bo",
        "WITH c AS (SELECT * FROM memory.sales.clients) SELECT a.id FROM c a JOIN c b USING (iban)",
        [[2]],
    ),
    ("bo", "SELECT (SELECT max(iban) FROM memory.sales.clients)", [["****0500"]]),
    (
        "olga",
        "SELECT id, iban FROM memory.sales.clients",
        [[1, "DE44500105175407"], [2, "FR1420041010050500"], [3, None]],
    ),
    ("bo", "INSERT INTO memory.sales.clients VALUES (4, 'bo', 'x')", "with column masks is not"),
    # A view reads the table as its owner, so the owner's filters and masks apply.
    ("olga", "CREATE VIEW memory.sales.all_clients AS SELECT * FROM memory.sales.clients", []),
    ("olga", "SELECT count(*) FROM memory.sales.all_clients", [[3]]),
]


def test_rows_and_cells_are_those_that_filters_and_masks_leave(governed: Governed) -> None:
    assert wrong_outcomes(governed.trino, CLIENTS) == []
    for kind, id, body in LIMITS:
        path = f"/api/v1/realms/gravitino/{kind}/{id}"
        assert governed.served.ask("PUT", path, body, token=ROOT).status == 200
    assert wrong_outcomes(governed.trino, LIMITED) == []
    for _, id, _ in LIMITS:
        path = f"/api/v1/realms/gravitino/statements/{id}"
        assert governed.served.ask("DELETE", path, token=ROOT).status < 300
    read = "SELECT count(*), count(iban) FROM memory.sales.clients"
    assert outcome(governed.trino, "ana", read) == [[3, 2]]


def test_a_change_is_seen_by_the_next_statement(governed: Governed) -> None:
    read = "SELECT count(*) FROM memory.sales.orders"
    assert outcome(governed.trino, "ana", read) == [[1]]
    statement = "/api/v1/realms/gravitino/statements/SELECT_TABLE"
    assert governed.served.ask("DELETE", statement, token=ROOT).status == 204
    found = outcome(governed.trino, "ana", read)
    assert isinstance(found, str)
    assert "Cannot select from" in found


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1",
        "SHOW CATALOGS",
        "SHOW TABLES FROM memory.sales",
        "SELECT count(*) FROM memory.sales.orders",
    ],
)
def test_a_refusal_shows_no_address_and_no_token(governed: Governed, statement: str) -> None:
    """The realm temporarily does not serve Trino."""

    def serves(settings: Mapping[str, str]) -> None:
        body = {"settings": settings}
        answer = governed.served.ask("PATCH", "/api/v1/realms/gravitino", body, token=ROOT)
        assert answer.status == 200, answer.body

    serves({})
    found = outcome(governed.trino, "olga", statement)
    serves({"trino": "on"})
    assert isinstance(found, str)
    assert "Failed to deserialize OPA policy response" in found
    assert [word for word in ("token", "lw_", "opa/v1", "127.0.0.1") if word in found] == []
    assert not isinstance(outcome(governed.trino, "olga", statement), str)


def test_without_the_server_trino_denies(governed: Governed) -> None:
    governed.served.stop()
    found = outcome(governed.trino, "olga", "SELECT count(*) FROM memory.sales.orders")
    assert isinstance(found, str)
