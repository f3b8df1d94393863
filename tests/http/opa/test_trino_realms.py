"""A real Trino with a realm of DataHub, and one that queries two realms for every table.

It runs where Trino is installed (`scripts/install-trino.sh`), and needs Java 24 or newer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from lakewarden.service.decision_service import DecisionService
from lakewarden.store import open_store
from lakewarden.testing.trino import TrinoServer, trino_server
from tests.app.serving import server
from tests.http.opa.test_realms import CONFIGURATION, furnish
from tests.http.opa.test_served import ROOT
from tests.http.opa.test_trino import Outcome, by_opa, wrong_outcomes
from tests.http.opa.trino_server import need_trino

pytestmark = [pytest.mark.trino, pytest.mark.nightly]

ANA: Final = "urn:li:corpuser:ana"
FILLED: Final[list[Outcome]] = [
    ("mia", "CREATE SCHEMA c.sales", []),
    (
        "mia",
        "CREATE TABLE c.sales.orders (id integer, region varchar, buyer varchar, iban varchar)",
        [],
    ),
    ("mia", "CREATE TABLE c.sales.clients (id integer)", []),
    (
        "mia",
        f"INSERT INTO c.sales.orders VALUES (1, 'eu', '{ANA}', 'DE44500105175407'),"
        f" (2, 'us', '{ANA}', 'FR1420041010050500'), (3, 'eu', 'bo', NULL)",
        [[3]],
    ),
]
HUB: Final[list[Outcome]] = [
    ("mia", "CREATE SCHEMA c.hr", []),
    ("mia", "CREATE TABLE c.hr.people (id integer)", []),
    ("ana", "SHOW SCHEMAS FROM c", [["information_schema"], ["sales"]]),
    ("ana", "SHOW TABLES FROM c.sales", [["orders"]]),
    ("cleo", "SHOW TABLES FROM c.sales", [["clients"], ["orders"]]),
    ("cleo", "SELECT count(*) FROM c.hr.people", "Cannot select from columns"),
    ("eve", "SHOW SCHEMAS FROM c", "Cannot access catalog c"),
    # Only the user's own purchases, and no IBAN.
    ("ana", "SELECT id, iban FROM c.sales.orders", [[1, None], [2, None]]),
    ("ana", "SELECT id FROM c.sales.clients", "Cannot select from columns"),
    ("ana", "INSERT INTO c.sales.orders VALUES (4, 'eu', 'ana', 'x')", "Cannot insert into table"),
    ("cleo", "SELECT id, iban FROM c.sales.orders WHERE id = 1", [[1, "DE44500105175407"]]),
    ("cleo", "INSERT INTO c.sales.clients VALUES (7)", [[1]]),
    ("cleo", "CREATE TABLE c.sales.new (id integer)", []),
    ("cleo", "CREATE TABLE c.hr.new (id integer)", "Cannot create table"),
    ("cleo", "CREATE VIEW c.sales.all_orders AS SELECT 1 x", "Cannot create view"),
]
"""DataHub alone: `ana` may read one table of `sales`, `cleo` may read and change all."""

TOGETHER: Final[list[Outcome]] = [
    ("ana", "SHOW TABLES FROM c.sales", [["orders"]]),
    # The filters of both realms, and the strictest of the masks; `last4` of a number is NULL.
    ("ana", "SELECT id, region, iban FROM c.sales.orders", [[None, "****", None]]),
    ("ana", "SELECT id FROM c.sales.clients", "Cannot select from columns"),
    ("ana", "INSERT INTO c.sales.clients VALUES (1)", "Cannot insert into table"),
    ("bo", "SELECT id FROM c.sales.orders", "Cannot access catalog c"),
    ("cleo", "SELECT id FROM c.sales.orders", "Cannot execute query"),
]
"""Both realms must allow: Gravitino's allows `ana` and `bo`, DataHub's `ana` and `cleo`."""


@contextmanager
def governed(folder: Path, realm: str) -> Iterator[TrinoServer]:
    """A Trino that queries the realm."""
    with open_store(f"sqlite:///{folder}/store.db") as store:
        engine = furnish(DecisionService(store))
    (folder / "lakewarden.toml").write_text(CONFIGURATION)
    settings = ("--auth", "token", "--admin", "root", "--config", str(folder / "lakewarden.toml"))
    with server(folder, *settings, environment={"LAKEWARDEN_ROOT_TOKEN": ROOT}) as served:
        access = by_opa(folder, f"{served.address}/r/{realm}", engine)
        with trino_server(folder / "trino", {"c": "memory"}, access) as trino:
            yield trino


@pytest.mark.parametrize(("realm", "outcomes"), [("hub", HUB), ("lake", TOGETHER)])
def test_statements_end_as_the_realms_say(
    tmp_path: Path, realm: str, outcomes: list[Outcome]
) -> None:
    need_trino()
    with governed(tmp_path, realm) as trino:
        assert wrong_outcomes(trino, FILLED) == []
        assert wrong_outcomes(trino, outcomes) == []
