"""Edges between entities, seen from both ends, page by page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.systems.datahub.http.graphql.pages.kinds import CHART, FEATURE, FLOW, JOB, MODELS
from tests.systems.datahub.http.graphql.pages.test_kinds import put
from tests.systems.datahub.http.graphql.pages.world import (
    CUSTOMERS,
    MODEL,
    ORDERS,
    PII,
    REVENUE,
    SALES,
    SCHEMA,
    Json,
    column,
)
from tests.systems.datahub.http.graphql.wire import BAD, Wire, group, user

EDGES = """
query q($u: String!, $i: RelationshipsInput!) {
  entity(urn: $u) {
    relationships(input: $i) {
      start
      count
      total
      relationships {
        type
        direction
        entity {
          urn
        }
        created {
          time
        }
      }
    }
  }
}
"""
NODE = "urn:li:glossaryNode:finance"
PRODUCT = "urn:li:dataProduct:p"
THERE: Json = {"status": {"removed": False}}


def edges(wire: Wire, urn: str, *types: str, out: bool, **more: Any) -> list[tuple[str, str]]:
    """The types and other ends of an entity's edges."""
    direction = "OUTGOING" if out else "INCOMING"
    input = {"types": list(types), "direction": direction, **more}
    found = wire.good(EDGES, u=urn, i=input)["relationships"]
    assert all(one["direction"] == direction for one in found["relationships"])
    assert found["count"] == len(found["relationships"])
    return [(one["type"], one["entity"]["urn"]) for one in found["relationships"]]


BOTH = (
    (
        ORDERS,
        "ownership",
        {"owners": [{"owner": user("ana"), "type": "NONE"}]},
        "OwnedBy",
        user("ana"),
    ),
    (ORDERS, "globalTags", {"tags": [{"tag": PII}]}, "TaggedWith", PII),
    (ORDERS, "glossaryTerms", {"terms": [{"urn": REVENUE}]}, "TermedWith", REVENUE),
    (ORDERS, "domains", {"domains": [SALES]}, "AssociatedWith", SALES),
    (ORDERS, "container", {"container": SCHEMA}, "IsPartOf", SCHEMA),
    (ORDERS, "logicalParent", {"parent": {"destinationUrn": MODEL}}, "PhysicalInstanceOf", MODEL),
    (REVENUE, "glossaryTermInfo", {"definition": "x", "parentNode": NODE}, "IsPartOf", NODE),
    (
        SALES,
        "domainProperties",
        {"name": "x", "parentDomain": "urn:li:domain:all"},
        "IsPartOf",
        "urn:li:domain:all",
    ),
    (
        PRODUCT,
        "dataProductProperties",
        {"assets": [{"destinationUrn": ORDERS}]},
        "DataProductContains",
        ORDERS,
    ),
    (
        "urn:li:query:q",
        "querySubjects",
        {"subjects": [{"entity": ORDERS}]},
        "IsAssociatedWith",
        ORDERS,
    ),
)


@pytest.mark.parametrize(
    ("source", "aspect", "value", "type", "target"), BOTH, ids=[f"{b[1]}-{b[3]}" for b in BOTH]
)
def test_what_a_fact_states_is_an_edge_from_both_ends(
    wire: Wire, source: str, aspect: str, value: Json, type: str, target: str
) -> None:
    put(wire, source, {aspect: value})
    put(wire, target, THERE)
    assert edges(wire, source, type, out=True) == [(type, target)]
    assert edges(wire, target, type, out=False) == [(type, source)]
    assert edges(wire, source, type, out=False) == []
    assert edges(wire, target, type, out=True) == []


def test_a_task_is_part_of_its_pipeline_and_a_column_of_nothing(wire: Wire) -> None:
    for urn in (FLOW, ORDERS, JOB, column("id")):
        put(wire, urn, THERE)
    assert edges(wire, JOB, "IsPartOf", out=True) == [("IsPartOf", FLOW)]
    assert edges(wire, FLOW, "IsPartOf", out=False) == [("IsPartOf", JOB)]
    assert edges(wire, column("id"), "IsPartOf", out=True) == []
    assert edges(wire, ORDERS, "IsPartOf", out=False) == []


OUT = (
    (CHART, "chartInfo", {"inputs": [ORDERS]}, "Consumes", ORDERS),
    (CHART, "chartInfo", {"inputEdges": [{"destinationUrn": ORDERS}]}, "Consumes", ORDERS),
    ("urn:li:dashboard:(looker,d)", "dashboardInfo", {"charts": [CHART]}, "Contains", CHART),
    (JOB, "dataJobInputOutput", {"outputDatasets": [ORDERS]}, "Produces", ORDERS),
    (ORDERS, "upstreamLineage", {"upstreams": [{"dataset": CUSTOMERS}]}, "DownstreamOf", CUSTOMERS),
    (FEATURE, "mlFeatureProperties", {"sources": [ORDERS]}, "DerivedFrom", ORDERS),
    (
        REVENUE,
        "glossaryRelatedTerms",
        {"isRelatedTerms": ["urn:li:glossaryTerm:x"]},
        "IsA",
        "urn:li:glossaryTerm:x",
    ),
    (
        user("ana"),
        "corpUserInfo",
        {"active": True, "managerUrn": user("bob")},
        "ReportsTo",
        user("bob"),
    ),
    (
        "urn:li:mlModel:(urn:li:dataPlatform:mlflow,churn,PROD)",
        "mlModelProperties",
        {"groups": [MODELS]},
        "MemberOf",
        MODELS,
    ),
)


@pytest.mark.parametrize(
    ("source", "aspect", "value", "type", "target"),
    OUT,
    ids=[f"{next(iter(o[2]))}-{o[3]}" for o in OUT],
)
def test_what_an_aspect_alone_states_is_an_edge_from_both_ends(
    wire: Wire, source: str, aspect: str, value: Json, type: str, target: str
) -> None:
    put(wire, source, {aspect: value})
    put(wire, target, THERE)
    assert edges(wire, source, type, out=True) == [(type, target)]
    assert edges(wire, target, type, out=False) == [(type, source)]
    assert edges(wire, source, type, out=False) == []


def test_an_edge_between_columns_is_seen_from_both_ends(wire: Wire) -> None:
    of, made = column("id"), f"urn:li:schemaField:({CUSTOMERS},id)"
    fine = {"upstreams": [of], "downstreams": [made]}
    put(wire, CUSTOMERS, {"upstreamLineage": {"upstreams": [], "fineGrainedLineages": [fine]}})
    put(wire, of, THERE)
    put(wire, made, THERE)
    assert edges(wire, made, "DownstreamOf", out=True) == [("DownstreamOf", of)]
    assert edges(wire, of, "DownstreamOf", out=False) == [("DownstreamOf", made)]
    assert edges(wire, of, "DownstreamOf", out=True) == []


def test_edges_of_several_types_come_one_type_after_the_other(wire: Wire) -> None:
    urns = [f"urn:li:dataset:(urn:li:dataPlatform:hive,t{number},PROD)" for number in range(5)]
    owned = {"owners": [{"owner": group("staff"), "type": "NONE"}]}
    for urn in urns:
        put(wire, urn, {"ownership": owned})
    every = ("OwnedBy", "IsMemberOfGroup", "IsMemberOfNativeGroup", "NobodyKnows")
    wanted = [("IsMemberOfNativeGroup", user("bob")), *(("OwnedBy", urn) for urn in urns)]
    found = wire.good(EDGES, u=group("staff"), i={"types": list(every), "direction": "INCOMING"})
    assert found["relationships"]["total"] == 6
    assert edges(wire, group("staff"), *every, out=False) == wanted
    assert edges(wire, group("staff"), *every, out=False, start=0, count=2) == wanted[:2]
    assert edges(wire, group("staff"), *every, out=False, start=2, count=2) == wanted[2:4]
    assert edges(wire, group("staff"), *every, out=False, start=5, count=9) == wanted[5:]
    assert edges(wire, group("staff"), *every, out=False, start=6) == []
    assert edges(wire, group("staff"), out=False) == []


def test_what_is_deleted_softly_is_left_out_when_asked(wire: Wire) -> None:
    tagged = {"globalTags": {"tags": [{"tag": PII}]}}
    put(wire, PII, THERE)
    put(wire, ORDERS, {**tagged, "status": {"removed": True}})
    put(wire, CUSTOMERS, tagged)
    assert len(edges(wire, PII, "TaggedWith", out=False)) == 2
    left = edges(wire, PII, "TaggedWith", out=False, includeSoftDelete=False)
    assert left == [("TaggedWith", CUSTOMERS)]
    put(wire, PII, {"status": {"removed": True}})
    assert edges(wire, CUSTOMERS, "TaggedWith", out=True, includeSoftDelete=False) == []


def test_a_page_of_edges_is_as_long_as_a_page_may_be(wire: Wire) -> None:
    put(wire, PII, THERE)
    for number in range(3):
        urn = f"urn:li:dataset:(urn:li:dataPlatform:hive,t{number},PROD)"
        put(wire, urn, {"globalTags": {"tags": [{"tag": PII}]}})
    wire.services = replace(wire.services, page_rows=2)
    assert len(edges(wire, PII, "TaggedWith", out=False, count=10_000)) == 2
    assert edges(wire, PII, "TaggedWith", out=False, count=0) == []
    assert len(edges(wire, PII, "TaggedWith", out=False, count=None, start=None)) == 2
    input = {"types": ["TaggedWith"], "direction": "INCOMING", "count": -1}
    assert wire.bad(EDGES, u=PII, i=input) == BAD
