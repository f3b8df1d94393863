"""Edges in aspects: the places where they are read; invalid ones are ignored."""

from __future__ import annotations

from typing import Any

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.aspects import edges
from lakewarden.systems.datahub.aspects.edges import Lineage
from lakewarden.systems.datahub.aspects.searched import index_entry

A = "urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)"
B = "urn:li:dataset:(urn:li:dataPlatform:hive,b,PROD)"
DATASET = Entity("dataset", A)
COLUMN, OF = f"urn:li:schemaField:({A},x)", f"urn:li:schemaField:({B},y)"


def stated_edges(**aspects: Any) -> list[tuple[str, str, str, Lineage | None]]:
    return [edge[:4] for edge in edges.stated_edges(DATASET, aspects)]


@pytest.mark.parametrize("item", [B, {"string": B}])
def test_a_list_of_urns_is_read_in_both_spellings(item: object) -> None:
    assert stated_edges(chartInfo={"inputs": [item]}) == [("Consumes", A, B, Lineage.UPSTREAM)]
    tagged = {"array": [{"destinationUrn": item}]}
    assert stated_edges(dashboardInfo={"chartEdges": tagged}) == [
        ("Contains", A, B, Lineage.UPSTREAM)
    ]


def test_an_edge_has_what_is_said_beside_its_end() -> None:
    said = {"dataset": B, "type": "VIEW"}
    (edge,) = edges.stated_edges(DATASET, {"upstreamLineage": {"upstreams": [said]}})
    assert edge.properties == said
    (plain,) = edges.stated_edges(DATASET, {"siblings": {"siblings": [B]}})
    assert (plain.properties, plain.lineage) == ({}, None)


def test_columns_are_stated_by_what_makes_them() -> None:
    fine = {"upstreams": [OF, B, 3], "downstreams": {"array": [COLUMN, A]}}
    found = stated_edges(upstreamLineage={"fineGrainedLineages": [fine, "x", {}]})
    assert found == [("DownstreamOf", COLUMN, OF, Lineage.UPSTREAM)]


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"upstreams": None},
        {"upstreams": "x"},
        {"upstreams": [None, "x", {"dataset": 3}, {"dataset": ""}]},
        {"fineGrainedLineages": {"upstreams": []}},
    ],
)
def test_what_is_no_edge_is_none(value: Any) -> None:
    assert stated_edges(upstreamLineage=value) == []


def test_edges_are_among_the_terms_of_who_states_them() -> None:
    fine = {"upstreams": [OF], "downstreams": [COLUMN]}
    lineage = {"upstreams": [{"dataset": B}], "fineGrainedLineages": [fine]}
    terms = index_entry(DATASET, {"upstreamLineage": lineage}).terms.split()
    assert edges.term("DownstreamOf", B) in terms
    assert terms[-2:] == [edges.term("DownstreamOf", OF), edges.column_term(COLUMN)]
    assert edges.term("Consumes", B) not in terms


def test_every_type_of_lineage_says_which_way() -> None:
    assert {"Consumes", "DownstreamOf", "Produces", "TrainedBy"} <= edges.LINEAGE
    assert not edges.LINEAGE & {"HasA", "SiblingOf", "RelatedAsset"}
