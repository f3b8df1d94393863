"""A suspended or removed user is denied, on every path that is not open to strangers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.datahub.http.wire import Wire, proposal

ANA = "urn:li:corpuser:ana"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
GONE: list[tuple[str, dict[str, Any]]] = [
    ("status", {"removed": True}),
    ("corpUserStatus", {"status": "SUSPENDED"}),
]


@pytest.mark.parametrize(("aspect", "value"), GONE)
def test_who_is_suspended_or_removed_reads_and_writes_nothing(
    wire: Wire, aspect: str, value: dict[str, Any]
) -> None:
    wire.grant("all", "EDIT_ENTITY", "VIEW_ENTITY_PAGE", "CREATE_ENTITY", to="ana")
    change = {"proposal": proposal(ORDERS, "status", {"removed": False}), "async": "false"}
    calls: list[tuple[str, str, object]] = [
        ("POST", "/aspects?action=ingestProposal", change),
        ("POST", "/api/gms/aspects?action=ingestProposal", change),
        ("GET", "/entitiesV2/urn%3Ali%3Atag%3Ax", None),
        ("GET", "/openapi/v3/entity/tag/urn%3Ali%3Atag%3Ax", None),
    ]
    before = [wire.ask(*call, user="ana")[0] for call in calls]
    assert 403 not in before
    wire.put((ANA, aspect, value))
    assert [wire.bad(*call, user="ana") for call in calls] == [403] * len(calls)
    assert wire.ask("GET", "/config", user="ana")[0] == 200


def test_whoever_comes_back_is_let_in_again(wire: Wire) -> None:
    wire.grant("all", "VIEW_ENTITY_PAGE", to="ana")
    read = ("GET", "/entitiesV2/urn%3Ali%3Atag%3Ax")
    wire.put((ANA, "status", {"removed": True}))
    assert wire.bad(*read, user="ana") == 403
    wire.put((ANA, "status", {"removed": False}))
    assert wire.ask(*read, user="ana")[0] == 200
