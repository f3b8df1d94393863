"""The newer interface: entities and aspects, each verb, allowed and denied."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from lakewarden.kernel.tree import Tree
from tests.systems.datahub.http.native import TOKEN, Site
from tests.systems.datahub.http.wire import Wire

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop/orders,PROD)"
STOCK = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.stock,PROD)"
TAGS = {"tags": [{"tag": "urn:li:tag:pii"}]}
ALL = "/openapi/v3/entity/dataset"
ONE = f"{ALL}/{quote(ORDERS, safe='')}"
GOLD = {"op": "add", "path": "/tags/urn:li:tag:gold", "value": {"tag": "urn:li:tag:gold"}}


def item(urn: str, **aspects: object) -> dict[str, Any]:
    return {"urn": urn, **{name: {"value": value} for name, value in aspects.items()}}


@pytest.mark.parametrize("below", ["", "/api/gms"])
def test_what_is_posted_is_answered_and_read(wire: Wire, below: str) -> None:
    sent = [item(ORDERS, globalTags=TAGS), item(STOCK, status={"removed": False})]
    assert wire.good("POST", f"{below}{ALL}?async=false", sent) == sent
    body = wire.good("GET", f"{below}{ONE}")
    assert body["urn"] == ORDERS
    assert body["globalTags"] == {"value": TAGS}
    assert body["datasetKey"]["value"]["name"] == "shop/orders"
    for word in ("aspects", "aspectNames"):
        assert set(wire.good("GET", f"{ONE}?{word}=globalTags")) == {"urn", "globalTags"}
    told = wire.good("GET", f"{ONE}?aspects=globalTags&systemMetadata=true")["globalTags"]
    assert set(told) == {"value", "systemMetadata", "auditStamp"}


@pytest.mark.parametrize("type", ["dataHubPolicy", "datahubpolicy"])
def test_a_type_is_read_in_any_case_of_letters(wire: Wire, type: str) -> None:
    # The original's own description has them in lower case.
    urn = "urn:li:dataHubPolicy:shelf"
    name = {"displayName": "Shelf", "type": "PLATFORM", "state": "ACTIVE", "privileges": []}
    place = f"/openapi/v3/entity/{type}"
    wire.good("POST", f"{place}/{urn}/dataHubPolicyInfo", {"value": {**name, "actors": {}}})
    assert wire.good("GET", f"{place}/{urn}")["urn"] == urn
    assert urn in [one["urn"] for one in wire.good("GET", f"{place}?count=100")["entities"]]
    assert wire.bad("GET", f"/openapi/v3/entity/chart/{urn}") == 400


def test_a_batch_is_all_or_nothing(wire: Wire) -> None:
    wire.grant("one", "CREATE_ENTITY", "EDIT_ENTITY_TAGS", to="ana", URN=[ORDERS])
    sent = [item(ORDERS, globalTags=TAGS), item(STOCK, globalTags=TAGS)]
    assert wire.bad("POST", ALL, sent, "ana") == 403
    assert wire.bad("POST", ALL, [sent[0], item("urn:li:tag:x", status={})]) == 400
    assert wire.bad("POST", ALL, [sent[0], {"urn": STOCK}]) == 400
    assert wire.bad("POST", ALL, {"urn": STOCK}) == 400
    assert wire.aspects(ORDERS) == {}
    wire.good("POST", ALL, sent[:1], "ana")


def test_aspects_are_patched_in_a_list_and_alone(wire: Wire) -> None:
    wire.put((ORDERS, "globalTags", TAGS))
    wire.good("PATCH", ALL, [item(ORDERS, globalTags={"patch": [GOLD]})])
    assert len(wire.aspects(ORDERS)["globalTags"]["tags"]) == 2
    gone = [{"op": "remove", "path": "/tags/urn:li:tag:pii"}]
    wire.good("PATCH", f"{ONE}/globalTags", {"value": {"patch": gone}})
    tags = wire.aspects(ORDERS)["globalTags"]["tags"]
    assert [tag["tag"] for tag in tags] == ["urn:li:tag:gold"]
    assert wire.bad("PATCH", ALL, [item(ORDERS, globalTags={"patch": gone})], "eve") == 403
    assert wire.bad("PATCH", f"{ONE}/globalTags", {"value": {"patch": gone}}, "eve") == 403


def test_a_patch_alone_is_the_body_as_the_original_has_it(wire: Wire) -> None:
    wire.put((ORDERS, "globalTags", TAGS))
    assert wire.bad("PATCH", f"{ONE}/globalTags", {"patch": [GOLD]}, "eve") == 403
    wire.good("PATCH", f"{ONE}/globalTags", {"patch": [GOLD]})
    assert len(wire.aspects(ORDERS)["globalTags"]["tags"]) == 2
    generic = {
        "patch": [{"op": "remove", "path": "/tags/0"}],
        "arrayPrimaryKeys": {},
        "forceGenericPatch": True,
    }
    wire.good("PATCH", f"{ONE}/globalTags", generic)
    gold = {"tag": "urn:li:tag:gold"}
    assert wire.aspects(ORDERS)["globalTags"]["tags"] == [gold]
    keyed = {
        "patch": [{"op": "remove", "path": "/tags//urn:li:tag:gold"}],
        "arrayPrimaryKeys": {"tags": ["attribution␟source", "tag"]},
    }
    wire.good("PATCH", f"{ONE}/globalTags", keyed)
    assert wire.aspects(ORDERS)["globalTags"]["tags"] == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "patch"),
        ({"nonsense": 1}, "patch"),
        ({"patch": None}, "patch"),
        ({"patch": []}, "patch"),
        ({"patch": "x"}, "patch"),
        ({"value": {}}, "value.patch"),
        ({"value": {"nonsense": 1}}, "value.patch"),
        ({"systemMetadata": {"runId": "r"}}, "patch"),
        ({"patch": [GOLD], "forceGenericPatch": "yes"}, "forceGenericPatch"),
    ],
)
def test_what_has_no_patch_is_refused_with_the_field(
    wire: Wire, body: dict[str, Any], field: str
) -> None:
    wire.put((ORDERS, "globalTags", TAGS))
    ways: list[tuple[str, object, str]] = [
        (f"{ONE}/globalTags", body, "body"),
        (ALL, [{"urn": ORDERS, "globalTags": body}], "body.items[0].globalTags"),
        (
            "/openapi/v3/entity/generic",
            {"dataset": [{"urn": ORDERS, "globalTags": body}]},
            "body.dataset[0].globalTags",
        ),
    ]
    for path, sent, where in ways:
        status, answer = wire.ask("PATCH", path, sent)
        assert (status, answer["message"].split(": ")[0]) == (400, f"{where}.{field}")
    assert wire.aspects(ORDERS)["globalTags"] == TAGS


def test_one_aspect_is_written_read_and_deleted(wire: Wire) -> None:
    wire.good("POST", f"{ONE}/globalTags", {"value": TAGS})
    assert wire.good("GET", f"{ONE}/globalTags") == {"value": TAGS}
    assert wire.good("GET", f"{ONE}/globalTags?version=0") == {"value": TAGS}
    assert wire.bad("GET", f"{ONE}/globalTags?version=1") == 404
    for word in ("createEntityIfNotExists", "createIfEntityNotExists"):
        assert wire.bad("POST", f"{ONE}/status?{word}=true", {"value": {}}) == 400
    assert wire.bad("GET", f"{ONE}/globalTags", user="eve") == 403
    assert wire.bad("DELETE", f"{ONE}/globalTags", user="eve") == 403
    wire.good("DELETE", f"{ONE}/globalTags")
    assert wire.bad("GET", f"{ONE}/globalTags") == 404
    wire.good("GET", ONE)


def test_one_aspect_is_created_and_written_over_only_on_request(wire: Wire) -> None:
    other = {"tags": [{"tag": "urn:li:tag:gold"}]}
    place = f"{ONE}/globalTags"
    wire.good("POST", place, {"value": TAGS})
    for query in ("", "?createIfNotExists=true", "?createIfNotExists=&async=false"):
        status, answer = wire.ask("POST", f"{place}{query}", {"value": other})
        assert (status, "`globalTags` already exists" in answer["message"]) == (400, True)
        assert wire.bad("POST", f"{place}{query}", {"value": other}, "eve") == 403
    skipped = {"value": other, "headers": {"If-None-Match": "*"}}
    wire.good("POST", place, skipped)
    assert wire.aspects(ORDERS)["globalTags"] == TAGS
    wire.good("POST", f"{place}?createIfNotExists=false", {"value": other})
    assert wire.aspects(ORDERS)["globalTags"] == other
    wire.good("POST", ALL, [item(ORDERS, globalTags=TAGS)])
    assert wire.aspects(ORDERS)["globalTags"] == TAGS


def test_who_may_create_an_entity_creates_it_by_one_aspect(wire: Wire) -> None:
    wire.grant("makes", "CREATE_ENTITY", to="ana", TYPE=["dataset"])
    for query in ("", "?createIfNotExists=true", "?createIfNotExists=false"):
        wire.good("POST", f"{ONE}/status{query}", {"value": {"removed": False}}, "ana")
        assert wire.bad("POST", f"{ONE}/deprecation{query}", {"value": {}}, "ana") == 403
        wire.good("DELETE", ONE)
    created = {"value": {"removed": False}}
    assert (
        wire.bad("POST", f"{ALL}?createIfNotExists=true", [item(ORDERS, status={})], "ana") == 403
    )
    wire.good("POST", f"{ONE}/status?createEntityIfNotExists=true", created, "ana")


@pytest.mark.parametrize("of", ["v3/entity/generic", "v2/entity/dataset"])
def test_the_reply_to_a_deletion_has_the_revision_of_the_write(tmp_path: Path, of: str) -> None:
    with Site(f"sqlite:///{tmp_path}/store") as site:
        path = f"/openapi/{of}/{quote(ORDERS, safe='')}"
        written = site.send("POST", ALL, [item(ORDERS, globalTags=TAGS)], token=TOKEN)
        answer = site.send("DELETE", path, token=TOKEN)
        assert (written.status, answer.status) == (200, 200)
        assert answer.revision == site.service.state.revision == written.revision + 1


def test_an_entity_is_asked_for_by_its_head(wire: Wire) -> None:
    assert wire.send("HEAD", ONE).status == 404
    wire.put((ORDERS, "globalTags", TAGS))
    assert wire.send("HEAD", ONE).status == 204
    assert wire.send("HEAD", f"{ONE}/globalTags").status == 204
    assert wire.send("HEAD", f"{ONE}/status").status == 404
    assert wire.send("HEAD", ONE, user="eve").status == 403
    wire.grant("exists", "EXISTS_ENTITY", to="eve", TYPE=["dataset"])
    assert wire.send("HEAD", ONE, user="eve").status == 204
    assert wire.bad("GET", ONE, user="eve") == 403


def test_what_is_softly_deleted_is_listed_and_exists_where_the_request_says_so(wire: Wire) -> None:
    wire.put((ORDERS, "status", {"removed": True}), (STOCK, "status", {"removed": False}))
    for head in (ONE, f"{ONE}/status"):
        assert wire.send("HEAD", head).status == 404
        assert wire.send("HEAD", f"{head}?includeSoftDelete=true").status == 204
    lists: list[tuple[str, str, object, str]] = [
        ("GET", f"{ALL}?query=*", None, "entities"),
        ("GET", f"{ALL}?query=shop", None, "entities"),
        ("GET", "/openapi/v2/entity/dataset?query=*", None, "results"),
        ("POST", "/openapi/v3/entity/scroll?query=*", {"entities": ["dataset"]}, "entities"),
        ("POST", "/openapi/v3/entity/scroll?query=shop", {"entities": ["dataset"]}, "entities"),
    ]
    for method, path, body, key in lists:
        found = wire.good(method, path, body)
        assert [one["urn"] for one in found[key]] == [STOCK], path
        assert found.get("totalCount", 1) == 1
        found = wire.good(method, f"{path}&includeSoftDelete=true", body)
        assert {one["urn"] for one in found[key]} == {ORDERS, STOCK}, path
    assert wire.good("GET", ONE)["status"] == {"value": {"removed": True}}


def test_an_entity_is_deleted_whole_or_in_part(wire: Wire) -> None:
    wire.put((ORDERS, "globalTags", TAGS), (ORDERS, "status", {}))
    assert wire.bad("DELETE", ONE, user="eve") == 403
    wire.good("DELETE", f"{ONE}?aspects=status")
    assert set(wire.aspects(ORDERS)) == {"datasetKey", "globalTags"}
    wire.good("DELETE", ONE)
    assert wire.bad("GET", ONE) == 404
    wire.good("DELETE", ONE)


@pytest.mark.parametrize("named", ["", "?aspects=", "?aspects=globalTags,datasetKey"])
def test_no_aspects_or_the_key_among_them_delete_the_entity(wire: Wire, named: str) -> None:
    wire.put((ORDERS, "globalTags", TAGS), (ORDERS, "status", {}))
    wire.good("DELETE", f"{ONE}{named}")
    assert wire.bad("GET", ONE) == 404


def test_aspects_without_a_name_are_refused(wire: Wire) -> None:
    wire.put((ORDERS, "globalTags", TAGS))
    status, answer = wire.ask("DELETE", f"{ONE}?aspects=,")
    assert (status, answer["message"].split(": ")[0]) == (400, "aspects")
    assert set(wire.aspects(ORDERS)) == {"datasetKey", "globalTags"}


def test_an_entity_that_is_cleared_keeps_its_key(wire: Wire) -> None:
    wire.put((ORDERS, "globalTags", TAGS), (ORDERS, "status", {}))
    assert wire.bad("DELETE", f"{ONE}?clear=true", user="eve") == 403
    for named in ("?clear=true", "?clear=true&aspects=status"):
        wire.good("DELETE", f"{ONE}{named}")
        assert set(wire.aspects(ORDERS)) == {"datasetKey"}


def test_deleting_the_key_aspect_deletes_the_entity(wire: Wire) -> None:
    wire.put((ORDERS, "globalTags", TAGS))
    wire.good("DELETE", f"{ONE}/datasetKey")
    assert wire.bad("GET", ONE) == 404


def test_entities_are_listed_page_by_page_for_whoever_may_read_them(wire: Wire) -> None:
    wire.put((ORDERS, "status", {}), (STOCK, "status", {}))
    first = wire.good("GET", f"{ALL}?count=1")
    second = wire.good("GET", f"{ALL}?count=1&scrollId={first['scrollId']}")
    urns = [one["urn"] for page in (first, second) for one in page["entities"]]
    assert sorted(urns) == sorted([ORDERS, STOCK])
    assert (first["totalCount"], second["scrollId"]) == (2, None)
    wire.grant("see", "VIEW_ENTITY_PAGE", to="eve", URN=[STOCK])
    seen = wire.good("GET", ALL, user="eve")
    assert [one["urn"] for one in seen["entities"]] == [STOCK]
    assert seen["totalCount"] == 1
    assert wire.good("GET", f"{ALL}?query=orders")["totalCount"] == 1
    assert wire.good("GET", f"{ALL}?query=orders", user="zed")["totalCount"] == 0


def test_entities_are_read_together_if_all_may_be_read(wire: Wire) -> None:
    wire.put((ORDERS, "globalTags", TAGS), (STOCK, "status", {"removed": False}))
    asked = [{"urn": ORDERS, "globalTags": {}}, {"urn": STOCK}]
    found = wire.good("POST", f"{ALL}/batchGet", asked)
    assert [set(one) for one in found] == [
        {"urn", "globalTags"},
        {"urn", "datasetKey", "status"},
    ]
    wire.grant("see", "VIEW_ENTITY_PAGE", to="eve", URN=[STOCK])
    assert wire.bad("POST", f"{ALL}/batchGet", asked, "eve") == 403
    wire.good("POST", f"{ALL}/batchGet", asked[1:], "eve")


def test_a_secret_is_not_taken_and_nothing_of_it_is_sent_back(wire: Wire) -> None:
    route = "/openapi/v3/entity/dataHubSecret"
    sent = [item("urn:li:dataHubSecret:s", dataHubSecretValue={"name": "s", "value": "hush"})]
    assert wire.bad("POST", route, sent) == 400
    sent = [item("urn:li:dataHubSecret:s", dataHubSecretValue={"name": "s"})]
    answer = wire.good("POST", route, sent)
    assert answer == [{"urn": "urn:li:dataHubSecret:s"}]


LOGICAL = "urn:li:dataset:(urn:li:dataPlatform:model,orders,PROD)"
RELATION = f"/openapi/v3/logical/{quote(STOCK, safe='')}/relationship/physicalInstanceOf"
TO_LOGICAL = f"{RELATION}/{quote(LOGICAL, safe='')}"


def columns(*names: str) -> dict[str, Any]:
    return {"fields": [{"fieldPath": name} for name in names]}


def furnish(wire: Wire) -> None:
    wire.put(
        ("urn:li:dataPlatform:model", "dataPlatformInfo", {"logical": True}),
        (LOGICAL, "schemaMetadata", columns("id", "sum")),
        (STOCK, "schemaMetadata", columns("order_id", "total")),
    )


def parent(wire: Wire, urn: str) -> object:
    return wire.aspects(urn).get("logicalParent", {}).get("parent", {}).get("destinationUrn")


def test_a_logical_parent_is_set_with_its_columns_and_cleared(wire: Wire) -> None:
    furnish(wire)
    own, above = f"urn:li:schemaField:({STOCK},order_id)", f"urn:li:schemaField:({LOGICAL},id)"
    wire.good("POST", TO_LOGICAL, {"id": "order_id"})
    assert (parent(wire, STOCK), parent(wire, own)) == (LOGICAL, above)
    wire.good("POST", TO_LOGICAL, {"sum": "total"})
    assert parent(wire, own) is None
    assert parent(wire, f"urn:li:schemaField:({STOCK},total)") is not None
    wire.good("DELETE", RELATION)
    assert parent(wire, STOCK) is None
    assert parent(wire, f"urn:li:schemaField:({STOCK},total)") is None


def test_both_sides_of_a_logical_parent_are_asked_about(wire: Wire) -> None:
    furnish(wire)
    wire.grant("child", "EDIT_ENTITY", to="ana", URN=[STOCK])
    assert wire.bad("POST", TO_LOGICAL, {"id": "order_id"}, "ana") == 403
    wire.grant("parent", "EDIT_ENTITY", to="ana", URN=[LOGICAL])
    wire.good("POST", TO_LOGICAL, {"id": "order_id"}, "ana")
    assert wire.bad("DELETE", RELATION, user="eve") == 403
    wire.good("DELETE", RELATION, user="ana")


@pytest.mark.parametrize("body", [{"other": "order_id"}, {"id": "other"}, {"id": 7}, []])
def test_columns_that_are_not_there_are_no_mapping(wire: Wire, body: object) -> None:
    furnish(wire)
    assert wire.bad("POST", TO_LOGICAL, body) == 400
    assert parent(wire, STOCK) is None


def test_a_parent_that_is_not_logical_is_none(wire: Wire) -> None:
    furnish(wire)
    wire.put((ORDERS, "schemaMetadata", columns("id")))
    path = f"{RELATION}/{quote(ORDERS, safe='')}"
    assert wire.bad("POST", path, {"id": "order_id"}) == 400


CHART = quote("urn:li:chart:(looker,c)", safe="")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", f"/openapi/v3/entity/dataset/{CHART}", None),
        ("HEAD", f"/openapi/v3/entity/dataset/{CHART}", None),
        ("DELETE", f"/openapi/v3/entity/dataset/{CHART}", None),
        ("GET", f"/openapi/v3/entity/dataset/{CHART}/status", None),
        ("POST", f"/openapi/v3/entity/dataset/{CHART}/status", {"value": {}}),
        ("PATCH", f"/openapi/v3/entity/dataset/{CHART}/status", {"value": []}),
        ("DELETE", f"/openapi/v3/entity/dataset/{CHART}/status", None),
        ("POST", "/openapi/v3/entity/dataset/batchGet", [{"urn": "urn:li:chart:(looker,c)"}]),
        (
            "POST",
            "/openapi/v3/entity/dataset",
            [{"urn": "urn:li:chart:(looker,c)", "status": {"value": {}}}],
        ),
    ],
)
def test_the_type_is_that_of_the_urn_whatever_the_path_says(
    wire: Wire, method: str, path: str, body: object
) -> None:
    assert wire.bad(method, path, body) == 400
    assert wire.bad(method, path, body, "eve") == 400


def test_a_page_of_a_list_is_found_without_sorting_the_list(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    urns = sorted(f"urn:li:tag:{at}" for at in range(40))
    wire.put(*((urn, "status", {"removed": False}) for urn in reversed(urns)))
    path = "/openapi/v3/entity/tag?aspects=status&count=5&scrollId="
    wire.good("GET", f"{path}0")
    keys: list[int] = []
    key = Tree.key

    def counted(tree: Tree, id: int) -> object:
        keys.append(id)
        return key(tree, id)

    monkeypatch.setattr(Tree, "key", counted)
    page = wire.good("GET", f"{path}10")
    assert [one["urn"] for one in page["entities"]] == urns[10:15]
    assert (page["scrollId"], page["totalCount"], keys) == ("15", 40, [])


def test_entities_of_several_types_are_scrolled(wire: Wire) -> None:
    urns = [f"urn:li:tag:{at}" for at in range(3)] + [f"urn:li:domain:{at}" for at in range(2)]
    wire.put(*((urn, "status", {"removed": False}) for urn in urns))
    found: list[str] = []
    place: str | None = "0"
    while place is not None:
        path = f"/openapi/v3/entity/scroll?count=2&scrollId={place}"
        page = wire.good("POST", path, {"entities": ["tag", "domain"], "aspects": ["status"]})
        found += [one["urn"] for one in page["entities"]]
        assert all(set(one) == {"urn", "status"} for one in page["entities"])
        assert page["totalCount"] == 5
        place = page["scrollId"]
    assert sorted(found) == sorted(urns)
    wire.grant("see", "VIEW_ENTITY_PAGE", to="eve", URN=["urn:li:tag:1"])
    page = wire.good("POST", "/openapi/v3/entity/scroll", {}, "eve")
    assert (page["entities"], page["totalCount"]) == ([{"urn": "urn:li:tag:1"}], 1)
    assert wire.bad("POST", "/openapi/v3/entity/scroll", {"entities": "tag"}) == 400


def test_many_entities_are_read_as_the_second_version_shows_them(wire: Wire) -> None:
    wire.put((ORDERS, "status", {"removed": False}), (ORDERS, "globalTags", {"tags": []}))
    path = "/openapi/v2/entity/batch/dataset"
    asked = {"urns": [ORDERS, STOCK], "aspectNames": ["status"]}
    told = {"urn": ORDERS, "aspects": {"status": {"value": {"removed": False}}}}
    assert wire.good("POST", path, asked) == {"entities": [told]}
    everything = wire.good("POST", path, {"urns": [ORDERS]})["entities"][0]["aspects"]
    assert set(everything) == {"datasetKey", "globalTags", "status"}
    assert wire.bad("POST", path, asked, "eve") == 403
    assert wire.bad("POST", path, {"urns": ["urn:li:tag:x"]}) == 400


GENERIC = "/openapi/v3/entity/generic"
TAG = "urn:li:tag:pii"


def test_entities_of_several_types_are_written_and_read_together(wire: Wire) -> None:
    sent = {
        "dataset": [item(ORDERS, globalTags=TAGS)],
        "tag": [item(TAG, tagProperties={"name": "pii"})],
    }
    assert wire.good("POST", f"{GENERIC}?async=false", sent) == sent
    assert wire.good("GET", f"{GENERIC}/{quote(TAG, safe='')}")["tagProperties"]["value"] == {
        "name": "pii"
    }
    wire.good("HEAD", f"{GENERIC}/{quote(ORDERS, safe='')}")
    asked = {"dataset": [{"urn": ORDERS, "globalTags": {}}], "tag": [{"urn": TAG}]}
    read = wire.good("POST", f"{GENERIC}/batchGet", asked)
    assert read["dataset"] == [item(ORDERS, globalTags=TAGS)]
    assert read["tag"][0]["tagProperties"]["value"]["name"] == "pii"
    wire.good("PATCH", GENERIC, {"dataset": [item(ORDERS, globalTags={"patch": [GOLD]})]})
    assert len(wire.aspects(ORDERS)["globalTags"]["tags"]) == 2
    wire.good("DELETE", f"{GENERIC}/{quote(TAG, safe='')}")
    assert wire.aspects(TAG) == {}


def test_of_several_types_all_is_written_or_nothing(wire: Wire) -> None:
    wire.grant("one", "CREATE_ENTITY", "EDIT_ENTITY_TAGS", to="ana", URN=[ORDERS])
    dataset = [item(ORDERS, globalTags=TAGS)]
    both = {"dataset": dataset, "tag": [item(TAG, tagProperties={"name": "pii"})]}
    assert wire.bad("POST", GENERIC, both, "ana") == 403
    assert wire.bad("POST", GENERIC, {"tag": dataset}) == 400
    empty: tuple[object, ...] = ({}, {"tag": []}, {"tag": 1}, [])
    assert [wire.bad("POST", GENERIC, body) for body in empty] == [400] * 4
    assert wire.aspects(ORDERS) == {}
    wire.good("POST", GENERIC, {"dataset": dataset}, "ana")


SECOND = "/openapi/v2/entity/dataset"


def test_the_second_version_has_aspects_in_an_object_of_their_own(wire: Wire) -> None:
    one = f"{SECOND}/{quote(ORDERS, safe='')}"
    sent = [{"urn": ORDERS, "aspects": {"globalTags": {"value": TAGS}}}]
    assert wire.good("POST", SECOND, sent) == sent
    read = wire.good("GET", one)
    assert read["urn"] == ORDERS
    assert set(read["aspects"]) == {"datasetKey", "globalTags"}
    assert wire.good("GET", f"{one}?aspectNames=globalTags") == sent[0]
    assert wire.good("GET", f"{SECOND}?aspectNames=globalTags")["results"] == sent
    assert wire.good("GET", f"{one}/globalTags") == {"value": TAGS}
    wire.good("HEAD", one)
    assert wire.bad("POST", SECOND, sent[0]) == wire.bad("POST", SECOND, [{"urn": ORDERS}]) == 400
    assert wire.bad("GET", one, user="eve") == 403
    assert wire.bad("GET", f"{SECOND}/{quote(STOCK, safe='')}") == 404
    wire.good("DELETE", one)
    assert wire.bad("GET", one) == 404
