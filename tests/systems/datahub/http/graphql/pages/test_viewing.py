"""With view authorization, a page shows nothing hidden from the caller, not even its name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.systems.datahub.http.graphql.pages.kinds import KINDS, Kind
from tests.systems.datahub.http.graphql.pages.test_kinds import NO_EDGES, put
from tests.systems.datahub.http.graphql.pages.world import (
    ASPECTS,
    CUSTOMERS,
    DATABASE,
    MODEL,
    ORDERS,
    PII,
    REVENUE,
    SALES,
    SCHEMA,
    Json,
    column,
    stamp,
)
from tests.systems.datahub.http.graphql.wire import Wire, document, group, user

PAGE = document("page_dataset")
ENTITY = "query q($urn: String!) { entity(urn: $urn) { urn } }"
HIDDEN = (CUSTOMERS, MODEL, PII, REVENUE, SALES)


def grant(wire: Wire, *urns: str, privileges: tuple[str, ...] = ("VIEW_ENTITY_PAGE",)) -> None:
    """Eve may view only the pages of these entities."""
    policy = {
        "displayName": "eve views",
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": list(privileges),
        "actors": {"users": [user("eve")], "resourceOwners": False},
        "resources": {
            "filter": {"criteria": [{"field": "URN", "condition": "EQUALS", "values": list(urns)}]}
        },
        "editable": True,
    }
    wire.put("dataHubPolicy", "urn:li:dataHubPolicy:eve", "dataHubPolicyInfo", policy)


@pytest.fixture
def guarded(wire: Wire) -> Wire:
    wire.built(_fill_realm)
    wire.configure(view=True)
    return wire


def _fill_realm(wire: Wire) -> None:
    wire.close()
    put(wire, ORDERS, ASPECTS)
    put(wire, SCHEMA, {"container": {"container": DATABASE}})


def test_a_page_that_may_not_be_viewed_is_as_one_that_is_not_there(guarded: Wire) -> None:
    assert guarded.good(PAGE, "eve", urn=ORDERS, edges=NO_EDGES) is None
    assert guarded.good(PAGE, "eve", urn=CUSTOMERS, edges=NO_EDGES) is None
    assert guarded.good("query q($u: String!) { entityExists(urn: $u) }", "eve", u=ORDERS) is False
    assert (
        guarded.good("query q($u: String!) { dataset(urn: $u) { name } }", "eve", u=ORDERS) is None
    )
    assert guarded.good(PAGE, urn=ORDERS, edges=NO_EDGES)["name"] == "shop.orders"


def test_what_the_page_names_is_left_out_unless_it_may_be_viewed(guarded: Wire) -> None:
    grant(guarded, ORDERS)
    found = guarded.good(PAGE, "eve", urn=ORDERS, edges=NO_EDGES)
    assert found["tags"] == {"tags": []}
    assert found["glossaryTerms"] == {"terms": []}
    assert found["domain"] is None
    assert found["logicalParent"] is None
    assert found["siblings"]["siblings"] == []
    assert found["deprecation"]["replacement"] is None
    schema = found["schemaMetadata"]
    assert schema["fields"][0]["tags"] == {"tags": []}
    assert schema["fields"][0]["glossaryTerms"] == {"terms": []}
    constraint: Json = {"name": "buyer", "foreignFields": [], "foreignDataset": None}
    assert schema["foreignKeys"] == [{**constraint, "sourceFields": [{"urn": column("buyer")}]}]
    edited = found["editableSchemaMetadata"]["editableSchemaFieldInfo"][0]
    assert edited["tags"] == {"tags": []}
    # Stored aspects are the ones that the other APIs show to readers of the entity.
    shown = {name: value for name, value in found.items() if name != "aspects"}
    assert not [urn for urn in HIDDEN if urn in json.dumps(shown)]


def urns_in(value: Any) -> set[str]:
    """All URNs that a value has anywhere."""
    match value:
        case dict():
            return {urn for member in value.values() for urn in urns_in(member)}
        case list():
            return {urn for member in value for urn in urns_in(member)}
        case str() if value.startswith("urn:li:"):
            return {value}
    return set()


OPEN = frozenset(
    (
        *("corpuser", "corpGroup", "dataPlatform", "dataPlatformInstance", "ownershipType"),
        *("container", "dataHubPersona", "dataHubRole", "role"),
    )
)


@pytest.mark.parametrize("kind", KINDS, ids=[kind.urn.split(":")[2] for kind in KINDS])
def test_no_page_names_what_may_not_be_viewed(wire: Wire, kind: Kind) -> None:
    put(wire, kind.urn, kind.aspects)
    wire.configure(view=True)
    wire.close()
    # A query is visible to users who may view all its subjects, and a column with its dataset.
    about = [ORDERS] if kind.document == "page_query" else []
    grant(wire, kind.urn, *about)
    page = wire.good(document(kind.document), "eve", urn=kind.urn, edges=NO_EDGES)
    assert page["exists"] is True
    named = {urn for urn in urns_in(page) if urn.split(":")[2] not in OPEN}
    assert {urn for urn in named if urn not in kind.urn} <= {*about, *(column("id") for _ in about)}


def test_what_may_be_viewed_is_there(guarded: Wire) -> None:
    grant(guarded, ORDERS, PII, SALES)
    found = guarded.good(PAGE, "eve", urn=ORDERS, edges=NO_EDGES)
    assert found["tags"] == {"tags": [{"associatedUrn": ORDERS}]}
    assert found["domain"]["domain"] == {"urn": SALES}
    assert found["glossaryTerms"] == {"terms": []}


def test_people_platforms_and_ownership_types_are_open(guarded: Wire) -> None:
    grant(guarded, ORDERS)
    found = guarded.good(PAGE, "eve", urn=ORDERS, edges=NO_EDGES)
    assert len(found["ownership"]["owners"]) == 2
    assert found["platform"]
    assert found["dataPlatformInstance"]
    assert guarded.good(ENTITY, "eve", urn=user("ana"))


def test_what_the_operator_restricts_is_left_out_like_anything_else(guarded: Wire) -> None:
    """No field that view authorization may remove is declared non-null."""
    restricted = ("corpuser", "dataPlatform", "ownershipType", "structuredProperty", "role")
    guarded.configure(unrestricted_remove=restricted)
    grant(guarded, ORDERS)
    found = guarded.good(PAGE, "eve", urn=ORDERS, edges=NO_EDGES)
    (owner,) = found["ownership"]["owners"]
    assert owner["owner"] == {"urn": group("staff")}
    assert owner["ownershipType"] is None
    assert found["platform"] is None
    assert found["structuredProperties"] == {"properties": []}
    assert found["access"] == {"roles": []}
    (link,) = found["institutionalMemory"]["elements"]
    assert (link["author"], link["actor"], link["label"]) == (None, None, "wiki")
    assert found["deprecation"]["actorEntity"] is None


def test_entities_by_their_urns_keep_their_places(guarded: Wire) -> None:
    grant(guarded, ORDERS)
    query = "query q($urns: [String!]!) { entities(urns: $urns) { urn } }"
    urns = [SALES, ORDERS, user("ana"), "urn:li:tag:none"]
    assert guarded.good(query, "eve", urns=urns) == [
        None,
        {"urn": ORDERS},
        {"urn": user("ana")},
        None,
    ]
    many = [f"urn:li:tag:{number}" for number in range(101)]
    assert guarded.bad(query, "eve", urns=many) == (400, "BAD_REQUEST")


QUERY = "urn:li:query:q"
SUBJECTS: Json = {"subjects": [{"entity": ORDERS}, {"entity": column("id", CUSTOMERS)}]}


def test_a_query_is_shown_to_whoever_may_read_all_that_it_is_about(guarded: Wire) -> None:
    put(guarded, QUERY, {"querySubjects": SUBJECTS})
    grant(guarded, ORDERS)
    assert guarded.good(ENTITY, "eve", urn=QUERY) is None
    grant(guarded, ORDERS, CUSTOMERS)
    page = guarded.good(document("page_query"), "eve", urn=QUERY, edges=NO_EDGES)
    assert [one["dataset"]["urn"] for one in page["subjects"]] == [ORDERS, CUSTOMERS]
    listed = "query q($i: ListQueriesInput!) { listQueries(input: $i) { total queries { urn } } }"
    assert guarded.good(listed, "eve", i={"datasetUrn": CUSTOMERS})["total"] == 1
    grant(guarded, ORDERS)
    assert guarded.good(listed, "eve", i={"datasetUrn": ORDERS}) == {"total": 0, "queries": []}


def test_a_query_about_nothing_is_shown_to_nobody(guarded: Wire) -> None:
    put(guarded, QUERY, {"queryProperties": {"created": stamp(1)}})
    grant(guarded, QUERY, ORDERS)
    assert guarded.good(ENTITY, "eve", urn=QUERY) is None
    assert guarded.good(ENTITY, urn=QUERY) is None
    guarded.configure(view=False)
    assert guarded.good(ENTITY, "eve", urn=QUERY) == {"urn": QUERY}


def test_of_what_lies_above_the_caller_is_shown_what_it_may_view(guarded: Wire) -> None:
    below = "urn:li:domain:below"
    for child, above in ((below, SALES), (SALES, "urn:li:domain:all")):
        put(guarded, child, {"domainProperties": {"name": child, "parentDomain": above}})
    put(guarded, "urn:li:domain:all", {"domainProperties": {"name": "all"}})
    grant(guarded, below, "urn:li:domain:all")
    query = "query q($u: String!) { domain(urn: $u) { parentDomains { count domains { urn } } } }"
    found = guarded.good(query, "eve", u=below)["parentDomains"]
    assert found == {"count": 1, "domains": [{"urn": "urn:li:domain:all"}]}


def test_edges_lead_to_what_may_be_viewed_alone(guarded: Wire) -> None:
    put(guarded, CUSTOMERS, {"globalTags": {"tags": [{"tag": PII}]}})
    put(guarded, PII, {"tagProperties": {"name": "PII"}})
    grant(guarded, PII, CUSTOMERS)
    query = (
        "query q($u: String!, $i: RelationshipsInput!) {"
        " entity(urn: $u) { relationships(input: $i) { total relationships { entity { urn } } } } }"
    )
    input: dict[str, Any] = {"types": ["TaggedWith"], "direction": "INCOMING"}
    assert guarded.good(query, "eve", u=PII, i=input)["relationships"] == {
        "total": 1,
        "relationships": [{"entity": {"urn": CUSTOMERS}}],
    }
    assert guarded.good(query, u=PII, i=input)["relationships"]["total"] == 2


def test_aspects_as_they_are_stored_are_for_whoever_may_read_them(guarded: Wire) -> None:
    query = (
        "query q($u: String!) { entity(urn: $u) { ... on CorpUser { aspects { aspectName } } } }"
    )
    assert guarded.good(query, "eve", u=user("ana")) == {"aspects": None}
    assert guarded.good(query, "ana", u=user("ana"))["aspects"]


def test_a_policy_says_what_it_grants_to_whoever_may_list_policies(guarded: Wire) -> None:
    query = document("page_policy")
    urn = "urn:li:dataHubPolicy:admin-platform-policy"
    found = guarded.good(query, urn=urn, edges=NO_EDGES)
    assert (found["policyType"], found["state"], found["editable"]) == ("PLATFORM", "ACTIVE", False)
    assert "MANAGE_POLICIES" in found["privileges"]
    assert found["actors"]["users"] == []
    assert found["exists"] is True
    less = guarded.good(query, "eve", urn=urn, edges=NO_EDGES)
    assert less["name"] == found["name"]
    told = ("policyType", "state", "description", "resources", "privileges", "actors", "editable")
    assert [less[name] for name in told] == [None] * len(told)
