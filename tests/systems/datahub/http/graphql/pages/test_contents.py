"""The contents of a domain, a container and a data product, searched and filtered as usual."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.datahub.http.graphql.pages.test_kinds import put
from tests.systems.datahub.http.graphql.pages.test_viewing import grant
from tests.systems.datahub.http.graphql.pages.world import CUSTOMERS, ORDERS, SALES, SCHEMA
from tests.systems.datahub.http.graphql.wire import Wire

PRODUCT = "urn:li:dataProduct:p"
OF = "{ total searchResults { entity { urn } } }"
ENTITIES = {
    SALES: ("Domain", "DomainEntitiesInput"),
    SCHEMA: ("Container", "ContainerEntitiesInput"),
    PRODUCT: ("DataProduct", "SearchAcrossEntitiesInput"),
}


@pytest.fixture
def stocked(wire: Wire) -> Wire:
    return wire.built(_fill_realm)


def _fill_realm(wire: Wire) -> None:
    for urn, name in ((ORDERS, "Orders"), (CUSTOMERS, "Customers")):
        put(wire, urn, {"datasetProperties": {"name": name}, "domains": {"domains": [SALES]}})
        put(wire, urn, {"container": {"container": SCHEMA}})
    assets = [{"destinationUrn": ORDERS}, {"destinationUrn": CUSTOMERS}]
    put(wire, PRODUCT, {"dataProductProperties": {"name": "P", "assets": assets}})
    put(wire, SALES, {"domainProperties": {"name": "Sales"}})
    put(wire, SCHEMA, {"containerProperties": {"name": "shop"}})


def within(wire: Wire, urn: str, by: str = "datahub", **input: Any) -> list[str]:
    type, name = ENTITIES[urn]
    query = (
        f"query q($u: String!, $i: {name}) {{"
        f" entity(urn: $u) {{ ... on {type} {{ entities(input: $i) {OF} }} }} }}"
    )
    found = wire.good(query, by, u=urn, i={"query": "*", **input})["entities"]
    shown = [one["entity"]["urn"] for one in found["searchResults"]]
    assert found["total"] == len(shown)
    return sorted(shown)


@pytest.mark.parametrize("urn", ENTITIES, ids=[urn.split(":")[2] for urn in ENTITIES])
def test_what_belongs_to_it_is_found(stocked: Wire, urn: str) -> None:
    assert within(stocked, urn) == sorted([CUSTOMERS, ORDERS])
    assert within(stocked, urn, query="orders") == [ORDERS]
    only = [{"field": "urn", "values": [CUSTOMERS]}]
    assert within(stocked, urn, filters=only) == [CUSTOMERS]


@pytest.mark.parametrize("urn", ENTITIES, ids=[urn.split(":")[2] for urn in ENTITIES])
def test_what_may_not_be_viewed_is_not_counted(stocked: Wire, urn: str) -> None:
    stocked.configure(view=True)
    stocked.close()
    grant(stocked, ORDERS, *ENTITIES)
    assert within(stocked, urn, "eve") == [ORDERS]


def test_assets_of_a_product_are_listed_to_whoever_is_shown_the_product(stocked: Wire) -> None:
    query = (
        "query q($u: String!, $i: SearchAcrossEntitiesInput!) {"
        f" listDataProductAssets(urn: $u, input: $i) {OF} }}"
    )
    assert stocked.good(query, u=PRODUCT, i={"query": "*"})["total"] == 2
    assert stocked.good(query, u=PRODUCT, i={"query": "customers"})["total"] == 1
    assert stocked.good(query, u="urn:li:dataProduct:none", i={"query": "*"}) is None
    stocked.configure(view=True)
    stocked.close()
    grant(stocked, ORDERS)
    assert stocked.good(query, "eve", u=PRODUCT, i={"query": "*"}) is None


def test_siblings_are_searched_alone(stocked: Wire) -> None:
    query = (
        "query q($u: String!, $i: ScrollAcrossEntitiesInput!) {"
        f" dataset(urn: $u) {{ siblingsSearch(input: $i) {OF} }} }}"
    )

    def found(**input: Any) -> list[str]:
        answer = stocked.good(query, u=ORDERS, i={"query": "*", **input})["siblingsSearch"]
        return [one["entity"]["urn"] for one in answer["searchResults"]]

    assert found() == []
    put(stocked, ORDERS, {"siblings": {"siblings": [CUSTOMERS], "primary": True}})
    assert found() == [CUSTOMERS]
    assert found(query="orders") == []
    assert found(orFilters=[{"and": [{"field": "domains", "values": [SALES]}]}]) == [CUSTOMERS]
    assert found(orFilters=[{"and": [{"field": "domains", "values": ["urn:li:domain:x"]}]}]) == []
