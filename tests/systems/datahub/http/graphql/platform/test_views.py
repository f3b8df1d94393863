"""Views: private and shared ones."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.datahub.http.graphql.platform.granting import grant, input_of
from tests.systems.datahub.http.graphql.wire import BAD, FORBIDDEN, NOT_FOUND, Wire, document, user

CREATE = input_of("CreateViewInput", "createView", " { urn }")
UPDATE = """mutation m($urn: String!, $i: UpdateViewInput!) {
  updateView(urn: $urn, input: $i) { name }
}"""
DELETE = "mutation m($urn: String!) { deleteView(urn: $urn) }"
SET = input_of("UpdateGlobalViewsSettingsInput", "updateGlobalViewsSettings")
GLOBAL = document("platform_views")
MINE = "query q($i: ListMyViewsInput!) { listMyViews(input: $i) { views { name viewType } } }"

PROD = {"field": "origin", "values": ["PROD"]}
HIVE = {"field": "platform", "values": ["hive"], "condition": "EQUAL", "negated": True}


@pytest.fixture(autouse=True)
def _managers(wire: Wire) -> None:
    grant(wire, "ana", "MANAGE_GLOBAL_VIEWS")


def view(kind: str, name: str = "v", operator: str = "AND", *filters: Any) -> dict[str, Any]:
    filter = {"operator": operator, "filters": list(filters)}
    definition = {"entityTypes": ["DATASET", "CORP_USER"], "filter": filter}
    return {"viewType": kind, "name": name, "definition": definition}


def create_view(wire: Wire, by: str, input: dict[str, Any]) -> str:
    urn: str = wire.good(CREATE, by, i=input)["urn"]
    return urn


def test_a_view_for_everybody_is_listed_as_it_was_made(wire: Wire) -> None:
    urn = create_view(wire, "ana", view("GLOBAL", "Hive", "AND", PROD, HIVE))
    create_view(wire, "bob", view("PERSONAL", "Mine"))
    (found,) = wire.good(GLOBAL, "eve", input={})["views"]
    assert (found["urn"], found["name"], found["viewType"]) == (urn, "Hive", "GLOBAL")
    assert found["definition"]["entityTypes"] == ["CORP_USER", "DATASET"]
    filter = found["definition"]["filter"]
    assert filter["operator"] == "AND"
    assert filter["filters"] == [{**PROD, "condition": "EQUAL", "negated": False}, HIVE]
    kept = wire.aspects("dataHubView", urn)["dataHubViewInfo"]
    assert kept["definition"]["entityTypes"] == ["corpuser", "dataset"]
    assert len(kept["definition"]["filter"]["or"]) == 1
    assert kept["created"]["actor"] == user("ana")


def test_alternatives_are_kept_as_alternatives(wire: Wire) -> None:
    urn = create_view(wire, "ana", view("GLOBAL", "Either", "OR", PROD, HIVE))
    kept = wire.aspects("dataHubView", urn)["dataHubViewInfo"]
    assert [len(one["and"]) for one in kept["definition"]["filter"]["or"]] == [1, 1]
    (found,) = wire.good(GLOBAL, "eve", input={})["views"]
    assert found["definition"]["filter"]["operator"] == "OR"


def test_ones_own_views_are_ones_own(wire: Wire) -> None:
    urn = create_view(wire, "bob", view("PERSONAL", "Mine"))
    create_view(wire, "ana", view("GLOBAL", "All"))
    assert wire.good(MINE, "bob", i={}) == {"views": [{"name": "Mine", "viewType": "PERSONAL"}]}
    assert wire.good(MINE, "bob", i={"viewType": "GLOBAL"}) == {"views": []}
    assert wire.good(MINE, "eve", i={}) == {"views": []}
    for other in ("eve", "ana"):
        assert wire.bad(UPDATE, other, urn=urn, i={"name": "Theirs"}) == FORBIDDEN
        assert wire.bad(DELETE, other, urn=urn) == FORBIDDEN
    assert wire.good(UPDATE, "bob", urn=urn, i={"name": "Still mine"}) == {"name": "Still mine"}
    assert wire.good(DELETE, "bob", urn=urn)


def test_whoever_makes_a_view_for_everybody_still_needs_the_right_to_change_it(wire: Wire) -> None:
    urn = create_view(wire, "ana", view("GLOBAL"))
    assert wire.bad(UPDATE, "bob", urn=urn, i={"name": "x"}) == FORBIDDEN
    assert wire.good(UPDATE, "ana", urn=urn, i={"name": "x", "description": "y"})


def test_who_may_not_manage_views_learns_nothing_of_those_that_there_are(wire: Wire) -> None:
    unknown = "urn:li:dataHubView:none"
    assert wire.bad(DELETE, "eve", urn=unknown) == FORBIDDEN
    assert wire.bad(DELETE, "ana", urn=unknown) == NOT_FOUND


def test_everybody_starts_with_a_view_that_is_everybodys(wire: Wire) -> None:
    shared = create_view(wire, "ana", view("GLOBAL"))
    own = create_view(wire, "ana", view("PERSONAL"))
    asked = "query { globalViewsSettings { defaultView } }"
    assert wire.good(asked, "ana") == {"defaultView": None}
    assert wire.good(SET, "ana", i={"defaultView": shared})
    assert wire.good(asked, "ana") == {"defaultView": shared}
    assert wire.bad(SET, "ana", i={"defaultView": own}) == BAD
    assert wire.bad(SET, "ana", i={"defaultView": "urn:li:dataHubView:none"}) == NOT_FOUND
    assert wire.good(SET, "ana", i={})
    assert wire.good(asked, "ana") == {"defaultView": None}


def test_a_view_is_of_types_that_have_pages(wire: Wire) -> None:
    odd = view("PERSONAL")
    odd["definition"]["entityTypes"] = ["OTHER"]
    assert wire.bad(CREATE, "bob", i=odd) == BAD


def test_a_view_that_ingestion_wrote_badly_is_shown_all_the_same(wire: Wire) -> None:
    odd = {"type": "GLOBAL", "name": 7, "definition": {"filter": {"or": [{"and": [{}]}]}}}
    wire.put("dataHubView", "urn:li:dataHubView:odd", "dataHubViewInfo", odd)
    (found,) = wire.good(GLOBAL, "eve", input={})["views"]
    assert (found["name"], found["definition"]["entityTypes"]) == ("", [])
