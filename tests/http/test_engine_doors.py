"""Hostile engines: tokens that must not be logged, batches that are too large, SQL in names."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import sqlglot
from sqlglot import exp

from lakewarden.config.engines import RangerRealm
from lakewarden.http.exchange import Route
from lakewarden.http.opa.dialect import BATCH_BYTES, Opa
from lakewarden.http.opa.question import MOST_RESOURCES
from lakewarden.http.ranger.dialect import Ranger
from lakewarden.service.decision_service import DecisionService
from lakewarden.store import open_store
from tests.app.serving import server
from tests.http.opa.test_served import CONFIGURATION, ROOT, Trino, furnish, refusal, table

RANGER = """
[ranger.gravitino]
metalake = "lk"
catalogs = { memory = "lake" }
services = { prod = "trino" }
"""
ROUTES = [*Opa({}, {}).routes(), *Ranger({"gravitino": RangerRealm()}).routes()]
SQL = (
    "orders; drop table people",
    "orders'--",
    'orders" or "1"="1',
    "orders`",
    "`orders`",
    "orders/**/union/**/select",
    "orders\n",
    "orders\0",
    "sales.orders",
    "orders.id",
    "lk:lake.sales.orders",
    "table:lk:lake.sales.orders",
    "*",
    "%",
    "order_",
    "ORDERS",
    "orders ",
    "\u2024orders",
    "\uff4frders",
    "../orders",
    "orders%2f",
    "${orders}",
    "",
)


@pytest.fixture(name="trino", scope="module")
def _trino(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trino]:
    folder = tmp_path_factory.mktemp("doors")
    with open_store(f"sqlite:///{folder}/store.db") as store:
        tokens = furnish(DecisionService(store))
    (folder / "lakewarden.toml").write_text(CONFIGURATION + RANGER)
    words = ("--auth", "token", "--admin", "root", "--config", str(folder / "lakewarden.toml"))
    environment = {"LAKEWARDEN_ROOT_TOKEN": ROOT}
    with server(folder, *words, "--log-level", "debug", environment=environment) as served:
        yield Trino(served, *tokens)


def path(route: Route) -> str:
    return f"/r/gravitino{route.path}".replace("{service}", "prod")


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: str(route.path))
def test_the_token_in_an_address_is_written_nowhere(trino: Trino, route: Route) -> None:
    served, token = trino.served, trino.engine
    where = path(route)
    bodies = (None, b"", b"{", b"[" * 5_000, b'{"input": 1}', token.encode())
    for query in (
        f"?token={token}",
        f"?token={token}&token={token}",
        f"?x={token}&token={token}#",
        f"?token=%6c{token[1:]}",
        f"?Token={token}",
    ):
        for body in bodies if route.method == "POST" else (None,):
            served.ask(route.method, f"{where}{query}", body)
        served.ask("PATCH", f"{where}{query}")
        served.ask(route.method, f"{where}/../x/%2e%2e{query}")
    served.raw(f"{route.method} {where}?token={token} HTTP/9.9\r\n\r\n".encode(), 1.0)
    written = served.log.read_text()
    assert where in written
    assert token not in written
    assert token[1:] not in written
    assert token not in served.ask("GET", "/metrics", token=ROOT).body.decode()
    assert token not in served.ask("GET", "/api/v1/audit", token=ROOT).body.decode()


def batch(count: int) -> dict[str, object]:
    tables = [{"table": table("sales.orders")}] * count
    action = {"operation": "FilterTables", "filterResources": tables}
    return {"input": {"context": {"identity": {"user": "ana"}}, "action": action}}


@pytest.mark.parametrize("name", ["batch", "batch-column-masks"])
def test_a_batch_that_is_too_large_is_refused_whole(trino: Trino, name: str) -> None:
    status, body = refusal(trino.post(name, batch(MOST_RESOURCES + 1)))
    assert status == 400
    assert "100,001 resources, at most 100,000" in body["message"]
    padded = json.dumps(batch(1)).encode() + b" " * BATCH_BYTES
    assert refusal(trino.post(name, padded))[0] == 413
    single = json.dumps(batch(1)).encode() + b" " * (2 << 20)
    assert refusal(trino.post("allow", single))[0] == 413
    deep = b'{"input": ' + b'{"a": ' * 100_000
    assert refusal(trino.post(name, deep))[0] == 400
    assert trino.result("batch", "ana", {"operation": "FilterTables", "filterResources": [
        {"table": table("sales.orders")}]}) == [0]  # fmt: skip


@pytest.mark.parametrize("name", SQL)
def test_sql_in_a_name_names_nothing(trino: Trino, name: str) -> None:
    named = {"catalogName": "memory", "schemaName": "sales", "tableName": name}
    in_schema = {"catalogName": "memory", "schemaName": name, "tableName": "orders"}
    in_catalog = {"catalogName": name, "schemaName": "sales", "tableName": "orders"}
    for resource in (named, in_schema, in_catalog):
        for operation in ("SelectFromColumns", "FilterTables", "InsertIntoTable", "DropTable"):
            assert not trino.allows("olga", operation, table={**resource, "columns": ["id"]})
        action = {"operation": "FilterTables", "filterResources": [{"table": resource}]}
        assert trino.result("batch", "olga", action) == []


USERS = ("x' or '1'='1", "x'' or true --", "x\\' or true --", "x\u2019 or 1=1", "$user.name", "x;y")


def test_sql_in_the_name_of_a_user_stays_a_text(trino: Trino) -> None:
    limit = {"on": "table:lk:lake.sales.orders", "expression": "region = $user.name"}
    where = "/api/v1/realms/gravitino/filters/own"
    assert trino.served.ask("PUT", where, limit, token=ROOT).status == 200
    for user in USERS:
        read = {"operation": "GetRowFilters", "resource": {"table": table("sales.orders")}}
        (found,) = trino.result("row-filters", user, read)
        condition = sqlglot.parse_one(found["expression"], read="trino")
        assert isinstance(condition, exp.EQ), found
        assert isinstance(condition.this, exp.Column)
        assert isinstance(condition.expression, exp.Literal)
        assert condition.expression.name == user
    assert (
        trino.served.ask("DELETE", where.replace("filters", "statements"), token=ROOT).status < 300
    )
