"""Rest.li, entity by entity: read, ingested, listed, deleted, without remaining references."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.systems.datahub.http.wire import REALM, Wire, proposal

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
STOCK = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.stock,PROD)"
PII = "urn:li:tag:pii"
TAGS = {"tags": [{"tag": PII}]}
ANA = "urn:li:corpuser:ana"
STAFF = "urn:li:corpGroup:staff"
OWNED = {"owners": [{"owner": ANA, "type": "NONE"}], "lastModified": {"time": 1, "actor": ANA}}


def path(urn: str) -> str:
    return f"/entitiesV2/{quote(urn, safe='')}"


def test_an_entity_is_read_whole_or_by_the_aspects_named(wire: Wire) -> None:
    wire.put((ORDERS, "globalTags", TAGS), (ORDERS, "ownership", OWNED))
    body = wire.good("GET", path(ORDERS))
    assert (body["urn"], body["entityName"]) == (ORDERS, "dataset")
    assert set(body["aspects"]) == {"datasetKey", "globalTags", "ownership"}
    tags = body["aspects"]["globalTags"]
    assert (tags["name"], tags["type"], tags["version"]) == ("globalTags", "VERSIONED", 0)
    assert set(tags["created"]) == {"time", "actor"}
    for wanted in ("?aspects=List(globalTags,status)", "?aspects=List%28globalTags%2Cstatus%29"):
        assert set(wire.good("GET", path(ORDERS) + wanted)["aspects"]) == {"globalTags"}


def test_an_entity_that_is_not_there_has_no_aspects_and_a_stranger_is_refused(wire: Wire) -> None:
    assert wire.good("GET", path(ORDERS))["aspects"] == {}
    wire.put((ORDERS, "globalTags", TAGS))
    assert [wire.bad("GET", path(urn), user="eve") for urn in (ORDERS, STOCK)] == [403, 403]


def test_entities_are_read_together_if_all_may_be(wire: Wire) -> None:
    wire.put((ORDERS, "globalTags", TAGS), (ANA, "corpUserInfo", {"active": True}))
    ids = ",".join(quote(urn, safe="") for urn in (ORDERS, STOCK, ANA))
    for asked in (f"ids=List({ids})", f"ids=List%28{quote(ids)}%29".replace("%25", "%")):
        answer = wire.good("GET", f"/entitiesV2?{asked}&aspects=List(globalTags,corpUserInfo)")
        assert set(answer["results"]) == {ORDERS, ANA}
        assert set(answer["results"][ORDERS]["aspects"]) == {"globalTags"}
        assert (answer["statuses"], answer["errors"]) == ({}, {})
    older = f"ids={quote(ORDERS, safe='')}&ids={quote(ANA, safe='')}"
    assert len(wire.good("GET", f"/entitiesV2?{older}")["results"]) == 2
    wire.grant("one", "VIEW_ENTITY_PAGE", to="eve", URN=[ORDERS])
    assert wire.bad("GET", f"/entitiesV2?{older}", user="eve") == 403
    assert wire.good("GET", f"/entitiesV2?ids={quote(ORDERS, safe='')}", user="eve")["results"]
    assert wire.bad("GET", "/entitiesV2") == wire.bad("GET", "/entitiesV2?ids=List(x)") == 400


def snapshot(urn: str, **named: object) -> dict[str, Any]:
    aspects = [{f"com.linkedin.common.{name}": value} for name, value in named.items()]
    whole = {"com.linkedin.metadata.snapshot.DatasetSnapshot": {"urn": urn, "aspects": aspects}}
    return {"entity": {"value": whole}, "systemMetadata": {"runId": "r1"}}


def test_a_snapshot_is_written_as_a_whole(wire: Wire) -> None:
    wire.good("POST", "/entities?action=ingest", snapshot(ORDERS, GlobalTags=TAGS, Status={}))
    assert wire.aspects(ORDERS).keys() == {"datasetKey", "globalTags", "status"}
    bad = snapshot(STOCK, Status={}, GlobalTags={"tags": 7})
    assert wire.bad("POST", "/entities?action=ingest", bad) == 400
    assert wire.bad("POST", "/entities?action=ingest", {}) == 400
    assert wire.bad("POST", "/entities?action=ingest", snapshot(STOCK, Status={}), "eve") == 403
    assert wire.aspects(STOCK) == {}


def test_an_entity_is_deleted_by_whoever_may(wire: Wire) -> None:
    wire.put((ORDERS, "globalTags", TAGS), (ORDERS, "datasetProfile", {"timestampMillis": 1}))
    call = "/entities?action=delete"
    assert wire.bad("POST", call, {"urn": ORDERS}, "eve") == 403
    assert json.loads(wire.audit()[-1].body)["outcome"] == "deny"
    wire.grant("drop", "DELETE_ENTITY", to="eve", TYPE=["dataset"])
    gone = wire.good("POST", call, {"urn": ORDERS}, "eve")["value"]
    assert (gone["rows"], gone["timeseriesRows"]) == (2, 1)
    assert wire.good("POST", call, {"urn": ORDERS}, "eve")["value"]["rows"] == 0
    assert wire.aspects(ORDERS) == {}


def test_values_in_time_are_deleted_alone(wire: Wire) -> None:
    wire.put((ORDERS, "globalTags", TAGS), (ORDERS, "datasetProfile", {"timestampMillis": 1}))
    call = "/entities?action=delete"
    body = {"urn": ORDERS, "aspectName": "datasetProfile"}
    for name in ("globalTags", ""):
        assert wire.bad("POST", call, {**body, "aspectName": name}) == 400
    assert wire.bad("POST", call, body, "eve") == 403
    assert wire.good("POST", call, body)["value"]["timeseriesRows"] == 1
    assert wire.good("POST", call, body)["value"]["timeseriesRows"] == 0
    assert wire.aspects(ORDERS)["globalTags"] == TAGS


@pytest.mark.parametrize("word", ["root", "admin-metadata-policy"])
def test_a_shipped_policy_cannot_be_deleted(wire: Wire, word: str) -> None:
    id = "0" if word == "root" else word
    urn = f"urn:li:dataHubPolicy:{id}"
    assert wire.bad("POST", "/entities?action=delete", {"urn": urn}) == 403
    assert wire.bad("DELETE", f"/openapi/v3/entity/dataHubPolicy/{quote(urn, safe='')}") == 403


def test_a_policy_that_is_written_as_not_editable_stays_as_it_is(wire: Wire) -> None:
    urn = "urn:li:dataHubPolicy:fixed"
    value = {"displayName": "x", "type": "PLATFORM", "state": "ACTIVE", "actors": {}}
    fixed = {**value, "privileges": ["MANAGE_TAGS"], "editable": False}
    call, one = "/aspects?action=ingestProposal", f"/openapi/v3/entity/dataHubPolicy/{urn}"
    for _ in range(2):
        wire.good("POST", call, {"proposal": proposal(urn, "dataHubPolicyInfo", fixed)})
    other = proposal(urn, "dataHubPolicyInfo", {**fixed, "editable": True})
    assert wire.bad("POST", call, {"proposal": other}) == 403
    over = f"{one}/dataHubPolicyInfo?createIfNotExists=false"
    assert wire.bad("POST", over, {"value": {**fixed, "state": "X"}}) == 403
    assert wire.bad("DELETE", f"{one}/dataHubPolicyInfo") == 403
    assert wire.bad("DELETE", one) == 403
    assert wire.bad("POST", "/entities?action=delete", {"urn": urn}) == 403
    assert wire.aspects(urn)["dataHubPolicyInfo"] == fixed


@pytest.mark.parametrize("way", ["delete", "aspect", "proposal"])
def test_a_shipped_policy_that_may_be_deleted_stays_away_until_it_is_written_again(
    tmp_path: Path, way: str
) -> None:
    urn = "urn:li:dataHubPolicy:7"
    with Wire(tmp_path, bootstrap="current") as wire:

        def deleted() -> frozenset[str]:
            return wire.service.state.realm(REALM).realm.deleted

        before = wire.aspects(urn)["dataHubPolicyInfo"]
        if way == "delete":
            wire.good("POST", "/entities?action=delete", {"urn": urn})
        elif way == "aspect":
            wire.good("DELETE", f"/openapi/v3/entity/dataHubPolicy/{urn}/dataHubPolicyInfo")
        else:
            sent = {**proposal(urn, "", {}, "DELETE"), "aspect": None}
            wire.good("POST", "/aspects?action=ingestProposal", {"proposal": sent})
        assert deleted() == {urn}
        again = proposal(urn, "dataHubPolicyInfo", before)
        wire.good("POST", "/aspects?action=ingestProposal", {"proposal": again})
        assert deleted() == frozenset()


def test_references_are_counted_then_taken_away(wire: Wire) -> None:
    wire.put((ORDERS, "globalTags", TAGS), (STOCK, "globalTags", TAGS), (PII, "tagKey", {}))
    call = "/entities?action=deleteReferences"
    assert wire.bad("POST", call, {"urn": PII}, "eve") == 403
    assert wire.good("POST", call, {"urn": PII, "dryRun": True})["value"]["total"] == 2
    found = wire.good("POST", call, {"urn": PII})["value"]
    assert {one["entity"] for one in found["relatedAspects"]} == {ORDERS, STOCK}
    assert {one["aspect"] for one in found["relatedAspects"]} == {"globalTags"}
    assert wire.aspects(ORDERS)["globalTags"] == {"tags": []}
    assert wire.good("POST", call, {"urn": PII})["value"]["total"] == 0


def test_references_to_people_are_owners_and_members(wire: Wire) -> None:
    owned = {**OWNED, "owners": [{"owner": STAFF, "type": "NONE"}]}
    wire.put((ORDERS, "ownership", owned), (ANA, "groupMembership", {"groups": [STAFF]}))
    wire.put((STAFF, "corpGroupInfo", {"members": []}))
    call = "/entities?action=deleteReferences"
    found = wire.good("POST", call, {"urn": STAFF})["value"]["relatedAspects"]
    assert {(one["entity"], one["aspect"]) for one in found} == {
        (ORDERS, "ownership"),
        (ANA, "groupMembership"),
    }
    assert wire.aspects(ORDERS)["ownership"]["owners"] == []
    assert wire.aspects(ANA)["groupMembership"]["groups"] == []


def test_references_from_children_of_a_domain_are_their_places(wire: Wire) -> None:
    shop, child = "urn:li:domain:shop", "urn:li:domain:eu"
    wire.put((child, "domainProperties", {"name": "EU", "parentDomain": shop}))
    found = wire.good("POST", "/entities?action=deleteReferences", {"urn": shop})["value"]
    assert [(one["entity"], one["aspect"]) for one in found["relatedAspects"]] == [
        (child, "domainProperties")
    ]
    assert wire.aspects(child)["domainProperties"] == {"name": "EU"}


def test_urns_are_listed_page_by_page_for_whoever_may_read_them(wire: Wire) -> None:
    wire.put((ORDERS, "status", {}), (STOCK, "status", {}))
    call = "/entities?action=listUrns"
    body = wire.good("POST", call, {"entity": "dataset", "start": 1, "count": 5})["value"]
    assert body == {"start": 1, "count": 1, "total": 2, "entities": [STOCK]}
    wire.grant("see", "VIEW_ENTITY_PAGE", to="eve", URN=[STOCK])
    page = {"entity": "dataset", "start": 0, "count": 5}
    seen = wire.good("POST", call, page, "eve")["value"]
    assert (seen["total"], seen["entities"]) == (1, [STOCK])
    assert wire.good("POST", call, page, "zed")["value"]["entities"] == []


def test_policies_are_listed_though_nobody_wrote_them_as_entities(wire: Wire) -> None:
    wire.grant("own", "EDIT_ENTITY", to="ana")
    call = "/entities?action=listUrns"
    asked = {"entity": "dataHubPolicy", "start": 0, "count": 100}
    whole = wire.good("POST", call, asked)["value"]
    assert whole["total"] == len(set(whole["entities"])) == len(whole["entities"])
    named = {urn.rpartition(":")[2] for urn in whole["entities"]}
    assert {"own", "0", "admin-platform-policy"} <= named
    pages = [
        wire.good("POST", call, {**asked, "start": at, "count": 2})["value"]["entities"]
        for at in range(0, whole["total"], 2)
    ]
    assert [urn for page in pages for urn in page] == whole["entities"]


FLOW = "urn:li:dataFlow:(airflow,f,PROD)"
NEW = "urn:li:dataset:(urn:li:dataPlatform:hive,new,PROD)"
INNER, OUTER = "urn:li:container:inner", "urn:li:container:outer"
NAMING: list[tuple[str, str, dict[str, Any], str, str, dict[str, Any]]] = [
    (NEW, "container", {"container": INNER}, INNER, "containerProperties", {"name": "inner"}),
    (
        *("urn:li:domain:eu", "domainProperties"),
        {"name": "EU", "parentDomain": "urn:li:domain:shop"},
        *("urn:li:domain:shop", "domainProperties", {"name": "shop"}),
    ),
    (
        *("urn:li:glossaryTerm:t", "glossaryTermInfo"),
        {"definition": "", "parentNode": "urn:li:glossaryNode:n"},
        *("urn:li:glossaryNode:n", "glossaryNodeInfo", {"definition": ""}),
    ),
    (f"urn:li:dataJob:({FLOW},j)", "subTypes", {}, FLOW, "dataFlowInfo", {"name": "f"}),
    (f"urn:li:schemaField:({NEW},id)", "subTypes", {}, NEW, "subTypes", {}),
]
"""An entity with an aspect, and what the aspect or the URN names."""


def _head(wire: Wire, urn: str) -> int:
    path = f"/openapi/v3/entity/{urn.split(':')[2]}/{quote(urn, safe='')}"
    return wire.send("HEAD", path, user="eve").status


@pytest.mark.parametrize(("urn", "aspect", "value", "named", "own", "content"), NAMING)
def test_what_is_only_named_as_a_parent_does_not_exist(
    wire: Wire,
    urn: str,
    aspect: str,
    value: dict[str, Any],
    named: str,
    own: str,
    content: dict[str, Any],
) -> None:
    """So it can still be created, and this requires permission."""
    wire.grant("creates", "CREATE_ENTITY", "EXISTS_ENTITY", to="eve")
    path = "/aspects?action=ingestProposal"
    wire.good("POST", path, {"proposal": proposal(urn, aspect, value)}, "eve")
    assert (_head(wire, urn), _head(wire, named)) == (204, 404)
    wire.good("POST", path, {"proposal": proposal(named, own, content)}, "eve")
    assert _head(wire, named) == 204


def test_a_container_that_is_only_named_counts_and_goes_on_to(tmp_path: Path) -> None:
    """Its own container counts as soon as it has one; also after restarts."""
    asked = f"/entitiesV2/{quote(NEW, safe='')}"
    with Wire(tmp_path) as wire:
        wire.grant("inner", "GET_ENTITY_PRIVILEGE", to="ina", CONTAINER=[INNER])
        wire.grant("outer", "GET_ENTITY_PRIVILEGE", to="oto", CONTAINER=[OUTER])
        wire.put((NEW, "container", {"container": INNER}))
        assert [wire.ask("GET", asked, user=user)[0] for user in ("ina", "oto")] == [200, 403]
    with Wire(tmp_path) as wire:
        assert [wire.ask("GET", asked, user=user)[0] for user in ("ina", "oto")] == [200, 403]
        wire.put((INNER, "container", {"container": OUTER}))
        assert [wire.ask("GET", asked, user=user)[0] for user in ("ina", "oto")] == [200, 200]
    with Wire(tmp_path) as wire:
        assert [wire.ask("GET", asked, user=user)[0] for user in ("ina", "oto")] == [200, 200]
