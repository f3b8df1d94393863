"""Incidents: raised, changed, resolved, with permission on every affected asset."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.systems.datahub.http.graphql.platform.granting import (
    HIVE,
    KAFKA,
    OTHER,
    dataset,
    grant,
    input_of,
)
from tests.systems.datahub.http.graphql.wire import (
    BAD,
    FORBIDDEN,
    NOT_FOUND,
    Wire,
    document,
    group,
    user,
)

RAISE = input_of("RaiseIncidentInput", "raiseIncident")
UPDATE = """mutation m($urn: String!, $i: UpdateIncidentInput!) {
  updateIncident(urn: $urn, input: $i)
}"""
STATUS = """mutation m($urn: String!, $i: IncidentStatusInput!) {
  updateIncidentStatus(urn: $urn, input: $i)
}"""
SHOW = document("platform_incidents")


@pytest.fixture(autouse=True)
def _world(wire: Wire) -> None:
    wire.built(_fill_realm)


def _fill_realm(wire: Wire) -> None:
    grant(wire, "ana", "EDIT_ENTITY_INCIDENTS", on=(HIVE, OTHER))
    grant(wire, "bob", "EDIT_ENTITY_INCIDENTS", on=(HIVE,))
    for urn in (HIVE, OTHER, KAFKA):
        dataset(wire, urn)


def incident(*urns: str, **members: Any) -> dict[str, Any]:
    told = {"type": "OPERATIONAL", "title": "late", "resourceUrns": list(urns)}
    return {**told, **members}


def list_incidents(wire: Wire, urn: str = HIVE, **options: Any) -> list[dict[str, Any]]:
    wire.configure(**options)
    found: list[dict[str, Any]] = wire.good(SHOW, "eve", urn=urn)["incidents"]["incidents"]
    return found


def test_an_incident_is_shown_on_the_asset_that_it_is_about(wire: Wire) -> None:
    people = [user("cid"), group("staff")]
    asked = incident(HIVE, priority="HIGH", assigneeUrns=people, startedAt=7, customType="x")
    urn = wire.good(RAISE, "bob", i=asked)
    (found,) = list_incidents(wire)
    assert (found["urn"], found["title"], found["incidentType"]) == (urn, "late", "OPERATIONAL")
    assert (found["priority"], found["startedAt"]) == ("HIGH", 7)
    assert found["incidentStatus"]["state"] == "ACTIVE"
    assert found["source"]["type"] == "MANUAL"
    assert found["created"]["actor"] == user("bob")
    assert found["entity"] == {"urn": HIVE}
    assert len(found["assignees"]) == 2
    assert wire.aspects("incident", urn)["incidentInfo"]["priority"] == 1
    assert list_incidents(wire, OTHER) == []


def test_one_asset_that_is_refused_refuses_the_incident(wire: Wire) -> None:
    before = wire.service.state.revision
    assert wire.bad(RAISE, "bob", i=incident(HIVE, OTHER)) == FORBIDDEN
    assert wire.bad(RAISE, "bob", i=incident()) == BAD
    assert wire.service.state.revision == before


def test_an_incident_is_about_so_many_assets_at_most(wire: Wire) -> None:
    wire.services = replace(wire.services, batch_rows=1)
    assert wire.bad(RAISE, "ana", i=incident(HIVE, OTHER)) == BAD
    assert wire.good(RAISE, "ana", i=incident(HIVE, HIVE))


def test_a_change_is_asked_about_every_asset_before_and_after(wire: Wire) -> None:
    urn = wire.good(RAISE, "ana", i=incident(HIVE, OTHER))
    assert wire.bad(UPDATE, "bob", urn=urn, i={"title": "x"}) == FORBIDDEN
    assert wire.bad(STATUS, "bob", urn=urn, i={"state": "RESOLVED"}) == FORBIDDEN
    assert wire.bad(UPDATE, "ana", urn=urn, i={"resourceUrns": [KAFKA]}) == FORBIDDEN
    assert wire.bad(UPDATE, "ana", urn=urn, i={"resourceUrns": []}) == BAD
    change = {"resourceUrns": [HIVE], "description": "soon", "priority": "LOW"}
    assert wire.good(UPDATE, "ana", urn=urn, i=change)
    assert list_incidents(wire, OTHER) == []
    (found,) = list_incidents(wire)
    assert (found["title"], found["description"], found["priority"]) == ("late", "soon", "LOW")
    resolved = {"state": "RESOLVED", "stage": "FIXED", "message": "done"}
    assert wire.good(STATUS, "bob", urn=urn, i=resolved)
    (found,) = list_incidents(wire)
    assert found["incidentStatus"]["stage"] == "FIXED"
    assert found["incidentStatus"]["lastUpdated"]["actor"] == user("bob")


def test_incidents_are_looked_for_by_how_far_they_are(wire: Wire) -> None:
    wire.good(RAISE, "bob", i=incident(HIVE, priority="LOW"))
    urn = wire.good(RAISE, "bob", i=incident(HIVE, assigneeUrns=[user("cid")]))
    wire.good(STATUS, "bob", urn=urn, i={"state": "RESOLVED", "stage": "FIXED"})
    asked = """query q($s: IncidentState, $t: IncidentStage, $p: IncidentPriority, $a: [String!]) {
      dataset(urn: "%s") { incidents(state: $s, stage: $t, priority: $p, assigneeUrns: $a) {
        total } } }"""

    def total(**wanted: Any) -> int:
        found: int = wire.good(asked % HIVE, "eve", **wanted)["incidents"]["total"]
        return found

    assert (total(), total(s="ACTIVE"), total(s="RESOLVED", t="FIXED")) == (2, 1, 1)
    assert (total(p="LOW"), total(p="HIGH")) == (1, 0)
    assert (total(a=[user("cid")]), total(a=[user("bob")])) == (1, 0)


def test_who_may_not_learns_nothing_of_incidents_that_there_are(wire: Wire) -> None:
    unknown = "urn:li:incident:none"
    assert wire.bad(STATUS, "ana", urn=unknown, i={"state": "RESOLVED"}) == FORBIDDEN
    grant(wire, "cid", "EDIT_ENTITY_INCIDENTS")
    assert wire.bad(STATUS, "cid", urn=unknown, i={"state": "RESOLVED"}) == NOT_FOUND


def test_an_incident_does_not_name_an_asset_that_one_is_not_shown(wire: Wire) -> None:
    urn = wire.good(RAISE, "ana", i=incident(HIVE, OTHER))
    wire.configure(view=True)
    grant(wire, "cid", "VIEW_ENTITY_PAGE", on=(OTHER,))
    asked = f'query {{ entity(urn: "{urn}") {{ ... on Incident {{ entity {{ urn }} }} }} }}'
    assert wire.good(asked, "cid") == {"entity": {"urn": OTHER}}
    assert wire.good(asked, "eve") == {"entity": None}
