"""Counts of entities, for permitted callers."""

from __future__ import annotations

from tests.systems.datahub.http.wire import Wire

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
STOCK = "urn:li:dataset:(urn:li:dataPlatform:hive,shop/stock,PROD)"
SHOP = "urn:li:domain:shop"
TAGS = {"tags": [{"tag": "urn:li:tag:pii"}]}
OF_ASPECT = "/aspects?action=getCount"
OF_TYPE = "/entities?action=getTotalEntityCount"
OF_TYPES = "/entities?action=batchGetTotalEntityCount"


def test_counts_are_of_stored_aspects_and_need_their_privilege(wire: Wire) -> None:
    wire.put((ORDERS, "globalTags", TAGS), (STOCK, "status", {}), (SHOP, "globalTags", TAGS))
    assert wire.good("POST", OF_ASPECT, {"aspect": "globalTags"}) == {"value": 2}
    like = {"aspect": "globalTags", "urnLike": "urn:li:dataset:%"}
    assert wire.good("POST", OF_ASPECT, like) == {"value": 1}
    assert wire.good("POST", OF_ASPECT, {"aspect": "datasetKey"}) == {"value": 2}
    assert wire.bad("POST", OF_ASPECT, {"aspect": "status"}, "eve") == 403


def test_entities_are_counted_by_their_types(wire: Wire) -> None:
    wire.put((ORDERS, "status", {}), (STOCK, "status", {}), (SHOP, "status", {}))
    assert wire.good("POST", OF_TYPE, {"entity": "dataset"}) == {"value": 2}
    assert wire.good("POST", OF_TYPE, {"entity": "chart"}) == {"value": 0}
    assert wire.good("POST", OF_TYPE, {"entity": "dataHubPolicy"})["value"] > 5
    asked = {"entities": ["dataset", "domain"]}
    assert wire.good("POST", OF_TYPES, asked) == {"value": {"dataset": 2, "domain": 1}}


def test_who_may_count_one_type_may_not_count_another(wire: Wire) -> None:
    wire.put((ORDERS, "status", {}))
    wire.grant("count", "GET_COUNTS_PRIVILEGE", to="eve", TYPE=["dataset"])
    assert wire.good("POST", OF_TYPE, {"entity": "dataset"}, "eve") == {"value": 1}
    assert wire.bad("POST", OF_TYPE, {"entity": "domain"}, "eve") == 403
    assert wire.bad("POST", OF_TYPES, {"entities": ["dataset", "domain"]}, "eve") == 403


def test_the_number_of_types_in_one_count_is_limited(wire: Wire) -> None:
    wire.services = type(wire.services)(batch_rows=1)
    assert wire.bad("POST", OF_TYPES, {"entities": ["dataset", "domain"]}) == 400
