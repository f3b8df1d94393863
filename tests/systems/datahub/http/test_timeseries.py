"""Time series: written in every way, read in windows, scrolled, deleted, measured."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from lakewarden.systems.datahub.settings import DataHubSettings
from tests.systems.datahub.http.wire import Wire, proposal

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
STOCK = "urn:li:dataset:(urn:li:dataPlatform:hive,shop/stock,PROD)"
INGEST = "/aspects?action=ingestProposal"
BATCH = "/aspects?action=ingestProposalBatch"
VALUES = "/aspects?action=getTimeseriesAspectValues"
DELETE = "/entities?action=delete"
TRUNCATE = "/operations?action=truncateTimeseriesAspect"
PROFILES = "/openapi/v2/timeseries/dataset/datasetProfile"
ASKED = {"urn": ORDERS, "entity": "dataset", "aspect": "datasetProfile"}


def profile(time: int, rows: int = 0, **more: object) -> dict[str, Any]:
    return {"timestampMillis": time, "rowCount": rows, **more}


def put_profiles(wire: Wire, urn: str, *values: dict[str, Any]) -> None:
    wire.put(*((urn, "datasetProfile", value) for value in values))


def times(wire: Wire, user: str = "admin", **asked: Any) -> list[int]:
    found = wire.good("POST", VALUES, {**ASKED, **asked}, user)["value"]["values"]
    return [json.loads(one["aspect"]["value"])["timestampMillis"] for one in found]


def by_proposal(wire: Wire, value: dict[str, Any]) -> None:
    wire.good("POST", INGEST, {"proposal": proposal(ORDERS, "datasetProfile", value)})


def by_batch(wire: Wire, value: dict[str, Any]) -> None:
    wire.good("POST", BATCH, {"proposals": [proposal(ORDERS, "datasetProfile", value)]})


def by_entity(wire: Wire, value: dict[str, Any]) -> None:
    body = [{"urn": ORDERS, "datasetProfile": {"value": value}}]
    wire.good("POST", "/openapi/v3/entity/dataset", body)


def by_aspect(wire: Wire, value: dict[str, Any]) -> None:
    path = f"/openapi/v3/entity/dataset/{quote(ORDERS, safe='')}/datasetProfile"
    wire.good("POST", path, {"value": value})


@pytest.mark.parametrize("way", [by_proposal, by_batch, by_entity, by_aspect])
def test_every_value_is_kept_in_whatever_way_it_comes(wire: Wire, way: Any) -> None:
    for time in (10, 30, 20):
        way(wire, profile(time))
    assert times(wire) == [30, 20, 10]
    assert "datasetProfile" not in wire.aspects(ORDERS)


def test_of_one_batch_every_value_is_kept(wire: Wire) -> None:
    items = [proposal(ORDERS, "datasetProfile", profile(time)) for time in (1, 2, 3)]
    wire.good("POST", BATCH, {"proposals": items})
    assert times(wire) == [3, 2, 1]


def test_a_value_that_comes_again_takes_the_place_of_the_first(wire: Wire) -> None:
    part = {"partitionSpec": {"partition": "p", "type": "PARTITION"}}
    put_profiles(wire, ORDERS, profile(1, 1), profile(1, 2), profile(1, 3, messageId="m"))
    put_profiles(wire, ORDERS, profile(1, 4, **part))
    found = wire.good("POST", VALUES, ASKED)["value"]["values"]
    assert sorted(json.loads(one["aspect"]["value"])["rowCount"] for one in found) == [2, 3, 4]


def test_a_window_a_limit_and_the_newest(wire: Wire) -> None:
    put_profiles(wire, ORDERS, *map(profile, (10, 20, 30, 40)))
    assert times(wire, startTimeMillis=20, endTimeMillis=30) == [30, 20]
    assert times(wire, limit=2) == [40, 30]
    assert times(wire, latestValue=True) == [40]
    assert times(wire, endTimeMillis=9) == []
    assert times(wire, limit=0) == []


def criteria(*said: dict[str, Any]) -> dict[str, Any]:
    return {"filter": {"or": [{"and": list(said)}]}}


def test_filters_and_orders_pick_values(wire: Wire) -> None:
    spec = {"partitionSpec": {"partition": "p1", "type": "PARTITION"}}
    put_profiles(wire, ORDERS, profile(1, 7), profile(2, 5, **spec), profile(3, 9), profile(4, 5))
    assert times(wire, **criteria()) == [4, 3, 2, 1]
    equal = {"field": "rowCount", "values": ["5"], "condition": "EQUAL"}
    assert times(wire, **criteria(equal)) == [4, 2]
    assert times(wire, **criteria({**equal, "negated": True})) == [3, 1]
    more = {"field": "rowCount", "value": "5", "condition": "GREATER_THAN"}
    assert times(wire, **criteria(more)) == [3, 1]
    assert times(wire, **criteria(equal, more)) == []
    for field in ("partition", "partitionSpec.partition"):
        there = {"field": field, "values": ["p1"], "condition": "EQUAL"}
        assert times(wire, **criteria(there)) == [2]
    exists = {"field": "partitionSpec", "condition": "EXISTS"}
    assert times(wire, **criteria(exists)) == [2]
    sort: dict[str, Any] = {"sort": {"field": "rowCount", "order": "ASCENDING"}, "limit": 3}
    assert times(wire, **sort) == [4, 2, 1]
    either: dict[str, Any] = {"filter": {"or": [{"and": [equal]}, {"and": [more]}]}}
    assert times(wire, **either) == [4, 3, 2, 1]


@pytest.mark.parametrize(
    "asked",
    [
        {"urn": "orders"},
        {"entity": "chart"},
        {"startTimeMillis": "x"},
        {"endTimeMillis": 2**60},
        {"filter": {"or": [{"and": [{"field": "a", "values": ["1"], "condition": "LIKE"}]}]}},
        {"sort": {"field": "rowCount", "order": "UP"}},
        {"limit": -1},
    ],
)
def test_what_makes_no_sense_is_400(wire: Wire, asked: dict[str, Any]) -> None:
    put_profiles(wire, ORDERS, profile(1))
    assert wire.bad("POST", VALUES, {**ASKED, **asked}) == 400


@pytest.mark.parametrize("time", [None, "1", True, 2**60, 1.5])
def test_a_value_says_its_time(wire: Wire, time: object) -> None:
    revision = wire.service.state.revision
    value = {"timestampMillis": time, "rowCount": 1}
    assert wire.bad("POST", INGEST, {"proposal": proposal(ORDERS, "datasetProfile", value)}) == 400
    assert wire.service.state.revision == revision


def test_only_the_newest_are_kept_so_many_as_the_operator_says(wire: Wire) -> None:
    wire.services = type(wire.services)(systems={"datahub": DataHubSettings(timeseries_values=3)})
    for time in (5, 1, 4, 2, 3):
        by_proposal(wire, profile(time))
    assert times(wire) == [5, 4, 3]
    items = [proposal(ORDERS, "datasetProfile", profile(time)) for time in range(10, 20)]
    wire.good("POST", BATCH, {"proposals": items})
    assert times(wire) == [19, 18, 17]


def test_values_are_read_by_their_own_privilege(wire: Wire) -> None:
    put_profiles(wire, ORDERS, profile(1))
    wire.grant("page", "VIEW_ENTITY_PAGE", to="eve")
    assert wire.bad("POST", VALUES, ASKED, "eve") == 403
    wire.grant("values", "GET_TIMESERIES_ASPECT_PRIVILEGE", to="eve", URN=[ORDERS])
    assert times(wire, "eve") == [1]


def test_a_named_aspect_of_values_is_told_or_refused_and_else_left_out(wire: Wire) -> None:
    put_profiles(wire, ORDERS, profile(1), profile(2))
    wire.grant("page", "VIEW_ENTITY_PAGE", to="eve")
    path = f"/openapi/v3/entity/dataset/{quote(ORDERS, safe='')}"
    assert "datasetProfile" not in wire.good("GET", path, user="eve")
    for named in (f"{path}?aspects=datasetProfile,status", f"{path}/datasetProfile"):
        assert wire.bad("GET", named, user="eve") == 403
    told = wire.good("GET", f"{path}?aspects=datasetProfile")
    assert told["datasetProfile"]["value"]["timestampMillis"] == 2
    body = [{"urn": ORDERS, "datasetProfile": {}}]
    assert wire.bad("POST", "/openapi/v3/entity/dataset/batchGet", body, "eve") == 403


def scroll_profiles(wire: Wire, user: str, count: int, more: str = "") -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    scroll: str | None = ""
    while scroll is not None:
        page = wire.good(
            "GET", f"{PROFILES}?count={count}&scrollId={quote(scroll)}{more}", user=user
        )
        assert page["results"] or page["scrollId"] is None
        found += [(one["urn"], one["timestampMillis"]) for one in page["results"]]
        scroll = page["scrollId"]
    return found


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_pages_of_a_type_are_of_what_may_be_read(wire: Wire, count: int) -> None:
    put_profiles(wire, ORDERS, profile(1), profile(3), profile(3, messageId="m"))
    put_profiles(wire, STOCK, profile(2), profile(3))
    everything = scroll_profiles(wire, "admin", count)
    assert sorted(everything) == sorted(
        [(ORDERS, 3), (ORDERS, 3), (STOCK, 3), (STOCK, 2), (ORDERS, 1)]
    )
    assert [time for _, time in everything] == [3, 3, 3, 2, 1]
    wire.grant("values", "GET_TIMESERIES_ASPECT_PRIVILEGE", to="eve", URN=[STOCK])
    assert scroll_profiles(wire, "eve", count) == [(STOCK, 3), (STOCK, 2)]
    window = "&startTimeMillis=2&endTimeMillis=2"
    assert scroll_profiles(wire, "admin", count, window) == [(STOCK, 2)]


@pytest.mark.parametrize("asked", ["scrollId=%21", "scrollId=WzFd", "count=x", "startTimeMillis=x"])
def test_a_page_that_makes_no_sense_is_400(wire: Wire, asked: str) -> None:
    assert wire.bad("GET", f"{PROFILES}?{asked}") == 400
    assert wire.bad("GET", f"/openapi/v2/timeseries/dataset/status?{asked}") == 400


def test_values_are_taken_away_in_a_window_by_who_may_delete(wire: Wire) -> None:
    put_profiles(wire, ORDERS, *map(profile, (1, 2, 3)))
    gone = {"urn": ORDERS, "aspectName": "datasetProfile", "endTimeMillis": 2}
    wire.grant("edit", "EDIT_ENTITY", to="eve")
    assert wire.bad("POST", DELETE, gone, "eve") == 403
    assert times(wire) == [3, 2, 1]
    assert wire.good("POST", DELETE, gone)["value"]["timeseriesRows"] == 2
    assert times(wire) == [3]
    last = json.loads(wire.audit()[-1].body)
    assert (last["operation"], last["details"]["values"]) == ("timeseries.delete", 2)
    assert wire.bad("POST", DELETE, {**gone, "aspectName": "status"}) == 400


def test_values_go_with_their_entity(wire: Wire) -> None:
    put_profiles(wire, ORDERS, *map(profile, (1, 2, 3)))
    assert wire.good("POST", DELETE, {"urn": ORDERS})["value"]["timeseriesRows"] == 3
    put_profiles(wire, ORDERS, profile(9))
    assert times(wire) == [9]


def test_old_values_of_a_whole_type_are_truncated_once_that_is_meant(wire: Wire) -> None:
    put_profiles(wire, ORDERS, *map(profile, (1, 2, 3)))
    put_profiles(wire, STOCK, profile(1))
    asked = {"entityType": "dataset", "aspect": "datasetProfile", "endTimeMillis": 2}
    assert "3 values" in wire.good("POST", TRUNCATE, asked)["value"]
    assert times(wire) == [3, 2, 1]
    wire.grant("all", "EDIT_ENTITY", "DELETE_ENTITY", to="eve")
    assert wire.bad("POST", TRUNCATE, {**asked, "dryRun": False}, "eve") == 403
    assert "3 values" in wire.good("POST", TRUNCATE, {**asked, "dryRun": False})["value"]
    assert times(wire) == [3]
    assert wire.bad("POST", TRUNCATE, {**asked, "aspect": "status"}) == 400


def test_sizes_are_told_to_who_may_know_them(wire: Wire) -> None:
    put_profiles(wire, ORDERS, profile(1))
    (told,) = wire.good("POST", "/operations?action=getIndexSizes", {})["value"]["indexSizes"]
    assert (told["entityName"], told["aspectName"]) == ("dataset", "datasetProfile")
    assert 0 < told["sizeInMb"] < 1
    newer = "/openapi/operations/elasticSearch/getIndexSizes"
    (plain,) = wire.good("GET", newer)["sizes"]
    assert plain["sizeMb"] == told["sizeInMb"]
    assert wire.bad("GET", newer, user="eve") == 403
