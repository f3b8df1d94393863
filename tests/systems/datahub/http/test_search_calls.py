"""Search by Rest.li and OpenAPI: URNs that the caller may see."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from tests.systems.datahub.http.wire import Wire

SEARCH = "/entities?action=search"


def dataset(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


ORDERS, DAILY, WAGES = dataset("shop.orders"), dataset("shop.daily_orders"), dataset("pay.wages")


@pytest.fixture
def hub(wire: Wire) -> Wire:
    """A server with three datasets; eve may read one, sam has Search API on another."""
    told = {"name": "Orders", "description": "what was sold", "customProperties": {"a": "1"}}
    wire.put(
        (ORDERS, "datasetProperties", told),
        (DAILY, "status", {"removed": False}),
        (WAGES, "globalTags", {"tags": [{"tag": "urn:li:tag:pii"}]}),
        ("urn:li:domain:shop", "domainProperties", {"name": "Shop"}),
    )
    wire.grant("eve", "VIEW_ENTITY_PAGE", to="eve", URN=[ORDERS])
    wire.grant("sam", "SEARCH_PRIVILEGE", to="sam", URN=[DAILY])
    return wire


def search(hub: Wire, input: str = "*", user: str = "admin", **more: object) -> Any:
    body = {"entity": "dataset", "input": input, "start": 0, "count": 10, **more}
    return hub.good("POST", SEARCH, body, user)["value"]


def urns(found: Any) -> list[str]:
    assert found["pageSize"] == len(found["entities"])
    return [one["entity"] for one in found["entities"]]


def test_entities_of_a_type_are_found_by_words(hub: Wire) -> None:
    assert urns(search(hub)) == [WAGES, DAILY, ORDERS]
    assert urns(search(hub, "sold")) == [ORDERS]
    assert urns(search(hub, "nothing")) == []
    page = search(hub, start=1, count=1)
    assert (page["from"], page["numEntities"], urns(page)) == (1, 3, [DAILY])


def test_what_is_given_is_what_may_be_read_or_searched(hub: Wire) -> None:
    assert urns(search(hub, user="eve")) == [ORDERS]
    assert urns(search(hub, user="sam")) == [DAILY]
    nothing = search(hub, user="nobody")
    assert (nothing["numEntities"], nothing["metadata"]["aggregations"]) == (0, [])


def test_filters_and_order_of_the_body_count(hub: Wire) -> None:
    name = {"or": [{"and": [{"field": "name", "values": ["Shop"], "condition": "EQUAL"}]}]}
    assert urns(search(hub, entity="domain", filter=name)) == ["urn:li:domain:shop"]
    older = {"criteria": [{"field": "tags", "value": "urn:li:tag:pii"}]}
    assert urns(search(hub, filter=older)) == [WAGES]
    assert urns(search(hub, filter={"or": []})) == [WAGES, DAILY, ORDERS]
    by_urn = {"field": "urn", "order": "DESCENDING"}
    assert urns(search(hub, sort=by_urn)) == [ORDERS, DAILY, WAGES]
    body = {"entity": "dataset", "filter": older, "start": 0, "count": 10}
    assert urns(hub.good("POST", "/entities?action=filter", body)["value"]) == [WAGES]
    wrong = {"or": [{"and": [{"field": "name", "values": ["x"], "condition": "LIKE"}]}]}
    assert hub.bad("POST", SEARCH, {"entity": "dataset", "input": "*", "filter": wrong}) == 400
    assert hub.bad("POST", SEARCH, {"input": "*"}) == 400


def test_several_types_are_searched_together(hub: Wire) -> None:
    body = {"entities": ["dataset", "domain"], "input": "shop", "start": 0, "count": 10}
    found = hub.good("POST", "/entities?action=searchAcrossEntities", body)["value"]
    assert urns(found) == ["urn:li:domain:shop", DAILY, ORDERS]
    counts = {one["name"]: one["aggregations"] for one in found["metadata"]["aggregations"]}
    assert counts["_entityType"] == {"dataset": 2, "domain": 1}


def test_names_are_completed(hub: Wire) -> None:
    body = {"entity": "dataset", "query": "ord", "limit": 5}
    found = hub.good("POST", "/entities?action=autocomplete", body)["value"]
    assert found["suggestions"] == ["shop.daily_orders", "Orders"]
    assert found["entities"] == [{"urn": DAILY}, {"urn": ORDERS}]
    nothing = hub.good("POST", "/entities?action=autocomplete", body, "nobody")["value"]
    assert nothing["suggestions"] == nothing["entities"] == []


def test_what_holds_power_is_never_found(hub: Wire) -> None:
    assert search(hub, entity="dataHubPolicy")["numEntities"] == 0
    assert search(hub, "eve", entity="dataHubPolicy")["numEntities"] == 0


def test_the_newer_interface_lists_by_words_what_may_be_read(hub: Wire) -> None:
    path = f"/openapi/v3/entity/dataset?query={quote('orders')}&count=1"
    page = hub.good("GET", path)
    assert (page["totalCount"], [one["urn"] for one in page["entities"]]) == (2, [ORDERS])
    rest = hub.good("GET", f"{path}&scrollId={quote(page['scrollId'])}")
    assert ([one["urn"] for one in rest["entities"]], rest["scrollId"]) == ([DAILY], None)
    assert hub.bad("GET", f"{path}&scrollId=1") == 400
    assert hub.good("GET", path, user="sam")["totalCount"] == 0
    assert hub.good("GET", path, user="eve")["totalCount"] == 1


def test_the_newer_interface_scrolls_through_what_meets_a_filter(hub: Wire) -> None:
    path = "/openapi/v3/entity/scroll"
    filter = {"or": [{"and": [{"field": "tags", "values": ["urn:li:tag:pii"]}]}]}
    body = {"entities": ["dataset", "domain"], "aspects": ["globalTags"], "filter": filter}
    page = hub.good("POST", f"{path}?count=5", body)
    assert (page["totalCount"], [one["urn"] for one in page["entities"]]) == (1, [WAGES])
    assert hub.good("POST", f"{path}?query=shop", {"entities": ["domain"]})["totalCount"] == 1


def test_no_way_of_searching_takes_more_than_64_words(hub: Wire) -> None:
    many = "a " * 65
    query = quote(many)
    body = {"entity": "dataset", "start": 0, "count": 10, "limit": 10}
    for field, method, path, sent in (
        ("input", "POST", SEARCH, {**body, "input": many}),
        ("input", "POST", "/entities?action=searchAcrossEntities", {**body, "input": many}),
        ("query", "POST", "/entities?action=autocomplete", {**body, "query": many}),
        ("query", "GET", f"/openapi/v3/entity/dataset?query={query}", None),
        ("query", "POST", f"/openapi/v3/entity/scroll?query={query}", {}),
    ):
        status, answer = hub.ask(method, path, sent)
        assert status == 400, path
        assert f"{field}: expected at most 64 words, got 65" in json.dumps(answer)
