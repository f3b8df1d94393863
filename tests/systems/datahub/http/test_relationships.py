"""Relations of an entity, from either end, as far as the caller may see them."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.systems.datahub.http.views import configure
from tests.systems.datahub.http.wire import REALM, Wire

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
STOCK = "urn:li:dataset:(urn:li:dataPlatform:hive,shop/stock,PROD)"
ANA = "urn:li:corpuser:ana"
STAFF = "urn:li:corpGroup:staff"
READER = "urn:li:dataHubRole:Reader"
SHOP = "urn:li:domain:shop"
ALL = "urn:li:domain:all"
BEN = "urn:li:corpuser:ben"
BOX = "urn:li:container:box"
PII = "urn:li:tag:pii"
TERM = "urn:li:glossaryTerm:t"
NODE = "urn:li:glossaryNode:n"
PRODUCT = "urn:li:dataProduct:p"
QUERY = "urn:li:query:q"
CHART = "urn:li:chart:(looker,c)"

EDGES = [
    (ORDERS, "OwnedBy", ANA),
    (ORDERS, "TaggedWith", PII),
    (ORDERS, "TermedWith", TERM),
    (ORDERS, "AssociatedWith", SHOP),
    (ORDERS, "IsPartOf", BOX),
    (ORDERS, "PhysicalInstanceOf", STOCK),
    (SHOP, "IsPartOf", ALL),
    (TERM, "IsPartOf", NODE),
    (PRODUCT, "DataProductContains", ORDERS),
    (QUERY, "IsAssociatedWith", ORDERS),
    (ANA, "IsMemberOfGroup", STAFF),
    (BEN, "IsMemberOfNativeGroup", STAFF),
    (ANA, "IsMemberOfRole", READER),
    (ORDERS, "DownstreamOf", STOCK),
    (CHART, "Consumes", ORDERS),
]


@pytest.fixture
def shop(wire: Wire) -> Wire:
    wire.put(
        (ORDERS, "ownership", {"owners": [{"owner": ANA, "type": "NONE"}]}),
        (ORDERS, "globalTags", {"tags": [{"tag": PII}]}),
        (ORDERS, "glossaryTerms", {"terms": [{"urn": TERM}]}),
        (ORDERS, "domains", {"domains": [SHOP]}),
        (ORDERS, "container", {"container": BOX}),
        (ORDERS, "logicalParent", {"parent": {"destinationUrn": STOCK}}),
        (SHOP, "domainProperties", {"name": "shop", "parentDomain": ALL}),
        (TERM, "glossaryTermInfo", {"definition": "", "parentNode": NODE}),
        (PRODUCT, "dataProductProperties", {"assets": [{"destinationUrn": ORDERS}]}),
        (QUERY, "querySubjects", {"subjects": [{"entity": ORDERS}]}),
        (ANA, "groupMembership", {"groups": [STAFF]}),
        (BEN, "nativeGroupMembership", {"nativeGroups": [STAFF]}),
        (ANA, "roleMembership", {"roles": [READER]}),
        (ORDERS, "upstreamLineage", {"upstreams": [{"dataset": STOCK, "type": "VIEW"}]}),
        (CHART, "chartInfo", {"inputs": [ORDERS]}),
    )
    return wire


def related_urns(wire: Wire, urn: str, way: str, types: str = "", user: str = "admin") -> Any:
    path = f"/relationships?urn={quote(urn, safe='')}&direction={way}&types={types}"
    return wire.good("GET", path, user=user)


@pytest.mark.parametrize(("source", "type", "target"), EDGES)
def test_an_edge_is_seen_from_both_its_ends(
    shop: Wire, source: str, type: str, target: str
) -> None:
    out = related_urns(shop, source, "OUTGOING", f"List({type})")["relationships"]
    assert {"type": type, "entity": target} in out
    back = related_urns(shop, target, "INCOMING", f"List({type})")["relationships"]
    assert {"type": type, "entity": source} in back
    assert {one["type"] for one in [*out, *back]} == {type}


def test_the_newer_interfaces_say_the_same(shop: Wire) -> None:
    query = f"urn={quote(ORDERS, safe='')}&relationshipTypes=TaggedWith&direction=OUTGOING"
    told = shop.good("GET", f"/openapi/relationships/v1/?{query}")
    assert told["entities"] == [{"relationshipType": "TaggedWith", "urn": PII}]
    for version in ("v2", "v3"):
        path = f"/openapi/{version}/relationship/tag/{quote(PII, safe='')}?direction=INCOMING"
        (one,) = shop.good("GET", path)["results"]
        assert (one["source"]["urn"], one["destination"]["urn"]) == (ORDERS, PII)


def test_lineage_is_told_from_both_ends_to_who_may_know_of_them(shop: Wire) -> None:
    for version in ("v2", "v3"):
        path = f"/openapi/{version}/relationship/dataset/{quote(STOCK, safe='')}"
        query = "direction=INCOMING&relationshipType[]=DownstreamOf"
        (one,) = shop.good("GET", f"{path}?{query}")["results"]
        assert (one["source"]["urn"], one["destination"]["urn"]) == (ORDERS, STOCK)
    assert scroll_relationships(
        shop, {"destinationFilter": urn_filter(ORDERS)}, "?relationshipTypes=Consumes"
    ) == [(CHART, "Consumes", ORDERS)]
    shop.grant("see", "VIEW_ENTITY_PAGE", to="eve", URN=[STOCK, CHART])
    assert related_urns(shop, STOCK, "INCOMING", "DownstreamOf", "eve")["total"] == 0
    assert related_urns(shop, CHART, "OUTGOING", "Consumes", "eve")["total"] == 0
    shop.grant("more", "VIEW_ENTITY_PAGE", to="eve", URN=[ORDERS])
    assert related_urns(shop, STOCK, "INCOMING", "DownstreamOf", "eve")["relationships"] == [
        {"type": "DownstreamOf", "entity": ORDERS}
    ]


def test_pages_add_up(shop: Wire) -> None:
    path = f"/openapi/v3/relationship/dataset/{quote(ORDERS, safe='')}?count=4"
    first = shop.good("GET", path)
    second = shop.good("GET", f"{path}&scrollId={first['scrollId']}")
    assert (len(first["results"]), len(second["results"]), second["scrollId"]) == (4, 3, None)
    page = shop.good("GET", f"/relationships?urn={quote(ORDERS, safe='')}&start=4&count=9")
    assert (page["start"], page["count"], page["total"]) == (4, 3, 7)


def test_the_other_end_is_told_to_who_may_know_of_it(shop: Wire) -> None:
    path = f"/relationships?urn={quote(ORDERS, safe='')}"
    assert shop.bad("GET", path, user="eve") == 403
    shop.grant("see", "VIEW_ENTITY_PAGE", to="eve", URN=[ORDERS, PII])
    told = related_urns(shop, ORDERS, "OUTGOING", user="eve")
    assert told["relationships"] == [{"type": "TaggedWith", "entity": PII}]
    assert told["total"] == 1


def test_a_column_is_told_to_who_may_read_its_dataset(shop: Wire) -> None:
    column = f"urn:li:schemaField:({STOCK},id)"
    shop.put((ORDERS, "logicalParent", {"parent": {"destinationUrn": column}}))
    shop.grant("see", "VIEW_ENTITY_PAGE", to="eve", URN=[ORDERS])
    assert related_urns(shop, ORDERS, "OUTGOING", "PhysicalInstanceOf", "eve")["total"] == 0
    shop.grant("more", "VIEW_ENTITY_PAGE", to="eve", URN=[STOCK])
    assert related_urns(shop, ORDERS, "OUTGOING", "PhysicalInstanceOf", "eve")["relationships"] == [
        {"type": "PhysicalInstanceOf", "entity": column}
    ]


def test_a_query_is_told_to_who_may_read_all_its_subjects(shop: Wire) -> None:
    shop.put((QUERY, "querySubjects", {"subjects": [{"entity": ORDERS}, {"entity": STOCK}]}))
    configure(shop.service, REALM, shop.services, {"view": True})
    shop.grant("see", "VIEW_ENTITY_PAGE", to="eve", URN=[ORDERS, QUERY])
    assert related_urns(shop, ORDERS, "INCOMING", "IsAssociatedWith", "eve")["total"] == 0
    shop.grant("more", "VIEW_ENTITY_PAGE", to="eve", URN=[STOCK])
    assert related_urns(shop, ORDERS, "INCOMING", "IsAssociatedWith", "eve")["total"] == 1


@pytest.mark.parametrize("asked", ["direction=UP", "start=x", "count=-1"])
def test_what_makes_no_sense_is_400(shop: Wire, asked: str) -> None:
    assert shop.bad("GET", f"/relationships?urn={quote(ORDERS, safe='')}&{asked}") == 400
    assert shop.bad("GET", "/relationships?urn=x&direction=INCOMING") == 400
    assert shop.bad("GET", f"/openapi/v3/relationship/chart/{quote(ORDERS, safe='')}") == 400


def scroll_relationships(
    wire: Wire, body: dict[str, Any], query: str = "", user: str = "admin"
) -> list[Any]:
    found = wire.good("POST", f"/openapi/v3/relationship/scroll{query}", body, user)["results"]
    return [
        (one["source"]["urn"], one["relationshipType"], one["destination"]["urn"]) for one in found
    ]


def urn_filter(*urns: str) -> dict[str, Any]:
    return {"and": [{"criteria": [{"field": "urn", "values": list(urns), "condition": "EQUAL"}]}]}


def test_relations_of_several_entities_are_scrolled(shop: Wire) -> None:
    path = "?relationshipTypes=IsPartOf"
    assert scroll_relationships(shop, {"sourceFilter": urn_filter(ORDERS, SHOP)}, path) == [
        (ORDERS, "IsPartOf", BOX),
        (SHOP, "IsPartOf", ALL),
    ]
    assert scroll_relationships(shop, {"destinationFilter": urn_filter(PII)}) == [
        (ORDERS, "TaggedWith", PII)
    ]
    both = {"sourceFilter": urn_filter(ORDERS), "destinationFilter": urn_filter(PII)}
    assert scroll_relationships(shop, both) == [(ORDERS, "TaggedWith", PII)]
    assert scroll_relationships(
        shop, {"sourceFilter": urn_filter(ORDERS)}, "?destinationTypes=tag"
    ) == [(ORDERS, "TaggedWith", PII)]
    wrong = {"and": [{"criteria": [{"field": "name", "values": ["x"]}]}]}
    for body in ({}, {"sourceFilter": wrong}):
        assert shop.bad("POST", "/openapi/v3/relationship/scroll", body) == 400
    assert shop.bad("POST", "/openapi/v3/relationship/scroll", both, "eve") == 403
