"""Lineage in GraphQL: followed through what the caller may see, hop by hop, in both directions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lakewarden.systems.datahub.search import lineage
from tests.systems.datahub.http.graphql.wire import BAD, Json, Wire, document, user

UP, DOWN = "UPSTREAM", "DOWNSTREAM"
ACROSS = """query q($i: SearchAcrossLineageInput!) { searchAcrossLineage(input: $i) {
  start count total isPartial
  searchResults { entity { urn } degree explored truncatedChildren ignoredAsHop
    paths { path { urn } } }
  facets { field aggregations { value count } }
} }"""
SCROLL = """query q($i: ScrollAcrossLineageInput!) { scrollAcrossLineage(input: $i) {
  nextScrollId count total searchResults { entity { urn } }
} }"""
NEXT = """query q($u: String!, $i: LineageInput!) { entity(urn: $u) {
  ... on EntityWithRelationships { lineage(input: $i) { total filtered relationships {
    type entity { urn } createdOn createdActor { urn } updatedOn isManual paths { path { urn } }
  } } }
} }"""
FINE = """query q($u: String!) { entity(urn: $u) {
  ... on Dataset { fineGrainedLineages { upstreams { urn path } downstreams { path } } }
} }"""
SHOP, PAY = "urn:li:domain:shop", "urn:li:domain:pay"


def dataset(name: str, platform: str = "hive") -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


def column(of: str, path: str) -> str:
    return f"urn:li:schemaField:({of},{path})"


RAW, CLEAN, MART = dataset("raw", "kafka"), dataset("clean"), dataset("mart")
FLOW = "urn:li:dataFlow:(airflow,f,PROD)"
TASK = f"urn:li:dataJob:({FLOW},t)"
OUT = dataset("out")
CHART, BOARD = "urn:li:chart:(looker,c)", "urn:li:dashboard:(looker,d)"
QUERY = "urn:li:query:q"


def fine(down: str, *up: str) -> Json:
    return {
        "upstreamType": "FIELD_SET",
        "upstreams": list(up),
        "downstreamType": "FIELD",
        "downstreams": [down],
    }


def lineage_of(*upstreams: str, columns: tuple[Json, ...] = (), **said: object) -> Json:
    found = [{"dataset": one, "type": "TRANSFORMED", **said} for one in upstreams]
    return {"upstreams": found, "fineGrainedLineages": list(columns)}


ID = fine(column(CLEAN, "id"), column(RAW, "id"), column(RAW, "key"))
NUMBER = fine(column(MART, "number"), column(CLEAN, "id"))


@pytest.fixture
def hub(wire: Wire) -> Wire:
    """Raw becomes clean, clean becomes mart and, by a task, out; a chart on a dashboard."""
    return wire.built(_fill_realm)


def _fill_realm(wire: Wire) -> None:
    wire.close()
    for urn in (RAW, CLEAN, MART, OUT):
        wire.put("dataset", urn, "domains", {"domains": [PAY if urn == CLEAN else SHOP]})
    wire.put("dataset", CLEAN, "upstreamLineage", lineage_of(RAW, columns=(ID,), query=QUERY))
    wire.put("dataset", MART, "upstreamLineage", lineage_of(CLEAN, columns=(NUMBER,)))
    wire.put("query", QUERY, "querySubjects", {"subjects": [{"entity": CLEAN}]})
    edge = {
        "destinationUrn": CLEAN,
        "created": {"time": 1_000, "actor": user("ana")},
        "lastModified": {"time": 2_000, "actor": user("ana")},
        "properties": {"source": "UI"},
    }
    task = {"inputDatasets": [CLEAN], "outputDatasets": [OUT], "inputDatasetEdges": [edge]}
    wire.put("dataJob", TASK, "dataJobInputOutput", task)
    wire.put("chart", CHART, "chartInfo", {"inputs": [{"string": MART}]})
    wire.put("dashboard", BOARD, "dashboardInfo", {"charts": [CHART]})


def search_lineage(wire: Wire, urn: str, way: str, by: str = "datahub", **input: object) -> Any:
    found = wire.good(ACROSS, by, i={"urn": urn, "direction": way, **input})
    assert found["count"] == len(found["searchResults"]) <= found["total"]
    return found


def degrees(wire: Wire, urn: str, way: str, by: str = "datahub", **input: object) -> Json:
    """The distances of all entities in a lineage."""
    results = search_lineage(wire, urn, way, by, **input)["searchResults"]
    return {one["entity"]["urn"]: one["degree"] for one in results}


def degree(*words: str, **more: object) -> list[Json]:
    return [{"and": [{"field": "degree", "values": list(words), **more}]}]


def next_to(wire: Wire, urn: str, way: str, by: str = "datahub", **input: object) -> Any:
    asked = {"direction": way, **input}
    return wire.good(NEXT, by, u=urn, i=asked)["lineage"]


def ends(found: Any) -> list[tuple[str, str]]:
    return [(one["type"], one["entity"]["urn"]) for one in found["relationships"]]


def test_the_document_with_everything_is_answered(hub: Wire) -> None:
    asked = {"urn": RAW, "direction": DOWN, "query": "*"}
    variables = {"across": asked, "scroll": asked, "urn": CLEAN, "next": {"direction": UP}}
    answer = json.loads(hub.send({"query": document("lineage"), "variables": variables}).body)
    assert "errors" not in answer, answer
    assert answer["data"]["searchAcrossLineage"]["total"] == 6
    assert answer["data"]["scrollAcrossLineage"]["total"] == 6


def test_a_lineage_is_followed_to_its_end_in_both_directions(hub: Wire) -> None:
    assert degrees(hub, RAW, DOWN) == {CLEAN: 1, MART: 2, TASK: 2, OUT: 3, CHART: 3, BOARD: 4}
    assert degrees(hub, BOARD, UP) == {CHART: 1, MART: 2, CLEAN: 3, RAW: 4}
    assert degrees(hub, OUT, UP) == {TASK: 1, CLEAN: 2, RAW: 3}
    assert degrees(hub, RAW, UP) == degrees(hub, BOARD, DOWN) == {}


def test_how_far_is_a_criterion_like_the_others(hub: Wire) -> None:
    assert degrees(hub, RAW, DOWN, orFilters=degree("1")) == {CLEAN: 1}
    assert degrees(hub, RAW, DOWN, orFilters=degree("2")) == {MART: 2, TASK: 2}
    assert degrees(hub, RAW, DOWN, orFilters=degree("3+")) == {OUT: 3, CHART: 3, BOARD: 4}
    assert degrees(hub, RAW, DOWN, orFilters=degree("2", "3+", negated=True)) == {CLEAN: 1}
    both = [*degree("1"), {"and": [{"field": "platform", "values": ["urn:li:dataPlatform:hive"]}]}]
    assert degrees(hub, RAW, DOWN, orFilters=both) == {CLEAN: 1, MART: 2, OUT: 3}
    older = [{"field": "degree", "value": "2"}]
    assert degrees(hub, RAW, DOWN, filters=older, orFilters=degree("1", "2")) == {MART: 2, TASK: 2}
    wrong = ({"values": ["4"]}, {"values": ["1"], "condition": "GREATER_THAN"})
    for one in wrong:
        filters = [{"and": [{"field": "degree", **one}]}]
        assert hub.bad(ACROSS, i={"urn": RAW, "direction": DOWN, "orFilters": filters}) == BAD


def test_types_words_and_pages_are_those_of_a_search(hub: Wire) -> None:
    assert degrees(hub, RAW, DOWN, types=["CHART", "DASHBOARD"]) == {CHART: 3, BOARD: 4}
    assert degrees(hub, RAW, DOWN, query="mart") == {MART: 2}
    page = search_lineage(hub, RAW, DOWN, start=1, count=2)
    assert [one["entity"]["urn"] for one in page["searchResults"]] == [TASK, MART]
    assert (page["start"], page["count"], page["total"], page["isPartial"]) == (1, 2, 6, False)
    facets = {one["field"]: one["aggregations"] for one in page["facets"]}
    assert facets["degree"] == [
        {"value": w, "count": c} for w, c in (("1", 1), ("2", 2), ("3+", 3))
    ]
    assert {one["value"]: one["count"] for one in facets["_entityType"]}["DATASET"] == 3
    found: list[str] = []
    asked: Json = {"urn": RAW, "direction": DOWN, "count": 4}
    part: Any = None
    for expected in (4, 2):
        part = hub.good(SCROLL, i=asked)
        found += [one["entity"]["urn"] for one in part["searchResults"]]
        assert (part["count"], part["total"]) == (expected, 6)
        asked = {**asked, "scrollId": part["nextScrollId"]}
    assert part["nextScrollId"] is None
    assert found == [CLEAN, TASK, MART, CHART, OUT, BOARD]
    assert hub.bad(SCROLL, i={**asked, "scrollId": "x"}) == BAD


def test_a_path_leads_from_where_the_lineage_begins(hub: Wire) -> None:
    hub.put("dataset", OUT, "upstreamLineage", lineage_of(MART))
    (one,) = [
        one
        for one in search_lineage(hub, RAW, DOWN)["searchResults"]
        if one["entity"]["urn"] == OUT
    ]
    paths = [[node["urn"] for node in path["path"]] for path in one["paths"]]
    assert paths == [[RAW, CLEAN, TASK, OUT], [RAW, CLEAN, MART, OUT]]
    assert one["explored"]


def test_a_hidden_entity_hides_what_lies_behind_it(hub: Wire) -> None:
    hub.configure(view=True)
    allow(hub, "eve", RAW, MART, TASK, OUT, CHART, BOARD)
    assert degrees(hub, RAW, DOWN, "eve") == {}
    assert degrees(hub, BOARD, UP, "eve") == {CHART: 1, MART: 2}
    assert degrees(hub, CLEAN, UP, "eve") == degrees(hub, CLEAN, DOWN, "eve") == {}
    assert ends(next_to(hub, RAW, DOWN, "eve")) == ends(next_to(hub, MART, UP, "eve")) == []
    assert next_to(hub, TASK, UP, "eve")["total"] == 0
    assert next_to(hub, TASK, UP, "eve")["filtered"] == 0
    assert degrees(hub, RAW, DOWN) == {CLEAN: 1, MART: 2, TASK: 2, OUT: 3, CHART: 3, BOARD: 4}


def allow(wire: Wire, name: str, *urns: str) -> None:
    """Allows a user to view these."""
    criterion = {"field": "URN", "condition": "EQUALS", "values": list(urns)}
    stated = {
        "displayName": "view",
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["VIEW_ENTITY_PAGE"],
        "actors": {"users": [user(name)], "resourceOwners": False},
        "editable": True,
        "resources": {"filter": {"criteria": [criterion]}},
    }
    wire.put("dataHubPolicy", "urn:li:dataHubPolicy:view", "dataHubPolicyInfo", stated)


def test_columns_are_shown_themselves_or_as_their_datasets(hub: Wire) -> None:
    spec = {"baseEntityType": "SCHEMA_FIELD", "groupingEntityType": "SCHEMA_FIELD"}
    flags = {"groupingSpec": {"groupingCriteria": spec}}
    start = column(RAW, "id")
    own = degrees(hub, start, DOWN, searchFlags=flags)
    assert own == {column(CLEAN, "id"): 1, column(MART, "number"): 2}
    back = degrees(hub, column(MART, "number"), UP, searchFlags=flags)
    assert back == {column(CLEAN, "id"): 1, column(RAW, "id"): 2, column(RAW, "key"): 2}
    assert degrees(hub, start, DOWN) == {CLEAN: 1, MART: 2}
    assert degrees(hub, start, DOWN, searchFlags=flags, types=["DATASET"]) == {}
    alone: Any = {"searchFlags": flags, "types": ["SCHEMA_FIELD"]}
    assert degrees(hub, start, DOWN, **alone, orFilters=degree("1")) == {column(CLEAN, "id"): 1}
    assert degrees(hub, start, UP) == {}


def test_columns_that_a_task_makes_are_found_too(hub: Wire) -> None:
    made = {"fineGrainedLineages": [fine(column(OUT, "x"), column(CLEAN, "id"))]}
    task = {"inputDatasets": [CLEAN], "outputDatasets": [OUT], **made}
    hub.put("dataJob", TASK, "dataJobInputOutput", task)
    assert degrees(hub, column(OUT, "x"), UP) == {CLEAN: 1, RAW: 2}


def test_what_is_next_to_an_entity_says_who_made_the_edge(hub: Wire) -> None:
    assert ends(next_to(hub, CLEAN, DOWN)) == [("Consumes", TASK), ("DownstreamOf", MART)]
    (one, _) = next_to(hub, CLEAN, DOWN)["relationships"]
    assert (one["createdOn"], one["updatedOn"], one["isManual"]) == (1_000, 2_000, True)
    assert one["createdActor"] == {"urn": user("ana")}
    assert one["paths"] == [{"path": [{"urn": CLEAN}, {"urn": TASK}]}]
    (by_query,) = next_to(hub, CLEAN, UP)["relationships"]
    assert by_query["paths"] == [{"path": [{"urn": CLEAN}, {"urn": QUERY}, {"urn": RAW}]}]
    assert not by_query["isManual"]
    assert ends(next_to(hub, OUT, UP)) == [("Produces", TASK)]
    assert ends(next_to(hub, TASK, DOWN)) == [("Produces", OUT)]


def test_what_is_not_there_is_counted_unless_it_is_asked_for(hub: Wire) -> None:
    ghost = dataset("ghost")
    hub.put("dataset", RAW, "upstreamLineage", lineage_of(ghost))
    hub.put("dataset", MART, "status", {"removed": True})
    found = next_to(hub, RAW, UP)
    assert (found["total"], found["filtered"], found["relationships"]) == (0, 1, [])
    assert ends(next_to(hub, RAW, UP, includeGhostEntities=True)) == [("DownstreamOf", ghost)]
    assert ends(next_to(hub, CLEAN, DOWN)) == [("Consumes", TASK)]
    assert next_to(hub, CLEAN, DOWN)["filtered"] == 1
    assert MART not in degrees(hub, RAW, DOWN)
    assert MART in degrees(hub, RAW, DOWN, searchFlags={"includeSoftDeleted": True})


def test_edges_of_another_time_are_left_out(hub: Wire) -> None:
    stamp = {"time": 5_000, "actor": user("ana")}
    hub.put("dataset", MART, "upstreamLineage", lineage_of(CLEAN, auditStamp=stamp))
    late: Any = {"startTimeMillis": 6_000}
    assert ends(next_to(hub, CLEAN, DOWN, **late)) == [("Consumes", TASK)]
    assert MART not in degrees(hub, CLEAN, DOWN, **late)
    assert MART in degrees(hub, CLEAN, DOWN, lineageFlags={"startTimeMillis": 4_000})
    assert MART not in degrees(hub, CLEAN, DOWN, lineageFlags={"endTimeMillis": 4_000})
    assert CHART not in degrees(hub, CLEAN, DOWN, **late)


def test_a_limit_of_each_hop_is_told_where_it_cuts(hub: Wire) -> None:
    found = search_lineage(hub, RAW, DOWN, lineageFlags={"entitiesExploredPerHopLimit": 1})
    told = {
        one["entity"]["urn"]: (one["explored"], one["truncatedChildren"])
        for one in found["searchResults"]
    }
    assert told == {
        CLEAN: (True, False),
        TASK: (True, False),
        MART: (False, True),
        OUT: (True, False),
    }
    wrong = {"entitiesExploredPerHopLimit": -1}
    assert hub.bad(ACROSS, i={"urn": RAW, "direction": DOWN, "lineageFlags": wrong}) == BAD


def test_what_does_not_count_as_a_hop_is_followed_at_once(hub: Wire) -> None:
    flags: Json = {"ignoreAsHops": [{"entityType": "DATA_JOB"}]}
    assert degrees(hub, CLEAN, DOWN, lineageFlags=flags)[OUT] == 1
    hive = ["urn:li:dataPlatform:hive"]
    flags = {"ignoreAsHops": [{"entityType": "DATASET", "platforms": hive}]}
    assert degrees(hub, RAW, DOWN, lineageFlags=flags)[CHART] == 1
    ignored = {
        one["entity"]["urn"]: one["ignoredAsHop"]
        for one in search_lineage(hub, RAW, DOWN, lineageFlags=flags)["searchResults"]
    }
    assert ignored[CLEAN]
    assert not ignored[CHART]


def test_a_circle_is_followed_once(hub: Wire) -> None:
    hub.put("dataset", RAW, "upstreamLineage", lineage_of(MART))
    assert degrees(hub, RAW, DOWN)[MART] == 2
    assert degrees(hub, RAW, UP) == {MART: 1, CLEAN: 2}


def test_of_too_much_a_part_is_shown_and_said_to_be_one(
    hub: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lineage, "MOST", 2)
    found = search_lineage(hub, RAW, DOWN)
    assert found["isPartial"]
    assert found["total"] == 2


def test_columns_of_what_is_hidden_are_not_told(hub: Wire) -> None:
    hub.configure(view=True)
    allow(hub, "eve", CLEAN)
    assert hub.good(FINE, "eve", u=CLEAN)["fineGrainedLineages"] == []
    allow(hub, "eve", CLEAN, RAW)
    (one,) = hub.good(FINE, "eve", u=CLEAN)["fineGrainedLineages"]
    assert [ref["path"] for ref in one["upstreams"]] == ["id", "key"]
    assert one["downstreams"] == [{"path": "id"}]
    assert hub.good(FINE, "datahub", u=RAW)["fineGrainedLineages"] is None


def test_a_lineage_begins_somewhere(hub: Wire) -> None:
    assert hub.bad(ACROSS, i={"direction": UP}) == BAD
    assert hub.bad(ACROSS, i={"urn": "x", "direction": UP}) == BAD


def test_an_edge_that_is_gone_is_found_from_neither_end(hub: Wire) -> None:
    hub.put("dataset", MART, "upstreamLineage", lineage_of(RAW))
    assert MART not in {urn for _, urn in ends(next_to(hub, CLEAN, DOWN))}
    assert MART in {urn for _, urn in ends(next_to(hub, RAW, DOWN))}
    hub.put("dataset", MART, "upstreamLineage", None)
    assert MART not in {urn for _, urn in ends(next_to(hub, RAW, DOWN))}
