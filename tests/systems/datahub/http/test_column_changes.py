"""Columns added and removed with `schemaMetadata`, and row filters and column masks on them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from structlog.testing import capture_logs

from lakewarden.kernel.change import StatementAdded, StatementRemoved
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.actor import SYSTEM
from lakewarden.systems.datahub.settings import DataHubSettings
from tests.systems.datahub.http.test_aspect_calls import INGEST, ORDERS, proposal_body
from tests.systems.datahub.http.views import configure
from tests.systems.datahub.http.wire import REALM, Wire

TYPED = "[version=2.0].[type=struct].[type=string]"
FILTER = {"effect": "filter", "on": f"dataset:{ORDERS}", "expression": "region = 'eu'"}
MASK = {"effect": "mask", "on": f"schemaField:urn:li:schemaField:({ORDERS},iban)"}
MASK |= {"expression": "null"}
NEEDED = "columns of filters or masks are gone"


def schema(*paths: str) -> dict[str, Any]:
    return {"schemaName": "s", "fields": [{"fieldPath": path} for path in paths]}


def stated(wire: Wire, *tables: dict[str, Any]) -> None:
    system = wire.service.state.realm(REALM).system
    named = [{"id": f"limit-{n}", **table} for n, table in enumerate(tables)]
    statements = read_statements(named, system.model, system.spelling, "test")
    wire.service.write(SYSTEM, lambda d: d.change(REALM, *map(StatementAdded, statements)))


@pytest.fixture
def orders(wire: Wire) -> Wire:
    """A dataset that `eve` and `ida` may change, with three columns."""
    wire.put((ORDERS, "schemaMetadata", schema("id", "region", "iban")))
    for user in ("eve", "ida"):
        wire.grant(user, "EDIT_ENTITY", to=user, URN=[ORDERS])
    return wire


def put(wire: Wire, user: str, *paths: str, status: int = 200) -> str:
    body = proposal_body(ORDERS, "schemaMetadata", schema(*paths))
    found, answer = wire.ask("POST", INGEST, body, user)
    assert found == status, answer
    return str(answer.get("message", ""))


def details(wire: Wire) -> list[dict[str, Any]]:
    """The audit trail's details about columns that are in use."""
    bodies = (json.loads(row.body)["details"] for row in wire.audit())
    return [
        {name: one[name] for name in ("columns", "needed_by")}
        for one in bodies
        if "needed_by" in one
    ]


@pytest.mark.parametrize("limit", [FILTER, MASK])
@pytest.mark.parametrize(
    "paths",
    [
        ("id", "region"),
        ("id", "region", "iban", "more"),
        ("id", "region", "IBAN"),
        ("id", "region", "iban.part"),
        (),
    ],
)
def test_whom_a_filter_or_mask_binds_changes_no_columns(
    orders: Wire, limit: dict[str, Any], paths: tuple[str, ...]
) -> None:
    stated(orders, {**limit, "to": ["user:urn:li:corpuser:eve"]})
    assert "binds you" in put(orders, "eve", *paths, status=403)
    assert orders.aspects(ORDERS)["schemaMetadata"] == schema("id", "region", "iban")
    put(orders, "eve", "iban", f"{TYPED}.region", "id")  # the same columns
    put(orders, "ida", *paths)


def test_a_patch_and_a_deletion_change_columns_too(orders: Wire) -> None:
    stated(orders, {**FILTER, "to": ["user:urn:li:corpuser:eve"]})
    remove = [{"op": "remove", "path": "/fields/2"}]
    for value, change in ((remove, "PATCH"), ({}, "DELETE")):
        body = proposal_body(ORDERS, "schemaMetadata", value, change)
        if change == "DELETE":
            orders.grant("delete", "DELETE_ENTITY", "EDIT_ENTITY", to="eve", URN=[ORDERS])
        assert orders.bad("POST", INGEST, body, "eve") == 403


def test_what_was_not_described_before_is_described_by_anybody_who_may(wire: Wire) -> None:
    wire.put((ORDERS, "status", {"removed": False}))
    wire.grant("eve", "EDIT_ENTITY", to="eve", URN=[ORDERS])
    stated(wire, FILTER)
    put(wire, "eve", "id", "region")


@pytest.mark.parametrize(
    ("paths", "columns", "needed_by"),
    [
        (("id", "region"), ["iban"], ["limit-1"]),
        (("id", "iban"), ["region"], ["limit-0"]),
        (("id",), ["iban", "region"], ["limit-0", "limit-1"]),
        (("region", "iban"), [], []),
    ],
)
def test_columns_that_are_needed_go_with_a_warning(
    orders: Wire, paths: tuple[str, ...], columns: list[str], needed_by: list[str]
) -> None:
    to = {"to": ["user:urn:li:corpuser:eve"]}
    stated(orders, {**FILTER, **to}, {**MASK, **to})
    with capture_logs() as logs:
        put(orders, "ida", *paths)
    told = [{"columns": columns, "needed_by": needed_by}] if columns else []
    assert details(orders) == told
    lines = [one for one in logs if one["event"] == NEEDED]
    assert [{name: one[name] for name in ("columns", "needed_by")} for one in lines] == told
    statements = orders.service.state.realm(REALM).matrix.snapshot.table.statements
    assert {"limit-0", "limit-1"} <= statements.keys()


def test_columns_that_are_needed_are_kept_where_the_operator_says_so(orders: Wire) -> None:
    stated(orders, {**FILTER, "to": ["user:urn:li:corpuser:eve"]})
    orders.services = configure(orders.service, REALM, orders.services, {"needed_columns": "keep"})
    assert "needed by limit-0" in put(orders, "ida", "id", "iban", status=400)
    put(orders, "ida", "id", "region")
    orders.service.write(SYSTEM, lambda d: d.change(REALM, StatementRemoved("limit-0")))
    put(orders, "ida", "id")


def test_nothing_is_refused_where_nothing_is_decided(orders: Wire) -> None:
    stated(orders, FILTER)
    orders.services = configure(orders.service, REALM, orders.services, {"rest": False})
    assert isinstance(orders.services.of(DataHubSettings), DataHubSettings)
    put(orders, "nobody", "id", "iban")
