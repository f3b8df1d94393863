"""Metadata search over the wire: the hits, and that they reveal only visible entities."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.systems.cdap.http.estate import CLICKS, ETL, NIGHTLY, ORDERS, SHOP, SPACE, build
from tests.systems.cdap.http.wire import BOSS, Json, Wire, switched

SEARCH = f"{SPACE}/metadata/search"

EVERYTHING = {
    "ARTIFACT etl",
    "APPLICATION aside",
    "APPLICATION books",
    "APPLICATION shop",
    "DATASET notes",
    "DATASET orders",
    "DATASET sums",
    "NAMESPACE sales",
    "PROGRAM api",
    "PROGRAM closing",
    "PROGRAM nightly",
    "PROGRAM scribe",
    "STREAM clicks",
}


@pytest.fixture
def new(wire: Wire) -> Wire:
    """The estate in the later profile."""
    return wire.built(build)


def name(id: Json) -> str:
    member = {"STREAM_VIEW": "view"}.get(id["entity"], id["entity"].lower())
    return f"{id['entity']} {id[member]}"


def result(wire: Wire, query: str, more: str = "", user: str = BOSS, path: str = SEARCH) -> Json:
    found: Json = wire.good("GET", f"{path}?query={quote(query)}{more}", user=user)
    return found


def hits(wire: Wire, query: str, more: str = "", user: str = BOSS, path: str = SEARCH) -> Any:
    found = result(wire, query, more, user, path)
    return [name(row["entityId"]) for row in found["results"]]


def test_everything_is_found_by_a_star(new: Wire) -> None:
    assert set(hits(new, "*")) == EVERYTHING
    assert set(hits(new, "*", path="metadata/search")) == EVERYTHING


def test_who_holds_something_sees_its_hits_and_a_stranger_none(new: Wire) -> None:
    new.good("POST", f"{ORDERS}/metadata/tags", ["pii"])
    new.good("POST", f"{CLICKS}/metadata/tags", ["pii"])
    new.grant("eve", "dataset:sales.orders", "READ")
    assert sorted(hits(new, "pii")) == ["DATASET orders", "STREAM clicks"]
    assert hits(new, "pii", user="eve") == ["DATASET orders"]
    assert hits(new, "pii", user="zed") == []
    new.revoke("eve", "dataset:sales.orders")
    assert hits(new, "pii", user="eve") == []


def test_a_grant_on_what_is_below_shows_what_is_above(new: Wire) -> None:
    new.grant("eve", "program:sales.shop.workflow.nightly", "EXECUTE")
    found = hits(new, "*", user="eve")
    assert sorted(found) == ["APPLICATION shop", "NAMESPACE sales", "PROGRAM nightly"]


def test_the_total_is_that_of_what_is_shown(new: Wire) -> None:
    for path in (ORDERS, CLICKS, SHOP, NIGHTLY):
        new.good("POST", f"{path}/metadata/tags", ["pii"])
    new.grant("eve", "stream:sales.clicks", "WRITE")
    assert result(new, "pii")["total"] == 4
    assert result(new, "pii", user="eve")["total"] == 1
    assert result(new, "pii", user="zed")["total"] == 0


def test_cursors_are_those_of_what_is_shown(new: Wire) -> None:
    new.grant("eve", "dataset:sales.*", "READ")
    sort = "&sort=entity-name%20asc&target=dataset&limit=1&numCursors=9"
    found = result(new, "*", sort, user="eve")
    assert [found["total"], len(found["cursors"])] == [3, 2]
    assert [name(one["entityId"]) for one in found["results"]] == ["DATASET notes"]
    pages = [hits(new, "*", f"{sort}&cursor={one}", user="eve") for one in found["cursors"]]
    assert pages == [["DATASET orders"], ["DATASET sums"]]
    new.revoke("eve", "dataset:sales.*")
    new.grant("eve", "dataset:sales.sums", "READ")
    found = result(new, "*", sort, user="eve")
    assert [found["total"], found["cursors"]] == [1, []]


def test_a_cursor_holds_its_place_when_what_stood_there_is_gone(new: Wire) -> None:
    more = "&sort=entity-name%20asc&target=dataset&limit=2&numCursors=1"
    (cursor,) = result(new, "*", more)["cursors"]
    new.good("DELETE", ORDERS)
    assert hits(new, "*", f"{more}&cursor={cursor}") == ["DATASET sums"]


def test_offset_and_limit_cut_the_result(new: Wire) -> None:
    sort = "&target=dataset&sort=entity-name%20desc"
    assert hits(new, "*", sort) == ["DATASET sums", "DATASET orders", "DATASET notes"]
    assert hits(new, "*", f"{sort}&offset=1&limit=1") == ["DATASET orders"]
    assert hits(new, "*", f"{sort}&offset=9") == []


def test_a_program_without_the_right_kind_is_left_out_by_target(new: Wire) -> None:
    assert hits(new, "*", "&target=stream&target=artifact") == ["ARTIFACT etl", "STREAM clicks"]
    assert set(hits(new, "*", "&target=all")) == EVERYTHING
    assert hits(new, "*", "&target=namespace") == ["NAMESPACE sales"]
    assert hits(new, "*", "&target=app") == [
        "APPLICATION aside",
        "APPLICATION books",
        "APPLICATION shop",
    ]


def test_words_are_found_in_values_keys_tags_and_names(new: Wire) -> None:
    new.good("POST", f"{ORDERS}/metadata/properties", {"Owner": "Ana-Maria Silva"})
    new.good("POST", f"{ORDERS}/metadata/tags", ["Daily"])
    for query in (
        *("ana", "MARIA", "silva", "owner:ana", "owner:silv*", "properties:owner", "daily"),
        *("tags:daily", "tags:d*", "orders", "entity-name:orders", "or*", "nothing orders"),
    ):
        assert hits(new, query) == ["DATASET orders"], query
    for query in ("an", "maria:ana", "tags:ana", "owner", "daily:tags"):
        assert hits(new, query) == [], query


def test_what_matches_more_comes_first(new: Wire) -> None:
    new.good("POST", f"{ORDERS}/metadata/tags", ["red"])
    new.good("POST", f"{CLICKS}/metadata/tags", ["red", "blue"])
    assert hits(new, "red blue") == ["STREAM clicks", "DATASET orders"]


def test_a_hit_tells_its_metadata_by_scope(new: Wire) -> None:
    new.good("POST", f"{CLICKS}/metadata/tags", ["pii"])
    (hit,) = result(new, "pii")["results"]
    assert hit == {
        "entityId": {"namespace": "sales", "stream": "clicks", "entity": "STREAM"},
        "metadata": {
            "USER": {"properties": {}, "tags": ["pii"]},
            "SYSTEM": {"properties": {"entity-name": "clicks"}, "tags": []},
        },
    }


def test_versions_of_an_artifact_are_hits_of_their_own(new: Wire) -> None:
    headers = {"Artifact-Version": "2.0"}
    new.good("POST", f"{SPACE}/artifacts/etl", b"x", headers=headers)
    new.good("POST", f"{ETL}/metadata/tags", ["old"])
    (hit,) = result(new, "old")["results"]
    assert hit["entityId"]["version"] == "1.0"
    assert result(new, "*", "&target=artifact")["total"] == 2


def test_schedules_and_views_are_found_where_their_lists_show_them(new: Wire) -> None:
    program = {"programName": "nightly", "programType": "WORKFLOW"}
    trigger = {"type": "TIME", "cronExpression": "0 * * * *"}
    new.good("PUT", f"{SHOP}/schedules/daily", {"program": program, "trigger": trigger})
    assert new.status("PUT", f"{CLICKS}/views/plain", {"format": {"name": "text"}}) == 201
    more = "&target=schedule&target=view"
    assert hits(new, "*", more) == ["SCHEDULE daily", "STREAM_VIEW plain"]
    new.grant("eve", "program:sales.shop.service.api", "EXECUTE")
    assert hits(new, "*", more, user="eve") == []
    new.grant("eve", "program:sales.shop.workflow.nightly", "EXECUTE")
    assert hits(new, "*", more, user="eve") == ["SCHEDULE daily"]


def test_what_the_platform_brings_along_is_found_by_everybody(wire: Wire) -> None:
    build(wire)
    wire.good("POST", "namespaces/system/artifacts", user="platform")
    more = "&entityScope=system"
    shipped = ["ARTIFACT cdap-data-pipeline", "ARTIFACT cdap-data-streams"]
    for path in (SEARCH, "metadata/search"):
        assert hits(wire, "*", more, "zed", path) == shipped
    assert hits(wire, "*", "&entityScope=user", "zed") == []
    assert hits(wire, "*", user="zed") == shipped


def test_an_absent_namespace_is_searched_as_a_hidden_one_is(new: Wire) -> None:
    absent = result(new, "*", user="zed", path="namespaces/absent/metadata/search")
    assert absent == result(new, "*", user="zed")
    new.grant("zed", "dataset:absent.t1", "READ")
    assert result(new, "*", user="zed", path="namespaces/absent/metadata/search") == absent


def test_other_namespaces_are_not_searched(new: Wire) -> None:
    new.grant(BOSS, "namespace:hr", "ADMIN")
    new.grant(BOSS, "dataset:hr.wages")
    new.good("PUT", "namespaces/hr")
    new.good("PUT", "namespaces/hr/data/datasets/wages", {"typeName": "table"})
    assert hits(new, "wages") == []
    assert hits(new, "wages", path="metadata/search") == ["DATASET wages"]


def test_in_the_older_profile_a_namespace_is_searched_by_who_may_read_it(old: Wire) -> None:
    build(old)
    old.grant("eve", "dataset:sales.orders", "READ")
    assert old.status("GET", f"{SEARCH}?query=*", user="eve") == 403
    assert hits(old, "*", user="eve", path="metadata/search") == []
    old.grant("eve", "namespace:sales", "READ")
    assert sorted(hits(old, "*", user="eve")) == ["DATASET orders", "NAMESPACE sales"]


def test_metadata_that_the_caller_may_not_read_is_neither_searched_nor_told(old: Wire) -> None:
    build(old)
    old.good("POST", f"{ORDERS}/metadata/tags", ["pii"])
    old.grant("eve", "namespace:sales", "READ")
    old.grant("eve", "dataset:sales.orders", "WRITE")
    assert hits(old, "pii", user="eve") == []
    (hit,) = result(old, "orders", user="eve")["results"]
    assert hit["metadata"] == {"SYSTEM": {"properties": {"entity-name": "orders"}, "tags": []}}
    old.grant("eve", "dataset:sales.orders", "READ")
    assert hits(old, "pii", user="eve") == ["DATASET orders"]


def test_where_authorization_is_off_everything_is_told(tmp_path: Path) -> None:
    with Wire(tmp_path) as one:
        build(one)
    with Wire(tmp_path, options=switched(authorization=False)) as one:
        one.good("POST", f"{ORDERS}/metrics", {"rows": 2}, user="zed")
        assert set(hits(one, "*", user="zed")) == EVERYTHING
        assert len(one.good("GET", f"{ORDERS}/lineage", user="zed")["relations"]) == 6
        found = one.good("POST", "metrics/query?tag=namespace:sales&metric=rows", user="zed")
        assert found["series"][0]["data"] == [{"time": 0, "value": 2}]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "query=",
        "query=*&target=odd",
        "query=*&limit=0",
        "query=*&limit=-1",
        "query=*&offset=x",
        "query=*&numCursors=99999999999",
        "query=*&sort=odd%20asc",
        "query=*&sort=entity-name",
        "query=pii&sort=entity-name%20asc",
        "query=*&cursor=odd",
        "query=*&cursor=W10",
        "query=*&cursor=%C3%A9",
        "query=*&cursor=W0luZmluaXR5LCIiLCIiXQ",
        "query=*&entityScope=odd",
    ],
)
def test_what_cannot_be_searched_for_is_400(new: Wire, query: str) -> None:
    assert new.status("GET", f"{SEARCH}?{query}") == 400


@pytest.mark.parametrize("path", [SEARCH, "/v3/metadata/search"])
def test_a_query_has_64_words_at_most(new: Wire, path: str) -> None:
    many = quote("orders " + "a " * 63)
    assert new.good("GET", f"{path}?query={many}")["total"] > 0
    status, said = new.ask("GET", f"{path}?query={many}b")
    assert (status, said) == (400, "query: expected at most 64 words, got 65")
