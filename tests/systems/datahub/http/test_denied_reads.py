"""Denied reads are recorded: the first at once, the others counted; also those by GraphQL."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from tests.systems.datahub.http.wire import Wire

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
READ = f"/entitiesV2/{quote(ORDERS, safe='')}"
VALUES = "/aspects?action=getTimeseriesAspectValues"


def denied(wire: Wire) -> list[dict[str, Any]]:
    rows = (json.loads(row.body) for row in wire.audit())
    return [row for row in rows if row["outcome"] == "deny"]


def test_the_first_denied_read_is_a_row_and_the_next_ones_are_counted(wire: Wire) -> None:
    wire.put((ORDERS, "status", {"removed": False}))
    revision = wire.service.state.revision
    for _ in range(5):
        assert wire.bad("GET", READ, user="eve") == 403
    (row,) = denied(wire)
    assert (row["actor"], row["operation"], row["target"]) == (
        "eve",
        "entity.read",
        f"dataset:{ORDERS}",
    )
    assert row["details"]["reads"] == 1
    later = wire.service.clock() + 61
    wire.service.clock = lambda: later
    assert wire.bad("GET", READ, user="eve") == 403
    assert [row["details"]["reads"] for row in denied(wire)] == [1, 5]
    assert wire.service.state.revision == revision


def test_each_user_and_operation_has_a_row_of_its_own(wire: Wire) -> None:
    for user in ("eve", "bob"):
        assert wire.bad("GET", READ, user=user) == 403
        asked = {"urn": ORDERS, "aspect": "datasetProfile"}
        assert wire.bad("POST", VALUES, asked, user) == 403
    told = {(row["actor"], row["operation"]) for row in denied(wire)}
    assert told == {
        (user, operation)
        for user in ("eve", "bob")
        for operation in ("entity.read", "timeseries.read")
    }


def test_what_is_allowed_or_left_out_of_a_list_leaves_no_row(wire: Wire) -> None:
    wire.put((ORDERS, "status", {"removed": False}))
    wire.good("GET", READ)
    assert wire.good("GET", "/openapi/v3/entity/dataset", user="eve")["entities"] == []
    assert denied(wire) == []
