"""A real Trino whose Ranger plugin polls a realm: it also runs the OPA sessions.

It runs where Trino is installed (`scripts/install-trino.sh`), and needs Java 24 or newer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.testing import trino
from lakewarden.testing.trino import TrinoServer
from tests.http.opa.test_served import CONFIGURATION, ROOT, facts_of
from tests.http.opa.test_trino import (
    CLIENTS,
    LIMITED,
    LIMITS,
    OUTCOMES,
    Governed,
    governed_trino,
    outcome,
    wrong_outcomes,
)
from tests.http.opa.trino_server import need_trino
from tests.http.ranger.typed_masks import with_columns

pytestmark = pytest.mark.trino

POLL_MS: Final = 500
PATIENCE_SECONDS: Final = 60.0
SERVICE: Final = """
[ranger.gravitino]
metalake = "lk"
catalogs = { memory = "lake" }
services = { prod = "trino" }
append_only = ["memory"]
"""


def by_ranger(folder: Path, realm: str, token: str) -> Mapping[str, str]:
    """Polls of the realm's documents, with the changes since the last poll."""
    return access_control(
        folder, f"{realm}/ranger", service="prod", user="trino", password=token, deltas=True
    )


def access_control(
    folder: Path, address: str, *, service: str, user: str, password: str, deltas: bool = False
) -> Mapping[str, str]:
    """Trino's settings for its Ranger plugin, which polls the address."""
    plugin = "ranger.plugin.trino"
    security = {
        f"{plugin}.service.name": service,
        f"{plugin}.policy.source.impl": "org.apache.ranger.admin.client.RangerAdminRESTClient",
        f"{plugin}.policy.rest.url": address,
        f"{plugin}.policy.rest.client.username": user,
        f"{plugin}.policy.rest.client.password": password,
        f"{plugin}.policy.pollIntervalMs": str(POLL_MS),
        f"{plugin}.policy.cache.dir": str(folder / "cache"),
        f"{plugin}.supports.policy.deltas": str(deltas).lower(),
    }
    (folder / "cache").mkdir()
    files = (
        _written(folder / "security.xml", security),
        _written(folder / "audit.xml", {"xasecure.audit.is.enabled": "false"}),
    )
    return {
        "access-control.name": "ranger",
        "ranger.service.name": service,
        "ranger.plugin.config.resource": ",".join(map(str, files)),
    }


def _written(file: Path, properties: Mapping[str, str]) -> Path:
    rows = (
        f"<property><name>{name}</name><value>{escape(value)}</value></property>"
        for name, value in properties.items()
    )
    file.write_text(f"<configuration>{''.join(rows)}</configuration>")
    return file


def need_plugin() -> None:
    """Skips the test if there is no Trino with the plugin."""
    need_trino()
    home = trino.installed()
    if home is None or not (home / "plugin/ranger").is_dir():
        pytest.skip("Trino's plugin of Ranger is not installed (scripts/install-trino.sh)")


@pytest.fixture(name="governed", scope="module")
def _governed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Governed]:
    need_plugin()
    folder = tmp_path_factory.mktemp("ranger")
    facts = with_columns(facts_of(), Entity("table", "lk:lake.sales.clients"), TYPES)
    with governed_trino(folder, facts, CONFIGURATION + SERVICE, by_ranger) as governed:
        yield governed


def settled(
    governed: Governed, user: str, statement: str, expected: str | list[list[object]]
) -> None:
    """Waits until a statement has that outcome, because the plugin polls."""
    until(governed.trino, user, statement, expected)


def until(
    trino: TrinoServer, user: str, statement: str, expected: str | list[list[object]]
) -> None:
    """Waits until a statement has that outcome, because the plugin polls."""
    end = time.monotonic() + PATIENCE_SECONDS
    while wrong := wrong_outcomes(trino, [(user, statement, expected)]):
        assert time.monotonic() < end, wrong
        time.sleep(POLL_MS / 1000)


TYPES: Final = {"id": "integer", "region": "string", "iban": "string"}
STRICTER: Final[Mapping[tuple[str, str], str]] = {
    # The plugin's message differs.
    ("ana", "CREATE SCHEMA memory.sales"): "Cannot create schema sales",
    # The catalog refuses it before the plugin is called.
    (
        "ana",
        "GRANT SELECT ON memory.sales.orders TO USER eve",
    ): "does not support permission management",
    # `alter` also sets owners.
    ("olga", "COMMENT ON TABLE memory.sales.orders IS 'x'"): "Cannot comment table",
}
"""Outcomes that differ from those by OPA: other error messages, and omissions of documents."""

OF_ROWS: Final[Mapping[tuple[str, str], str]] = {
    ("bo", "INSERT INTO memory.sales.orders VALUES (1, 'eu')"): "Cannot insert into table",
    ("bo", "INSERT INTO memory.sales.clients VALUES (4, 'bo', 'x')"): "Cannot insert into table",
}
"""The plugin also requires `insert` for an UPDATE; not if no row can be changed."""

INSTEAD: Final = {("bo", "INSERT INTO memory.sales.orders VALUES (1, 'eu')"): "olga"}
"""The user who does it instead, because later statements read the result."""
Session = list[tuple[str, str, str | list[list[object]]]]


def expected_by_ranger(session: Session, *, append_only: bool = False) -> Session:
    """The statements of a session with their outcomes by Ranger's plugin."""
    steps: Session = []
    stricter = STRICTER if append_only else {**STRICTER, **OF_ROWS}
    for user, statement, wanted in session:
        refusal = stricter.get((user, statement))
        steps.append((user, statement, wanted if refusal is None else refusal))
        if (user, statement) in INSTEAD and refusal is not None:
            steps.append((INSTEAD[user, statement], statement, wanted))
    return steps


def test_statements_of_users_have_the_outcomes_that_they_have_by_opa(governed: Governed) -> None:
    asked = {(user, statement) for user, statement, _ in (*OUTCOMES, *LIMITED)}
    assert {*STRICTER, *OF_ROWS} <= asked
    assert wrong_outcomes(governed.trino, expected_by_ranger(OUTCOMES, append_only=True)) == []
    changed = outcome(governed.trino, "bo", "UPDATE memory.sales.orders SET region = 'us'")
    assert "does not support modifying table rows" in str(changed)


def test_rows_and_cells_are_those_that_filters_and_masks_leave(governed: Governed) -> None:
    assert wrong_outcomes(governed.trino, CLIENTS) == []
    for kind, id, body in LIMITS:
        path = f"/api/v1/realms/gravitino/{kind}/{id}"
        assert governed.served.ask("PUT", path, body, token=ROOT).status == 200
    settled(governed, "ana", "SELECT count(*) FROM memory.sales.clients", [[1]])
    assert wrong_outcomes(governed.trino, expected_by_ranger(LIMITED, append_only=True)) == []
    for _, id, _ in LIMITS:
        path = f"/api/v1/realms/gravitino/statements/{id}"
        assert governed.served.ask("DELETE", path, token=ROOT).status < 300
    read = "SELECT count(*), count(iban) FROM memory.sales.clients"
    settled(governed, "ana", read, [[3, 2]])


def test_a_grant_and_a_revoke_act_with_a_poll(governed: Governed) -> None:
    read = "SELECT count(*) FROM memory.sales.orders"
    path = "/api/v1/realms/gravitino/statements/SELECT_TABLE"
    settled(governed, "ana", read, [[1]])
    assert governed.served.ask("DELETE", path, token=ROOT).status == 204
    settled(governed, "ana", read, "Cannot select from columns")
    body = {"privileges": ["SELECT_TABLE"], "on": "schema:lk:lake.sales", "to": ["role:lk:reader"]}
    assert governed.served.ask("PUT", path, body, token=ROOT).status == 200
    settled(governed, "ana", read, [[1]])


def test_without_the_server_the_plugin_goes_by_what_it_has(governed: Governed) -> None:
    governed.served.stop()
    time.sleep(4 * POLL_MS / 1000)
    read = "SELECT count(*) FROM memory.sales.orders"
    assert outcome(governed.trino, "ana", read) == [[1]]
    found = outcome(governed.trino, "ana", "DROP TABLE memory.sales.orders")
    assert "Cannot drop table" in str(found)
