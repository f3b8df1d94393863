"""Ownership types: created, changed, deleted."""

from __future__ import annotations

import pytest

from tests.systems.datahub.http.graphql.platform.granting import HIVE, grant, input_of
from tests.systems.datahub.http.graphql.wire import NOT_FOUND, Wire, document, user

CREATE = input_of("CreateOwnershipTypeInput", "createOwnershipType", " { urn info { name } }")
UPDATE = """mutation m($urn: String!, $i: UpdateOwnershipTypeInput!) {
  updateOwnershipType(urn: $urn, input: $i) { info { name description } }
}"""
DELETE = """mutation m($urn: String!, $all: Boolean) {
  deleteOwnershipType(urn: $urn, deleteReferences: $all)
}"""
LIST = document("platform_ownership_types")


@pytest.fixture(autouse=True)
def _managers(wire: Wire) -> None:
    grant(wire, "ana", "MANAGE_GLOBAL_OWNERSHIP_TYPES")


def create_type(wire: Wire, name: str = "Steward") -> str:
    found = wire.good(CREATE, "ana", i={"name": name, "description": "cares"})
    assert found["info"] == {"name": name}
    urn: str = found["urn"]
    return urn


def test_ownership_types_are_listed_for_everybody(wire: Wire) -> None:
    urn = create_type(wire)
    (found,) = wire.good(LIST, "eve", input={"query": "stew"})["ownershipTypes"]
    assert found["urn"] == urn
    assert found["info"]["description"] == "cares"
    assert found["info"]["created"]["time"] > 0
    assert wire.good(LIST, "eve", input={"query": "nothing"})["total"] == 0
    wire.put("ownershipType", urn, "status", {"removed": True})
    assert wire.good(LIST, "eve", input={"query": "stew"})["total"] == 0


def test_a_changed_type_keeps_what_nobody_changed(wire: Wire) -> None:
    urn = create_type(wire)
    shown = wire.good(UPDATE, "ana", urn=urn, i={"name": "Keeper"})
    assert shown == {"info": {"name": "Keeper", "description": "cares"}}
    assert wire.bad(UPDATE, "ana", urn="urn:li:ownershipType:none", i={}) == NOT_FOUND


@pytest.mark.parametrize("everywhere", [True, False])
def test_who_owned_by_a_type_that_is_gone_still_owns(wire: Wire, everywhere: bool) -> None:
    urn = create_type(wire)
    owner = {"owner": user("bob"), "type": "CUSTOM", "typeUrn": urn}
    wire.put("dataset", HIVE, "ownership", {"owners": [owner]})
    assert wire.good(DELETE, "ana", urn=urn, all=everywhere)
    (kept,) = wire.aspects("dataset", HIVE)["ownership"]["owners"]
    assert kept["owner"] == user("bob")
    assert (kept.get("typeUrn") == urn) is not everywhere
    assert wire.bad(DELETE, "ana", urn=urn) == NOT_FOUND
