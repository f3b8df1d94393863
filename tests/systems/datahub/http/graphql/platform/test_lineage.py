"""Edges between assets: added and removed with permission at both ends."""

from __future__ import annotations

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
from tests.systems.datahub.http.graphql.wire import BAD, FORBIDDEN, NOT_FOUND, Wire, document, user

UPDATE = input_of("UpdateLineageInput", "updateLineage")
CHART = "urn:li:chart:(looker,c)"
DASHBOARD = "urn:li:dashboard:(looker,d)"
FLOW = "urn:li:dataFlow:(airflow,f,PROD)"
TASK = f"urn:li:dataJob:({FLOW},t)"
NEXT = f"urn:li:dataJob:({FLOW},u)"


@pytest.fixture(autouse=True)
def _world(wire: Wire) -> None:
    wire.built(_fill_realm)


def _fill_realm(wire: Wire) -> None:
    grant(wire, "ana", "EDIT_LINEAGE", on=(HIVE, KAFKA, CHART, DASHBOARD, TASK, NEXT))
    grant(wire, "bob", "EDIT_LINEAGE", on=(HIVE,))
    grant(wire, "cid", "EDIT_LINEAGE", on=(KAFKA,))
    for urn in (HIVE, KAFKA):
        dataset(wire, urn)
    wire.put("chart", CHART, "status", {"removed": False})
    wire.put("dashboard", DASHBOARD, "status", {"removed": False})
    wire.put("dataJob", TASK, "status", {"removed": False})
    wire.put("dataJob", NEXT, "status", {"removed": False})


def edges(*pairs: tuple[str, str], gone: tuple[tuple[str, str], ...] = ()) -> dict[str, Any]:
    def told(found: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
        return [{"downstreamUrn": down, "upstreamUrn": up} for down, up in found]

    return {"edgesToAdd": told(pairs), "edgesToRemove": told(gone)}


def test_both_ends_of_an_edge_are_asked_about(wire: Wire) -> None:
    for one in ("bob", "cid", "eve"):
        assert wire.bad(UPDATE, one, i=edges((HIVE, KAFKA))) == FORBIDDEN
    assert "upstreamLineage" not in wire.aspects("dataset", HIVE)
    assert wire.good(UPDATE, "ana", i=edges((HIVE, KAFKA)))
    (kept,) = wire.aspects("dataset", HIVE)["upstreamLineage"]["upstreams"]
    assert (kept["dataset"], kept["auditStamp"]["actor"]) == (KAFKA, user("ana"))
    for one in ("bob", "cid"):
        assert wire.bad(UPDATE, one, i=edges(gone=((HIVE, KAFKA),))) == FORBIDDEN
    assert wire.good(UPDATE, "ana", i=edges(gone=((HIVE, KAFKA),)))
    assert wire.aspects("dataset", HIVE)["upstreamLineage"]["upstreams"] == []


@pytest.mark.parametrize(
    ("down", "up", "holder", "aspect", "member"),
    [
        (HIVE, TASK, TASK, "dataJobInputOutput", "outputDatasetEdges"),
        (TASK, HIVE, TASK, "dataJobInputOutput", "inputDatasetEdges"),
        (NEXT, TASK, NEXT, "dataJobInputOutput", "inputDatajobEdges"),
        (CHART, HIVE, CHART, "chartInfo", "inputEdges"),
        (DASHBOARD, HIVE, DASHBOARD, "dashboardInfo", "datasetEdges"),
        (DASHBOARD, CHART, DASHBOARD, "dashboardInfo", "chartEdges"),
    ],
)
def test_an_edge_is_kept_where_its_types_say(
    wire: Wire, down: str, up: str, holder: str, aspect: str, member: str
) -> None:
    assert wire.good(UPDATE, "ana", i=edges((down, up)))
    type = holder.split(":")[2]
    (kept,) = wire.aspects(type, holder)[aspect][member]
    assert kept["destinationUrn"] == (up if holder == down else down)
    assert wire.good(UPDATE, "ana", i=edges(gone=((down, up),)))
    assert wire.aspects(type, holder)[aspect][member] == []


def test_an_edge_that_ingestion_wrote_keeps_what_it_says(wire: Wire) -> None:
    there = {"dataset": KAFKA, "type": "VIEW", "query": "urn:li:query:q"}
    lineage = {"upstreams": [there], "fineGrainedLineages": []}
    wire.put("dataset", HIVE, "upstreamLineage", lineage)
    assert wire.good(UPDATE, "ana", i=edges((HIVE, KAFKA)))
    kept = wire.aspects("dataset", HIVE)["upstreamLineage"]
    assert kept["upstreams"][0]["query"] == "urn:li:query:q"
    assert kept["fineGrainedLineages"] == []


def test_an_older_edge_is_taken_away_as_well(wire: Wire) -> None:
    wire.put("chart", CHART, "chartInfo", {"title": "c", "inputs": [HIVE, KAFKA]})
    assert wire.good(UPDATE, "ana", i=edges(gone=((CHART, HIVE),)))
    kept = wire.aspects("chart", CHART)["chartInfo"]
    assert (kept["inputs"], kept["title"]) == ([KAFKA], "c")


def test_an_edge_that_is_added_and_removed_is_removed(wire: Wire) -> None:
    assert wire.good(UPDATE, "ana", i=edges((HIVE, KAFKA), gone=((HIVE, KAFKA),)))
    assert wire.aspects("dataset", HIVE)["upstreamLineage"]["upstreams"] == []


def test_edges_are_of_types_that_are_made_of_each_other(wire: Wire) -> None:
    assert wire.bad(UPDATE, "ana", i=edges((HIVE, CHART))) == BAD
    assert wire.bad(UPDATE, "ana", i=edges()) == BAD


def test_an_end_is_there_before_an_edge_is_drawn(wire: Wire) -> None:
    grant(wire, "ana", "EDIT_LINEAGE", on=(OTHER,))
    assert wire.bad(UPDATE, "ana", i=edges((HIVE, KAFKA), (HIVE, OTHER))) == NOT_FOUND
    assert "upstreamLineage" not in wire.aspects("dataset", HIVE)


JOIN = input_of("ERModelRelationshipUpdateInput", "createERModelRelationship", " { urn }")
CHANGE = """mutation m($urn: String!, $i: ERModelRelationshipUpdateInput!) {
  updateERModelRelationship(urn: $urn, input: $i)
}"""
DELETE = "mutation m($urn: String!) { deleteERModelRelationship(urn: $urn) }"


def join(**members: Any) -> dict[str, Any]:
    fields = [{"sourceField": "id", "destinationField": "key"}]
    told = {"name": "j", "source": HIVE, "destination": KAFKA, "relationshipFieldmappings": fields}
    return {"properties": {**told, **members}, "editableProperties": {"description": "by id"}}


def test_a_join_takes_the_right_to_both_datasets(wire: Wire) -> None:
    grant(wire, "ana", "CREATE_ENTITY_ER_MODEL_RELATIONSHIP", on=(HIVE, KAFKA))
    grant(wire, "bob", "CREATE_ENTITY_ER_MODEL_RELATIONSHIP", on=(HIVE,))
    assert wire.bad(JOIN, "bob", i=join()) == FORBIDDEN
    urn = wire.good(JOIN, "ana", i=join())["urn"]
    shown = wire.good(document("platform_join"), "eve", urn=urn)
    assert shown["properties"]["source"] == {"urn": HIVE}
    assert shown["properties"]["relationshipFieldMappings"] == [
        {"sourceField": "id", "destinationField": "key"}
    ]
    assert shown["properties"]["createdActor"] == {"urn": user("ana")}
    assert shown["editableProperties"]["description"] == "by id"
    assert wire.bad(CHANGE, "bob", urn=urn, i={"properties": join()["properties"]}) == FORBIDDEN
    assert wire.bad(DELETE, "bob", urn=urn) == FORBIDDEN
    assert wire.good(CHANGE, "ana", urn=urn, i={"properties": join(name="k")["properties"]})
    kept = wire.aspects("erModelRelationship", urn)["erModelRelationshipProperties"]
    assert (kept["name"], kept["created"]["actor"]) == ("k", user("ana"))
    assert wire.good(DELETE, "ana", urn=urn)


def test_the_text_of_a_join_takes_the_right_to_its_text(wire: Wire) -> None:
    grant(wire, "ana", "CREATE_ENTITY_ER_MODEL_RELATIONSHIP", on=(HIVE, KAFKA))
    urn = wire.good(JOIN, "ana", i=join())["urn"]
    text = {"editableProperties": {"name": "n", "description": "d"}}
    assert wire.bad(CHANGE, "ana", urn=urn, i=text) == FORBIDDEN
    grant(wire, "cid", "EDIT_ENTITY_DOCS", on=(urn,))
    assert wire.good(CHANGE, "cid", urn=urn, i=text)
    assert wire.bad(CHANGE, "cid", urn=urn, i={}) == BAD


def test_a_join_joins_something(wire: Wire) -> None:
    grant(wire, "ana", "CREATE_ENTITY_ER_MODEL_RELATIONSHIP", on=(HIVE, OTHER))
    assert wire.bad(JOIN, "ana", i={}) == BAD
    assert wire.bad(JOIN, "ana", i=join(destination=OTHER)) == NOT_FOUND
