"""Search in GraphQL: results, counts and pages contain only what the caller may see."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from graphql import GraphQLInputObjectType, get_named_type

from lakewarden.kernel.errors import BadInput
from lakewarden.service.search_terms import MOST
from lakewarden.systems.datahub.aspects.searched import UNSEARCHED
from lakewarden.systems.datahub.http.graphql.schema import schema
from tests.systems.datahub.http.graphql.wire import BAD, NOT_FOUND, Wire, document, user

ACROSS = """query q($i: SearchAcrossEntitiesInput!) { searchAcrossEntities(input: $i) {
  start count total
  searchResults { entity { urn type } matchedFields { name value } extraProperties { name value } }
  facets { field displayName aggregations { value count displayName entity { urn } } }
} }"""
SCROLL = """query q($i: ScrollAcrossEntitiesInput!) { scrollAcrossEntities(input: $i) {
  nextScrollId count total searchResults { entity { urn } }
} }"""
SHOP, PAY = "urn:li:domain:shop", "urn:li:domain:pay"
LAKE, INNER = "urn:li:container:lake", "urn:li:container:inner"


def dataset(name: str, platform: str = "hive") -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


ORDERS, DAILY, WAGES = dataset("shop.orders"), dataset("shop.daily_orders"), dataset("pay.wages")


@pytest.fixture
def hub(wire: Wire) -> Wire:
    """A server with a few datasets; eve may view those of the domain shop, others none."""
    return wire.built(_fill_realm)


def _fill_realm(wire: Wire) -> None:
    wire.close()
    for urn, domain in ((ORDERS, SHOP), (DAILY, SHOP), (WAGES, PAY)):
        wire.put("dataset", urn, "domains", {"domains": [domain]})
    wire.put("domain", SHOP, "domainProperties", {"name": "Shop"})
    wire.put("domain", PAY, "domainProperties", {"name": "Pay"})
    wire.put(
        "dataset",
        ORDERS,
        "datasetProperties",
        {"name": "Orders", "description": "what was sold", "customProperties": {"a": "1"}},
    )
    wire.put("dataset", WAGES, "globalTags", {"tags": [{"tag": "urn:li:tag:pii"}]})
    wire.put("tag", "urn:li:tag:pii", "tagProperties", {"name": "Personal"})
    policy(wire, "VIEW_ENTITY_PAGE", "eve", "DOMAIN", SHOP)


def policy(wire: Wire, privilege: str, name: str, field: str, value: str) -> None:
    criterion = {"field": field, "condition": "EQUALS", "values": [value]}
    stated = {
        "displayName": f"{privilege} {name}",
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": [privilege],
        "actors": {"users": [user(name)], "resourceOwners": False},
        "editable": True,
        "resources": {"filter": {"criteria": [criterion]}},
    }
    urn = f"urn:li:dataHubPolicy:{privilege}-{name}"
    wire.put("dataHubPolicy", urn, "dataHubPolicyInfo", stated)


def search_across(wire: Wire, query: str = "*", by: str = "datahub", **input: object) -> Any:
    return wire.good(ACROSS, by, i={"query": query, **input})


def found_urns(wire: Wire, query: str = "*", by: str = "datahub", **input: object) -> list[str]:
    """The URNs of all results; checks their total."""
    page = search_across(wire, query, by, **{"types": ["DATASET"], **input})
    urns = [one["entity"]["urn"] for one in page["searchResults"]]
    assert page["count"] == len(urns) <= page["total"]
    return urns


def one_criterion(field: str, *values: str, **more: object) -> list[dict[str, object]]:
    return [{"and": [{"field": field, "values": list(values), **more}]}]


def facet(page: Any, field: str) -> dict[str, int]:
    (own,) = (facet for facet in page["facets"] if facet["field"] == field)
    return {one["value"]: one["count"] for one in own["aggregations"]}


def test_the_document_with_everything_is_answered(hub: Wire) -> None:
    hub.put("container", LAKE, "containerProperties", {"name": "Lake"})
    hub.put("container", INNER, "container", {"container": LAKE})
    hub.put("dataset", ORDERS, "container", {"container": INNER})
    hub.put("dataset", WAGES, "container", {"container": LAKE})
    asked = {"query": "*", "type": "DATASET", "types": ["DATASET", "DOMAIN"], "facets": []}
    reply = hub.send({"query": document("search"), "variables": asked})
    answer = json.loads(reply.body)
    assert "errors" not in answer, answer
    data = answer["data"]
    assert data["search"]["total"] == data["scrollAcrossEntities"]["total"] - 2 == 3
    assert data["browse"]["total"] == 1
    assert data["browse"]["groups"] == [{"name": LAKE, "count": 2}]
    (group,) = data["browseV2"]["groups"]
    assert (group["name"], group["count"], group["hasSubGroups"]) == (LAKE, 2, True)
    assert data["autoComplete"]["suggestions"] == ["Orders", "pay.wages", "shop.daily_orders"]


def test_words_are_found_in_names_and_aspects_the_best_first(hub: Wire) -> None:
    assert found_urns(hub, "orders") == [ORDERS, DAILY]
    assert found_urns(hub, "sold") == [ORDERS]
    assert found_urns(hub, "sho ord") == []
    assert found_urns(hub, "shop ord") == [DAILY, ORDERS]
    assert found_urns(hub, "pii") == [WAGES]
    assert found_urns(hub, ORDERS) == [ORDERS]
    assert found_urns(hub, "?") == found_urns(hub, "nothing") == []


def test_view_authorization_filters_before_anything_is_counted(hub: Wire) -> None:
    assert found_urns(hub, by="eve") == [WAGES, DAILY, ORDERS]
    hub.configure(view=True)
    page = search_across(hub, by="eve", types=["DATASET"], count=1)
    assert (page["count"], page["total"]) == (1, 2)
    assert found_urns(hub, by="eve") == [DAILY, ORDERS]
    assert found_urns(hub, "wages", by="eve") == found_urns(hub, WAGES, by="eve") == []
    assert found_urns(hub, by="eve", orFilters=one_criterion("tags", "urn:li:tag:pii")) == []
    assert found_urns(hub, by="ana") == []
    assert facet(page, "domains") == {SHOP: 2}
    assert facet(page, "tags") == {}
    assert facet(page, "_entityType") == {"DATASET": 2}


def test_a_facet_names_an_entity_only_to_who_may_see_it(hub: Wire) -> None:
    tag = "urn:li:tag:pii"
    hub.put("dataset", ORDERS, "globalTags", {"tags": [{"tag": tag}]})
    hub.configure(view=True)

    def told() -> Any:
        page = search_across(hub, by="eve", types=["DATASET"])
        (tags,) = (facet for facet in page["facets"] if facet["field"] == "tags")
        return tags["aggregations"]

    assert told() == [{"value": tag, "count": 1, "displayName": None, "entity": None}]
    policy(hub, "EDIT_ENTITY", "eve", "URN", tag)
    assert told() == [{"value": tag, "count": 1, "displayName": "pii", "entity": {"urn": tag}}]


def test_search_access_controls_ask_for_view_entity(hub: Wire) -> None:
    policy(hub, "VIEW_ENTITY", "cid", "URN", WAGES)
    hub.configure(search_access=True)
    assert found_urns(hub, by="cid") == [WAGES]
    assert found_urns(hub, by="eve") == [DAILY, ORDERS]  # the page implies it
    assert found_urns(hub, by="ana") == []
    people = search_across(hub, by="ana", types=["CORP_USER"])
    assert people["total"] == 4  # an unrestricted type
    hub.configure(view=True)
    (hit,) = search_across(hub, by="cid", types=["DATASET"])["searchResults"]
    assert hit["entity"]["type"] == "RESTRICTED"  # found, but its page stays hidden
    assert "wages" not in json.dumps(hit)


def test_with_policies_off_nothing_is_asked(hub: Wire) -> None:
    hub.configure(view=True, search_access=True, policies=False)
    assert len(found_urns(hub, by="ana")) == 3


def test_what_holds_power_is_never_found(hub: Wire) -> None:
    for type in ("dataHubSecret", "dataHubPolicy", "inviteToken", "dataHubAccessToken"):
        hub.put(type, f"urn:li:{type}:hidden", f"{type}Key", {"id": "hidden"})
    for types in ([], ["DATAHUB_POLICY"], ["ACCESS_TOKEN"], ["OTHER"], ["DATAHUB_VIEW"]):
        page = search_across(hub, "hidden", types=types)
        assert page["total"] == 0, types
        page = search_across(hub, "*", types=types, count=100)
        shown = {one["entity"]["urn"].split(":")[2] for one in page["searchResults"]}
        assert shown.isdisjoint(UNSEARCHED)
        assert facet(page, "_entityType").keys().isdisjoint({"DATAHUB_POLICY", "ACCESS_TOKEN"})


@pytest.mark.parametrize(
    ("filters", "urns"),
    [
        (one_criterion("platform", "urn:li:dataPlatform:hive"), [WAGES, DAILY, ORDERS]),
        (one_criterion("platform.keyword", "urn:li:dataPlatform:kafka"), []),
        (one_criterion("domains", SHOP), [DAILY, ORDERS]),
        (one_criterion("domains", SHOP, negated=True), [WAGES]),
        (one_criterion("tags", "PII", condition="END_WITH"), [WAGES]),
        (one_criterion("hasTags", "true"), [WAGES]),
        (one_criterion("tags", condition="EXISTS", negated=True), [DAILY, ORDERS]),
        (one_criterion("name", "Orders"), [ORDERS]),
        (one_criterion("name", "orders", condition="CONTAIN"), [DAILY, ORDERS]),
        (one_criterion("customProperties", "a=1"), [ORDERS]),
        (one_criterion("description", "SOLD", condition="CONTAIN"), [ORDERS]),
        (one_criterion("urn", "pay", condition="CONTAIN"), [WAGES]),
        (one_criterion("_entityType", "DATASET"), [WAGES, DAILY, ORDERS]),
        (one_criterion("_entityType", "CORP_USER"), []),
        (one_criterion("nobody_knows_this", "x"), []),
        (one_criterion("nobody_knows_this", "x", negated=True), [WAGES, DAILY, ORDERS]),
        ([{"and": []}], [WAGES, DAILY, ORDERS]),
        ([], [WAGES, DAILY, ORDERS]),
        (one_criterion("domains", PAY) + one_criterion("name", "Orders"), [WAGES, ORDERS]),
        (
            [
                {
                    "and": [  # type: ignore[misc]
                        *one_criterion("domains", SHOP)[0]["and"],
                        *one_criterion("name", "Orders")[0]["and"],
                    ]
                }
            ],
            [ORDERS],
        ),
    ],
)
def test_filters(hub: Wire, filters: list[Any], urns: list[str]) -> None:
    assert found_urns(hub, orFilters=filters) == urns


def test_the_older_filters_must_all_hold(hub: Wire) -> None:
    older = [{"field": "domains", "value": SHOP}, {"field": "name", "values": ["Orders"]}]
    assert found_urns(hub, filters=older) == [ORDERS]
    assert found_urns(hub, filters=older, orFilters=one_criterion("domains", PAY)) == []


def test_what_is_deleted_softly_is_hidden_unless_asked_for(hub: Wire) -> None:
    hub.put("dataset", DAILY, "status", {"removed": True})
    assert found_urns(hub) == [WAGES, ORDERS]
    assert found_urns(hub, "daily") == []
    assert found_urns(hub, searchFlags={"includeSoftDeleted": True}) == [WAGES, DAILY, ORDERS]
    assert found_urns(hub, orFilters=one_criterion("removed", "true")) == [DAILY]
    assert found_urns(hub, orFilters=one_criterion("removed", "true", negated=True)) == [
        WAGES,
        ORDERS,
    ]


def test_results_are_sorted_by_what_is_asked(hub: Wire) -> None:
    def by(*fields: tuple[str, str]) -> dict[str, object]:
        return {"sortCriteria": [{"field": f, "sortOrder": order} for f, order in fields]}

    assert found_urns(hub, sortInput=by(("name", "ASCENDING"))) == [ORDERS, WAGES, DAILY]
    assert found_urns(hub, sortInput=by(("urn", "DESCENDING"))) == [ORDERS, DAILY, WAGES]
    older = {"sortCriterion": {"field": "urn", "sortOrder": "ASCENDING"}}
    assert found_urns(hub, sortInput=older) == [WAGES, DAILY, ORDERS]
    wrong = {"query": "*", "sortInput": by(("lastModifiedAt", "ASCENDING"))}
    assert hub.bad(ACROSS, i=wrong) == BAD


@pytest.mark.parametrize("query", ["*", "orders"])
@pytest.mark.parametrize("sort", [None, "urn", "name"])
def test_a_scroll_shows_everything_once_in_full_pages(
    hub: Wire, query: str, sort: str | None
) -> None:
    for number in range(10):
        hub.put("dataset", dataset(f"more.orders_{number}"), "status", {"removed": False})
    order = {"sortCriteria": [{"field": sort, "sortOrder": "DESCENDING"}]} if sort else None
    input = {"query": query, "types": ["DATASET"], "count": 4, "sortInput": order}
    urns: list[str] = []
    page = hub.good(SCROLL, i=input)
    sizes = []
    while True:
        urns += [one["entity"]["urn"] for one in page["searchResults"]]
        sizes.append(page["count"])
        if page["nextScrollId"] is None:
            break
        page = hub.good(SCROLL, i={**input, "scrollId": page["nextScrollId"]})
    assert len(urns) == len(set(urns)) == page["total"] == (13 if query == "*" else 12)
    assert sizes == [4] * (page["total"] // 4) + [page["total"] % 4] * (page["total"] % 4 > 0)


def test_a_scroll_id_is_good_for_its_question_and_caller_alone(hub: Wire) -> None:
    input = {"query": "*", "types": ["DATASET"], "count": 1}
    id = hub.good(SCROLL, i=input)["nextScrollId"]
    assert hub.good(SCROLL, i={**input, "count": 2, "scrollId": id})["count"] == 2
    for other in (
        {"query": "orders"},
        {"types": ["CHART"]},
        {"orFilters": one_criterion("name", "x")},
    ):
        assert hub.bad(SCROLL, i={**input, **other, "scrollId": id}) == BAD
    assert hub.bad(SCROLL, "eve", i={**input, "scrollId": id}) == BAD
    told = json.loads(base64.urlsafe_b64decode(id))
    odd = [b"", b"{}", b"[1,2,3,4]", json.dumps([*told[:2], -1, []]).encode(), b"[" * 9000]
    for text in ("x", "é", "=" * 20_000, *(base64.urlsafe_b64encode(o).decode() for o in odd)):
        if text:
            assert hub.bad(SCROLL, i={**input, "scrollId": text}) == BAD


def test_a_made_up_place_opens_nothing(hub: Wire) -> None:
    hub.configure(view=True)
    input = {"query": "*", "types": ["DATASET"], "count": 1}
    id = hub.good(SCROLL, "eve", i=input)["nextScrollId"]
    version, digest, _, _ = json.loads(base64.urlsafe_b64decode(id))
    for part in (0, 1, 9):
        place = json.dumps([version, digest, part, []]).encode()
        made = base64.urlsafe_b64encode(place).decode()
        page = hub.good(SCROLL, "eve", i={**input, "count": 50, "scrollId": made})
        assert WAGES not in json.dumps(page)


@pytest.mark.parametrize("wrong", [{"start": -1}, {"count": -1}])
def test_numbers_that_make_no_sense_are_refused(hub: Wire, wrong: dict[str, int]) -> None:
    assert hub.bad(ACROSS, i={"query": "*", **wrong}) == BAD


def test_a_page_is_as_long_as_pages_may_be(hub: Wire) -> None:
    page = search_across(hub, count=100_000, types=["DATASET"])
    assert page["count"] == 3
    assert search_across(hub, count=0, types=["DATASET"])["count"] == 0
    assert search_across(hub, start=50, types=["DATASET"])["searchResults"] == []


def test_a_view_narrows_what_is_found_for_those_who_may_use_it(hub: Wire) -> None:
    def view(id: str, kind: str, owner: str) -> str:
        urn = f"urn:li:dataHubView:{id}"
        criterion = {"field": "domains", "values": [SHOP], "condition": "EQUAL"}
        definition = {"entityTypes": ["dataset"], "filter": {"or": [{"and": [criterion]}]}}
        stamp = {"time": 0, "actor": user(owner)}
        value = {"name": id, "type": kind, "definition": definition, "created": stamp}
        hub.put("dataHubView", urn, "dataHubViewInfo", value)
        return urn

    shared, own = view("shared", "GLOBAL", "bob"), view("own", "PERSONAL", "bob")
    assert found_urns(hub, viewUrn=shared, types=[]) == [DAILY, ORDERS]
    assert found_urns(hub, viewUrn=shared, types=["CHART"]) == []
    assert found_urns(hub, viewUrn=shared, orFilters=one_criterion("domains", PAY)) == []
    assert found_urns(hub, by="bob", viewUrn=own) == [DAILY, ORDERS]
    for urn in (own, "urn:li:dataHubView:none"):
        assert hub.bad(ACROSS, i={"query": "*", "viewUrn": urn}) == NOT_FOUND
    assert hub.bad(ACROSS, i={"query": "*", "viewUrn": ORDERS}) == BAD


def test_which_fields_matched_and_more_is_told(hub: Wire) -> None:
    flags: dict[str, Any] = {"fetchExtraFields": ["customProperties", "urn", "nothing"]}
    (hit,) = search_across(hub, "sold", types=["DATASET"], searchFlags=flags)["searchResults"]
    assert hit["matchedFields"] == [{"name": "description", "value": "what was sold"}]
    told = {one["name"]: json.loads(one["value"]) for one in hit["extraProperties"]}
    assert told == {"customProperties": ["a=1"], "urn": ORDERS}
    flags = {"skipHighlighting": True, "skipAggregates": True}
    page = search_across(hub, "sold", types=["DATASET"], searchFlags=flags)
    assert page["searchResults"][0]["matchedFields"] == page["facets"] == []


def test_facets_are_told_as_far_as_is_asked(hub: Wire) -> None:
    query = """query q($i: AggregateAcrossEntitiesInput!) { aggregateAcrossEntities(input: $i) {
      facets { field aggregations { value count } } } }"""
    named = ["domains", "typeNames", "customProperties", "nothing"]
    page = hub.good(query, i={"query": "*", "facets": named, "types": ["DATASET"]})
    assert [one["field"] for one in page["facets"]] == named
    assert facet(page, "domains") == {SHOP: 2, PAY: 1}
    assert facet(page, "customProperties") == {"a=1": 1}
    assert facet(page, "nothing") == {}
    flags = {"maxAggValues": 1}
    page = hub.good(query, i={"query": "*", "facets": ["domains"], "searchFlags": flags})
    assert facet(page, "domains") == {SHOP: 2}
    many = [f"field{number}" for number in range(51)]
    assert hub.bad(query, i={"query": "*", "facets": many}) == BAD


def test_names_are_completed_with_what_may_be_seen(hub: Wire) -> None:
    query = """query q($i: AutoCompleteMultipleInput!) { autoCompleteForMultiple(input: $i) {
      query suggestions { type suggestions entities { urn } } } }"""
    (datasets,) = hub.good(query, i={"query": "ord"})["suggestions"]
    assert datasets["suggestions"] == ["shop.daily_orders", "Orders"]
    assert hub.good(query, i={"query": "sold"})["suggestions"] == []  # in no name
    hub.configure(view=True)
    assert hub.good(query, "ana", i={"query": "ord"})["suggestions"] == []
    assert hub.good(query, "eve", i={"query": "wag"})["suggestions"] == []


def test_browsing_goes_down_by_containers(hub: Wire) -> None:
    hub.put("container", INNER, "container", {"container": LAKE})
    hub.put("dataset", ORDERS, "container", {"container": INNER})
    hub.put("dataset", WAGES, "container", {"container": LAKE})
    query = """query q($i: BrowseV2Input!) { browseV2(input: $i) { total
      groups { name count hasSubGroups entity { urn } } metadata { path totalNumEntities } } }"""

    def browse(*path: str, by: str = "datahub") -> tuple[list[tuple[str, int]], int]:
        input = {"types": ["DATASET"], "path": list(path), "query": "*"}
        page = hub.good(query, by, i=input)
        groups = [(one["name"], one["count"]) for one in page["groups"]]
        return groups, page["metadata"]["totalNumEntities"]

    assert browse() == ([(LAKE, 2)], 3)
    assert browse(LAKE) == ([(INNER, 1)], 2)
    assert browse(LAKE, INNER) == ([], 1)
    assert browse("urn:li:container:none") == ([], 0)
    hub.configure(view=True)
    assert browse(LAKE, by="eve") == ([(INNER, 1)], 1)
    assert browse(LAKE, by="ana") == ([], 0)


def paths(hub: Wire) -> None:
    """Orders and wages have their own paths, daily orders are in a container."""
    hub.put("container", LAKE, "containerProperties", {"name": "Lake"})
    for urn in (DAILY, WAGES):
        hub.put("dataset", urn, "container", {"container": LAKE})
    lake = {"id": LAKE, "urn": LAKE}
    hub.put("dataset", ORDERS, "browsePathsV2", {"path": [{"id": "prod"}, {"id": "shop"}]})
    hub.put("dataset", WAGES, "browsePathsV2", {"path": [{"id": "prod"}, lake]})
    hub.put("dataset", DAILY, "browsePathsV2", {"path": [lake]})


def test_browsing_goes_down_by_what_entities_say(hub: Wire) -> None:
    paths(hub)
    query = """query q($i: BrowseV2Input!) { browseV2(input: $i) { total
      groups { name count hasSubGroups entity { urn } } metadata { totalNumEntities } } }"""

    def browse(*path: str, by: str = "datahub", **more: object) -> Any:
        return hub.good(query, by, i={"types": ["DATASET"], "path": list(path), **more})

    top = browse()
    assert (top["total"], top["metadata"]["totalNumEntities"]) == (2, 3)
    prod, lake = top["groups"]
    assert prod == {"name": "prod", "count": 2, "hasSubGroups": True, "entity": None}
    assert lake == {"name": LAKE, "count": 1, "hasSubGroups": False, "entity": {"urn": LAKE}}
    assert browse(start=1, count=1)["groups"] == [lake]
    below = {one["name"]: one["entity"] for one in browse("prod")["groups"]}
    assert below == {"shop": None, LAKE: {"urn": LAKE}}
    assert browse("prod", "shop")["metadata"]["totalNumEntities"] == 1
    assert browse("shop")["metadata"]["totalNumEntities"] == 0
    hub.configure(view=True)
    assert [one["count"] for one in browse(by="eve")["groups"]] == [1, 1]
    assert browse("prod", by="ana")["groups"] == []


def test_a_path_is_a_filter_of_what_is_found_by_browsing_there(hub: Wire) -> None:
    paths(hub)

    def at(path: str, **more: object) -> list[str]:
        return sorted(found_urns(hub, orFilters=one_criterion("browsePathV2", path, **more)))

    assert at("␟prod") == sorted([ORDERS, WAGES])
    assert at("␟prod␟shop") == [ORDERS]
    assert at(f"␟prod␟{LAKE}") == [WAGES]
    assert at(f"␟{LAKE}") == [DAILY]
    assert at(LAKE) == sorted([DAILY, WAGES])
    assert at("␟shop") == at("␟prod␟none") == []
    assert at("", condition="EXISTS") == sorted([ORDERS, WAGES, DAILY])
    assert at("␟prod", negated=True) == [DAILY]


def test_people_are_found_by_their_address(hub: Wire) -> None:
    asked: Any = {"types": ["CORP_USER"], "orFilters": one_criterion("email", "ana@x")}
    assert found_urns(hub, **asked) == [user("ana")]
    assert found_urns(hub, types=["CORP_USER"], orFilters=one_criterion("email", "a@x")) == []


def test_lists_that_are_no_searches_take_no_other_conditions(hub: Wire) -> None:
    criterion = {"field": "state", "values": ["ACT"], "condition": "START_WITH"}
    policies = "query q($i: ListPoliciesInput!) { listPolicies(input: $i) { total } }"
    assert hub.bad(policies, i={"orFilters": [{"and": [criterion]}]}) == BAD
    tokens = "query q($i: ListAccessTokenInput!) { listAccessTokens(input: $i) { total } }"
    criterion = {"field": "ownerUrn", "values": [user("a")], "condition": "START_WITH"}
    assert hub.bad(tokens, i={"filters": [criterion]}) == BAD


def _searching() -> Iterator[tuple[str, Any]]:
    """Every field with a search input, and its resolver."""
    for type in schema().type_map.values():
        for name, field in (getattr(type, "fields", None) or {}).items():
            argument = getattr(field, "args", {}).get("input")
            input = get_named_type(argument.type) if argument is not None else None
            if isinstance(input, GraphQLInputObjectType) and "query" in input.fields:
                yield f"{type.name}.{name}", field.resolve


def test_every_field_that_searches_refuses_too_many_words_before_it_does_anything() -> None:
    found = dict(_searching())
    assert {"Query.searchAcrossEntities", "Query.autoComplete", "Query.listUsers"} <= set(found)
    for resolve in found.values():
        with pytest.raises(BadInput, match=r"input\.query: expected at most 64 words, got 65"):
            resolve(None, None, input={"query": "word " * (MOST + 1)})


def test_too_many_words_or_parts_of_texts_are_told_as_bad_input(hub: Wire) -> None:
    input = {"query": "nowhere " * MOST, "types": [], "start": 0, "count": 10}
    assert hub.good(ACROSS, i=input)["total"] == 0
    assert hub.bad(ACROSS, i={**input, "query": "a " * (MOST + 1)}) == BAD
    parts = {"field": "name", "condition": "CONTAIN", "values": ["a"] * (MOST + 1)}
    filters = [{"and": [parts]}]
    assert hub.bad(ACROSS, i={**input, "query": "*", "orFilters": filters}) == BAD
