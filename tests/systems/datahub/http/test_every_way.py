"""T-33: a forbidden write is forbidden in every way of writing, and so is a deletion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from tests.systems.datahub.http.wire import Wire, proposal

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
STOCK = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.stock,PROD)"
EVE = "urn:li:corpuser:eve"
PRODUCT = "urn:li:dataProduct:p"
QUERY = "urn:li:query:q"
SHIPPED = "urn:li:dataHubPolicy:admin-platform-policy"
HR, HR_PART, SALES, SALES_PART = (
    f"urn:li:domain:{name}" for name in ("hr", "hr-part", "sales", "sales-part")
)
ROLE = "urn:li:dataHubRole:Reader"
INTO_SALES = {"domains": [SALES]}

Send = Callable[[Wire, str, str, dict[str, Any]], int]


def _status(wire: Wire, path: str, body: object, method: str = "POST") -> int:
    return wire.ask(method, path, body, "eve")[0]


def by_proposal(wire: Wire, urn: str, aspect: str, value: dict[str, Any]) -> int:
    body = {"proposal": proposal(urn, aspect, value)}
    return _status(wire, "/aspects?action=ingestProposal", body)


def by_batch(wire: Wire, urn: str, aspect: str, value: dict[str, Any]) -> int:
    body = {"proposals": [proposal(urn, aspect, value)], "async": "true"}
    return _status(wire, "/aspects?action=ingestProposalBatch", body)


def by_patch(wire: Wire, urn: str, aspect: str, value: dict[str, Any]) -> int:
    patch = [{"op": "add", "path": f"/{key}", "value": inner} for key, inner in value.items()]
    body = {"proposal": proposal(urn, aspect, patch, "PATCH")}
    return _status(wire, "/aspects?action=ingestProposal", body)


def by_snapshot(wire: Wire, urn: str, aspect: str, value: dict[str, Any]) -> int:
    type = urn.split(":")[2]
    record = f"com.linkedin.x.{aspect[0].upper()}{aspect[1:]}"
    body = {"urn": urn, "aspects": [{record: value}]}
    name = f"com.linkedin.metadata.snapshot.{type[0].upper()}{type[1:]}Snapshot"
    return _status(wire, "/entities?action=ingest", {"entity": {"value": {name: body}}})


def by_entity(wire: Wire, urn: str, aspect: str, value: dict[str, Any]) -> int:
    body = [{"urn": urn, aspect: {"value": value}}]
    return _status(wire, f"/openapi/v3/entity/{urn.split(':')[2]}", body)


def by_aspect(wire: Wire, urn: str, aspect: str, value: dict[str, Any]) -> int:
    path = f"/openapi/v3/entity/{urn.split(':')[2]}/{quote(urn, safe='')}/{aspect}"
    return _status(wire, f"{path}?createIfNotExists=false", {"value": value})


def by_open_patch(wire: Wire, urn: str, aspect: str, value: dict[str, Any]) -> int:
    patch = [{"op": "add", "path": f"/{key}", "value": inner} for key, inner in value.items()]
    body = [{"urn": urn, aspect: {"value": {"patch": patch}}}]
    return _status(wire, f"/openapi/v3/entity/{urn.split(':')[2]}", body, "PATCH")


WAYS = (by_proposal, by_batch, by_patch, by_snapshot, by_entity, by_aspect, by_open_patch)

POLICY: dict[str, Any] = {
    "displayName": "mine",
    "description": "",
    "type": "PLATFORM",
    "state": "ACTIVE",
    "privileges": ["MANAGE_POLICIES"],
    "actors": {"users": [EVE], "resourceOwners": False},
}

FORBIDDEN: list[tuple[str, str, dict[str, Any]]] = [
    (EVE, "roleMembership", {"roles": ["urn:li:dataHubRole:Admin"]}),
    (EVE, "groupMembership", {"groups": ["urn:li:corpGroup:staff"]}),
    (EVE, "nativeGroupMembership", {"nativeGroups": ["urn:li:corpGroup:staff"]}),
    ("urn:li:dataHubPolicy:mine", "dataHubPolicyInfo", POLICY),
    (SHIPPED, "dataHubPolicyInfo", POLICY),
    (ORDERS, "globalTags", {"tags": []}),
    (ORDERS, "logicalParent", {"parent": {"destinationUrn": STOCK}}),
    (STOCK, "datasetProperties", {"name": "mine"}),
    (PRODUCT, "dataProductProperties", {"assets": [{"destinationUrn": STOCK}]}),
    (QUERY, "querySubjects", {"subjects": [{"entity": STOCK}]}),
    (STOCK, "domains", INTO_SALES),
    (HR, "domains", INTO_SALES),
    (HR_PART, "domains", INTO_SALES),
    (HR_PART, "domainProperties", {"name": "x", "parentDomain": SALES}),
    (SALES_PART, "domainProperties", {"name": "x", "parentDomain": HR}),
    (ROLE, "domains", INTO_SALES),
    (ROLE, "dataHubRoleInfo", {"name": "mine", "description": "", "editable": True}),
]
"""Writes denied to eve, although she may write users, all of sales, and ORDERS with limits."""


@pytest.fixture
def small(wire: Wire) -> Wire:
    """Eve has many permissions, but none of those in FORBIDDEN."""
    wire.put(
        (ORDERS, "globalTags", {"tags": [{"tag": "urn:li:tag:pii"}]}),
        (STOCK, "status", {"removed": False}),
        (PRODUCT, "dataProductProperties", {"assets": []}),
        (QUERY, "querySubjects", {"subjects": [{"entity": ORDERS}]}),
        (EVE, "corpUserInfo", {"active": True}),
        (HR, "domainProperties", {"name": "hr"}),
        (HR_PART, "domainProperties", {"name": "part", "parentDomain": HR}),
        (SALES, "domainProperties", {"name": "sales"}),
        (SALES_PART, "domainProperties", {"name": "part", "parentDomain": SALES}),
        (ROLE, "dataHubRoleInfo", {"name": "Reader", "description": "", "editable": False}),
    )
    wire.grant("sales", "EDIT_ENTITY", "CREATE_ENTITY", to="eve", DOMAIN=[SALES])
    wire.grant("people", "UPDATE_USERS", to="eve")
    wire.grant("queries", "EDIT_ENTITY_QUERIES", to="eve", URN=[ORDERS])
    wire.grant("product", "EDIT_ENTITY", "CREATE_ENTITY", to="eve", URN=[PRODUCT])
    limited = {
        **POLICY,
        "type": "METADATA",
        "privileges": ["EDIT_ENTITY"],
        "resources": {
            "filter": {"criteria": [{"field": "URN", "condition": "EQUALS", "values": [ORDERS]}]},
            "privilegeConstraints": {
                "criteria": [{"field": "URN", "condition": "EQUALS", "values": ["urn:li:tag:x"]}]
            },
        },
    }
    wire.put(("urn:li:dataHubPolicy:limited", "dataHubPolicyInfo", limited))
    return wire


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_no_way_leads_round_the_guard(small: Wire, way: Send) -> None:
    revision = small.service.state.revision
    answered = {(urn, aspect): way(small, urn, aspect, value) for urn, aspect, value in FORBIDDEN}
    assert set(answered.values()) == {403}, answered
    assert small.service.state.revision == revision


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_is_no_policy_grants_nothing_by_what_a_policy_says(small: Wire, way: Send) -> None:
    """For any writer, and for any case of the policy type in the URN."""
    small.grant("more", "EDIT_ENTITY", "CREATE_ENTITY", to="eve", TYPE=["dataHubpolicy"])
    revision = small.service.state.revision
    others = (ORDERS, PRODUCT, "urn:li:dataHubpolicy:mine")
    assert {urn: way(small, urn, "dataHubPolicyInfo", POLICY) for urn in others} == dict.fromkeys(
        others, 400
    )
    assert small.service.state.revision == revision


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_way_leads_where_it_may(small: Wire, way: Send) -> None:
    assert way(small, ORDERS, "datasetProperties", {"name": "orders"}) == 200
    assert small.aspects(ORDERS)["datasetProperties"] == {"name": "orders"}
    assert way(small, EVE, "corpUserInfo", {"active": True, "title": "x"}) == 200
    assert way(small, ORDERS, "status", {"removed": True}) == 200
    assert small.aspects(ORDERS)["status"] == {"removed": True}


DELETIONS: list[tuple[str, str, object]] = [
    ("POST", "/entities?action=delete", {"urn": ORDERS}),
    ("DELETE", f"/openapi/v3/entity/dataset/{quote(ORDERS, safe='')}", None),
    ("DELETE", f"/openapi/v3/entity/dataset/{quote(ORDERS, safe='')}?aspects=globalTags", None),
    ("DELETE", f"/openapi/v3/entity/dataset/{quote(ORDERS, safe='')}/globalTags", None),
    ("DELETE", f"/openapi/v3/entity/dataset/{quote(ORDERS, safe='')}/datasetKey", None),
    (
        "POST",
        "/aspects?action=ingestProposal",
        {"proposal": {**proposal(ORDERS, "datasetKey", None, "DELETE"), "aspect": None}},
    ),
]


@pytest.mark.parametrize(("method", "path", "body"), DELETIONS)
def test_who_may_change_may_not_delete_in_any_way(
    small: Wire, method: str, path: str, body: object
) -> None:
    revision = small.service.state.revision
    assert small.bad(method, path, body, "eve") == 403
    assert small.service.state.revision == revision
