"""Policies over GraphQL: created, read back, replaced, deleted; permissions and effects."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lakewarden import models
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.request import Request
from tests.systems.datahub.http.graphql.wire import (
    BAD,
    FORBIDDEN,
    NOT_FOUND,
    REALM,
    Json,
    Wire,
    document,
    group,
    role,
    user,
)

CREATE = "mutation c($input: PolicyUpdateInput!) { createPolicy(input: $input) }"
UPDATE = """mutation u($urn: String!, $input: PolicyUpdateInput!) {
  updatePolicy(urn: $urn, input: $input)
}"""
DELETE = "mutation d($urn: String!) { deletePolicy(urn: $urn) }"
LIST = document("policies")

HIVE = "urn:li:dataset:(urn:li:dataPlatform:hive,a.b,PROD)"
OWNED = "urn:li:ownershipType:__system__data_steward"
SHIPPED = "urn:li:dataHubPolicy:admin-metadata-policy"
EDITABLE = "urn:li:dataHubPolicy:editor-metadata-policy-entities"


def actors(**members: Any) -> Json:
    return {"resourceOwners": False, "allUsers": False, "allGroups": False, **members}


def policy(**members: Any) -> Json:
    return {
        "type": "METADATA",
        "name": "Stewards",
        "state": "ACTIVE",
        "description": "who looks after it",
        "privileges": ["EDIT_ENTITY_DOCS"],
        "actors": actors(users=[user("ana")]),
        **members,
    }


def criterion(field: str, *values: str, condition: str = "EQUALS") -> Json:
    return {"field": field, "values": list(values), "condition": condition}


def matching(*criteria: Json) -> Json:
    return {"filter": {"criteria": list(criteria)}}


def list_policies(wire: Wire, **input: Any) -> Json:
    found: Json = wire.good(LIST, input={"count": 100, **input})
    return found


def read(wire: Wire, urn: str) -> Json:
    (found,) = [one for one in list_policies(wire)["policies"] if one["urn"] == urn]
    return dict(found)


def is_allowed(wire: Wire, name: str, privilege: str, urn: str = HIVE) -> bool:
    state = wire.service.state.realm(REALM)
    target = state.system.entity(urn) if urn else NO_RESOURCE
    asked = Request(state.system.principal(user(name)), privilege, target, wire.service.clock())
    return state.matrix.decide(asked).allow


def test_a_created_policy_has_a_random_urn_and_counts_at_once(wire: Wire) -> None:
    assert not is_allowed(wire, "ana", "EDIT_ENTITY_DOCS")
    urn = wire.good(CREATE, input=policy())
    assert re.fullmatch(r"urn:li:dataHubPolicy:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", urn)
    assert is_allowed(wire, "ana", "EDIT_ENTITY_DOCS")
    assert not is_allowed(wire, "bob", "EDIT_ENTITY_DOCS")
    assert wire.aspects("dataHubPolicy", urn)["dataHubPolicyKey"] == {"id": urn.split(":")[-1]}


def test_a_policy_is_read_back_as_it_was_written(wire: Wire) -> None:
    wire.put("ownershipType", OWNED, "ownershipTypeInfo", {"name": "Data Steward"})
    wire.put("domain", "urn:li:domain:sales", "domainProperties", {"name": "Sales"})
    urn = wire.good(
        CREATE,
        input=policy(
            actors=actors(
                users=[user("ana"), user("gone")],
                groups=[group("staff")],
                resourceOwners=True,
                resourceOwnersTypes=[OWNED],
            ),
            resources={
                **matching(
                    criterion("TYPE", "dataset"),
                    criterion("DOMAIN", "urn:li:domain:sales", "urn:li:domain:none"),
                    criterion(
                        "URN", "urn:li:dataset:(urn:li:dataPlatform:hive", condition="STARTS_WITH"
                    ),
                    {
                        **criterion("STRUCTURED_PROPERTY"),
                        "structuredPropertyValues": [
                            {"propertyUrn": "urn:li:structuredProperty:x", "values": ["high"]}
                        ],
                    },
                ),
                "privilegeConstraints": {
                    "criteria": [criterion("URN", "urn:li:tag:pii", condition="NOT_EQUALS")]
                },
            },
        ),
    )
    constraints = {
        "criteria": [
            {
                "field": "URN",
                "values": [{"value": "urn:li:tag:pii", "entity": None}],
                "condition": "NOT_EQUALS",
                "structuredPropertyValues": None,
            }
        ]
    }
    found = read(wire, urn)
    criteria = found["resources"].pop("filter")["criteria"]
    assert found == {
        "urn": urn,
        "type": "METADATA",
        "name": "Stewards",
        "state": "ACTIVE",
        "description": "who looks after it",
        "privileges": ["EDIT_ENTITY_DOCS"],
        "editable": True,
        "resources": {
            "type": None,
            "resources": None,
            "allResources": False,
            "privilegeConstraints": constraints,
            "policyConstraints": constraints,
        },
        "actors": {
            "users": [user("ana"), user("gone")],
            "groups": [group("staff")],
            "roles": None,
            "allUsers": False,
            "allGroups": False,
            "resourceOwners": True,
            "resourceOwnersTypes": [OWNED],
            "resourceOwnersTypesUrns": [OWNED],
            "resolvedUsers": [
                {
                    "urn": user("ana"),
                    "type": "CORP_USER",
                    "username": "ana",
                    "info": {"email": "ana@x"},
                },
                {"urn": user("gone"), "type": "CORP_USER", "username": "gone", "info": None},
            ],
            "resolvedGroups": [
                {
                    "urn": group("staff"),
                    "type": "CORP_GROUP",
                    "name": "staff",
                    "properties": {"displayName": "Staff"},
                }
            ],
            "resolvedRoles": None,
            "resolvedOwnershipTypes": [
                {
                    "urn": OWNED,
                    "type": "CUSTOM_OWNERSHIP_TYPE",
                    "info": {"name": "Data Steward", "description": None},
                }
            ],
        },
    }
    assert [(one["field"], one["condition"]) for one in criteria] == [
        ("TYPE", "EQUALS"),
        ("DOMAIN", "EQUALS"),
        ("URN", "STARTS_WITH"),
        ("STRUCTURED_PROPERTY", "EQUALS"),
    ]
    assert criteria[1]["values"] == [
        {
            "value": "urn:li:domain:sales",
            "entity": {"urn": "urn:li:domain:sales", "type": "DOMAIN"},
        },
        {"value": "urn:li:domain:none", "entity": None},
    ]
    assert criteria[3]["structuredPropertyValues"] == [
        {"propertyUrn": "urn:li:structuredProperty:x", "values": ["high"]}
    ]


def test_the_older_fields_are_kept_and_count(wire: Wire) -> None:
    other = HIVE.replace("a.b", "c.d")
    legacy = {"type": "dataset", "resources": [HIVE], "allResources": False}
    urn = wire.good(CREATE, input=policy(resources=legacy))
    assert {k: read(wire, urn)["resources"][k] for k in legacy} == legacy
    assert is_allowed(wire, "ana", "EDIT_ENTITY_DOCS", HIVE)
    assert not is_allowed(wire, "ana", "EDIT_ENTITY_DOCS", other)


def test_with_a_filter_the_older_fields_do_not_count(wire: Wire) -> None:
    other = HIVE.replace("a.b", "c.d")
    both = {"type": "chart", "resources": [HIVE], **matching(criterion("URN", other))}
    wire.good(CREATE, input=policy(resources=both))
    assert not is_allowed(wire, "ana", "EDIT_ENTITY_DOCS", HIVE)
    assert is_allowed(wire, "ana", "EDIT_ENTITY_DOCS", other)


def test_constraints_may_be_called_by_either_name_but_not_by_both(wire: Wire) -> None:
    constraint = {"criteria": [criterion("URN", "urn:li:tag:a")]}
    urn = wire.good(CREATE, input=policy(resources={"policyConstraints": constraint}))
    stored = wire.aspects("dataHubPolicy", urn)["dataHubPolicyInfo"]
    assert stored["resources"] == {"privilegeConstraints": constraint}
    both = {"policyConstraints": constraint, "privilegeConstraints": constraint}
    assert wire.bad(CREATE, input=policy(resources=both)) == BAD


@pytest.mark.parametrize("state", ["INACTIVE", "DRAFT"])
def test_only_an_active_policy_grants(wire: Wire, state: str) -> None:
    urn = wire.good(CREATE, input=policy(state=state))
    assert read(wire, urn)["state"] == state
    assert not is_allowed(wire, "ana", "EDIT_ENTITY_DOCS")


@pytest.mark.parametrize("field", ["Type", "GLOSSARY_TERM", "nothing", ""])
def test_an_unknown_field_is_refused(wire: Wire, field: str) -> None:
    before = list_policies(wire)["total"]
    assert wire.bad(CREATE, input=policy(resources=matching(criterion(field, "x")))) == BAD
    assert list_policies(wire)["total"] == before


@pytest.mark.parametrize("key", ["filter", "privilegeConstraints", "policyConstraints"])
def test_criteria_that_are_left_out_are_not_taken_for_none(wire: Wire, key: str) -> None:
    before = list_policies(wire)["total"]
    for match in ({}, {"criteria": None}):
        assert wire.bad(CREATE, input=policy(resources={key: match})) == BAD
    assert list_policies(wire)["total"] == before


def test_a_policy_needs_a_name(wire: Wire) -> None:
    assert wire.bad(CREATE, input=policy(name=" ")) == BAD


def test_an_updated_policy_is_replaced_and_counts_at_once(wire: Wire) -> None:
    urn = wire.good(CREATE, input=policy(resources=matching(criterion("TYPE", "dataset"))))
    after = policy(name="Others", privileges=["EDIT_ENTITY_TAGS"], actors=actors(allUsers=True))
    assert wire.good(UPDATE, urn=urn, input=after) == urn
    found = read(wire, urn)
    assert (found["name"], found["resources"], found["actors"]["users"]) == ("Others", None, None)
    assert is_allowed(wire, "bob", "EDIT_ENTITY_TAGS")
    assert not is_allowed(wire, "ana", "EDIT_ENTITY_DOCS")


def test_roles_stay_when_a_policy_is_updated(wire: Wire) -> None:
    """For both a default policy and a custom one."""
    value = {
        "displayName": "x",
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY"],
        "actors": actors(roles=[role("Reader")]),
    }
    written = "urn:li:dataHubPolicy:written"
    wire.put("dataHubPolicy", written, "dataHubPolicyInfo", value)
    for urn, named in ((EDITABLE, "Editor"), (written, "Reader")):
        wire.good(UPDATE, urn=urn, input=policy())
        found = read(wire, urn)
        assert found["actors"]["roles"] == [role(named)]
        assert [one["name"] for one in found["actors"]["resolvedRoles"]] == [named]
        assert found["name"] == "Stewards"


def test_constraints_that_an_update_does_not_mention_stay(wire: Wire) -> None:
    constraint = {"criteria": [criterion("URN", "urn:li:tag:a")]}
    resources = {**matching(), "privilegeConstraints": constraint}
    urn = wire.good(CREATE, input=policy(resources=resources))
    wire.good(UPDATE, urn=urn, input=policy(resources=matching(criterion("TYPE", "chart"))))
    assert len(read(wire, urn)["resources"]["privilegeConstraints"]["criteria"]) == 1
    wire.good(UPDATE, urn=urn, input=policy(resources={**matching(), "privilegeConstraints": None}))
    assert read(wire, urn)["resources"]["privilegeConstraints"] is None


def test_what_is_written_back_unchanged_stays_as_it_is(wire: Wire) -> None:
    kept = ("type", "name", "state", "description", "privileges")
    for before in list_policies(wire)["policies"]:
        if not before["editable"]:
            continue
        resources = before["resources"]
        if resources is not None:
            criteria = resources["filter"]["criteria"]
            criteria = [{**one, "values": [v["value"] for v in one["values"]]} for one in criteria]
            resources = {
                "allResources": resources["allResources"],
                "filter": {"criteria": criteria},
            }
        members = (
            "users",
            "groups",
            "resourceOwners",
            "resourceOwnersTypes",
            "allUsers",
            "allGroups",
        )
        who = {key: before["actors"][key] for key in members}
        input = {**{key: before[key] for key in kept}, "resources": resources, "actors": who}
        statement = wire.service.state.realm(REALM).matrix.snapshot.table.statements[before["urn"]]
        wire.good(UPDATE, urn=before["urn"], input=input)
        assert read(wire, before["urn"]) == before
        after = wire.service.state.realm(REALM).matrix.snapshot.table.statements[before["urn"]]
        assert after == statement


def test_a_deleted_policy_is_gone_and_grants_no_more(wire: Wire) -> None:
    urn = wire.good(CREATE, input=policy())
    assert wire.good(DELETE, urn=urn) == urn
    assert urn not in [one["urn"] for one in list_policies(wire)["policies"]]
    assert not is_allowed(wire, "ana", "EDIT_ENTITY_DOCS")
    assert wire.aspects("dataHubPolicy", urn) == {}
    assert wire.bad(DELETE, urn=urn) == NOT_FOUND
    assert wire.bad(UPDATE, urn=urn, input=policy()) == NOT_FOUND


def test_an_editable_policy_of_the_system_may_be_deleted_and_stays_away(wire: Wire) -> None:
    wire.good(DELETE, urn=EDITABLE)
    assert EDITABLE not in [one["urn"] for one in list_policies(wire)["policies"]]
    assert EDITABLE in wire.service.state.realm(REALM).realm.deleted


def test_what_comes_with_the_system_and_is_not_editable_is_refused(wire: Wire) -> None:
    before = read(wire, SHIPPED)
    assert before["editable"] is False
    assert wire.bad(UPDATE, urn=SHIPPED, input=policy()) == FORBIDDEN
    assert wire.bad(DELETE, urn=SHIPPED) == FORBIDDEN
    target = f"dataHubPolicy:{SHIPPED}"
    assert wire.audit()[-2:] == [
        ("datahub", "policy.update", target, "deny"),
        ("datahub", "policy.delete", target, "deny"),
    ]
    assert read(wire, SHIPPED) == before


def test_what_somebody_wrote_as_not_editable_is_refused_too(wire: Wire) -> None:
    urn = wire.good(CREATE, input=policy())
    value = wire.aspects("dataHubPolicy", urn)["dataHubPolicyInfo"]
    wire.put("dataHubPolicy", urn, "dataHubPolicyInfo", {**value, "editable": False})
    assert wire.bad(DELETE, urn=urn) == FORBIDDEN


@pytest.mark.parametrize("urn", ["x", "", "urn:li:dataHubPolicy:", user("ana")])
def test_what_is_no_policy_is_refused(wire: Wire, urn: str) -> None:
    assert wire.bad(DELETE, urn=urn) == BAD
    assert wire.bad(UPDATE, urn=urn, input=policy()) == BAD


def test_nobody_without_the_right_manages_policies(wire: Wire) -> None:
    urn = wire.good(CREATE, input=policy())
    assert wire.bad(CREATE, "ana", input=policy()) == FORBIDDEN
    assert wire.bad(UPDATE, "ana", urn=urn, input=policy()) == FORBIDDEN
    assert wire.bad(DELETE, "ana", urn=urn) == FORBIDDEN
    assert wire.bad(LIST, "ana", input={}) == FORBIDDEN
    assert urn in [one["urn"] for one in list_policies(wire)["policies"]]


def test_somebody_without_the_right_learns_nothing_of_what_is_there(wire: Wire) -> None:
    assert wire.bad(DELETE, "ana", urn="urn:li:dataHubPolicy:none") == FORBIDDEN
    assert wire.bad(DELETE, "ana", urn=SHIPPED) == FORBIDDEN


def test_the_right_counts_from_the_next_request_and_until_it_is_gone(wire: Wire) -> None:
    urn = wire.good(CREATE, input=policy(type="PLATFORM", privileges=["MANAGE_POLICIES"]))
    made = wire.good(CREATE, "ana", input=policy(name="mine"))
    assert read(wire, made)["name"] == "mine"
    wire.good(DELETE, "ana", urn=urn)
    assert wire.bad(CREATE, "ana", input=policy()) == FORBIDDEN


def test_a_metadata_policy_on_the_type_of_policies_gives_the_right_too(wire: Wire) -> None:
    about = matching(criterion("TYPE", "dataHubPolicy"))
    wire.good(CREATE, input=policy(privileges=["MANAGE_POLICIES"], resources=about))
    assert wire.good(CREATE, "ana", input=policy()).startswith("urn:li:dataHubPolicy:")


def test_mutations_are_audited_whether_or_not_they_were_allowed(wire: Wire) -> None:
    urn = wire.good(CREATE, input=policy())
    wire.bad(DELETE, "ana", urn=urn)
    wire.good(UPDATE, urn=urn, input=policy())
    wire.good(DELETE, urn=urn)
    target = f"dataHubPolicy:{urn}"
    assert wire.audit()[-4:] == [
        ("datahub", "policy.create", "dataHubPolicy", "allow"),
        ("ana", "policy.delete", target, "deny"),
        ("datahub", "policy.update", target, "allow"),
        ("datahub", "policy.delete", target, "allow"),
    ]


def test_a_mutation_that_makes_no_sense_leaves_nothing_behind(wire: Wire) -> None:
    before = wire.service.state.revision, wire.audit()
    wire.bad(CREATE, input=policy(resources=matching(criterion("nothing", "x"))))
    assert (wire.service.state.revision, wire.audit()) == before


def test_everything_that_comes_with_the_system_is_listed(wire: Wire) -> None:
    shipped = {
        str(table["id"])
        for table in models.load("datahub").defaults
        if "current" in str(table.get("set", ""))
    }
    found = list_policies(wire)
    assert {one["urn"] for one in found["policies"]} == shipped
    assert found["total"] == len(shipped)
    types = {one["urn"].split(":")[-1]: one["type"] for one in found["policies"]}
    assert (types["7"], types["view-entity-page-all"]) == ("PLATFORM", "METADATA")


def test_what_was_changed_last_comes_first(wire: Wire) -> None:
    ticks = iter(range(1_000_000_000, 1_000_001_000, 10))
    wire.service.clock = lambda: float(next(ticks))
    first, second = (wire.good(CREATE, input=policy(name=name)) for name in ("a", "b"))
    assert [one["urn"] for one in list_policies(wire)["policies"]][:2] == [second, first]
    wire.good(UPDATE, urn=first, input=policy(name="c"))
    assert [one["urn"] for one in list_policies(wire)["policies"]][:2] == [first, second]


def test_pages_are_full_and_totals_exact(wire: Wire) -> None:
    total = list_policies(wire)["total"]
    assert total > 12
    urns: list[str] = []
    for start in range(0, total, 5):
        found = list_policies(wire, start=start, count=5)
        assert (found["start"], found["total"]) == (start, total)
        assert found["count"] == len(found["policies"]) == min(5, total - start)
        urns += [one["urn"] for one in found["policies"]]
    assert len(set(urns)) == total
    assert list_policies(wire, start=total)["policies"] == []
    assert len(wire.good(LIST, input={})["policies"]) == min(20, total)


@pytest.mark.parametrize("input", [{"start": -1}, {"count": -1}, {"count": 101}])
def test_a_page_that_cannot_be_is_refused(wire: Wire, input: Json) -> None:
    assert wire.bad(LIST, input=input) == BAD


def test_policies_are_found_by_words_of_name_and_description(wire: Wire) -> None:
    urn = wire.good(CREATE, input=policy())
    for words in ("stewards", "LOOKS after", "Stew who"):
        assert [one["urn"] for one in list_policies(wire, query=words)["policies"]] == [urn]
    assert list_policies(wire, query="stewards nothing")["total"] == 0
    assert (
        list_policies(wire, query="*")["total"]
        == list_policies(wire)["total"]
        == list_policies(wire, query="")["total"]
    )


def equal(field: str, *values: str, **members: Any) -> Json:
    return {"and": [{"field": field, "values": list(values), "condition": "EQUAL", **members}]}


def test_policies_are_filtered_by_state_and_by_being_editable(wire: Wire) -> None:
    urn = wire.good(CREATE, input=policy(state="INACTIVE"))
    everything = list_policies(wire)["total"]
    off = list_policies(wire, orFilters=[equal("state", "INACTIVE")])
    assert ([one["urn"] for one in off["policies"]], off["total"]) == ([urn], 1)
    assert list_policies(wire, orFilters=[equal("state", "ACTIVE")])["total"] == everything - 1
    assert list_policies(wire, orFilters=[equal("state", "ACTIVE", negated=True)])["total"] == 1
    fixed = list_policies(wire, orFilters=[equal("editable", "false")])
    assert {one["editable"] for one in fixed["policies"]} == {False}
    either = [equal("state", "INACTIVE"), equal("editable", "false")]
    assert list_policies(wire, orFilters=either)["total"] == fixed["total"] + 1
    both = [{"and": either[0]["and"] + either[1]["and"]}]
    assert list_policies(wire, orFilters=both)["total"] == 0


def test_other_filters_are_refused(wire: Wire) -> None:
    assert wire.bad(LIST, input={"orFilters": [equal("type", "METADATA")]}) == BAD


def test_words_that_the_schema_has_not_do_not_break_the_list(wire: Wire) -> None:
    value = {
        "displayName": "odd",
        "description": "",
        "type": "PLATFORM",
        "state": "PAUSED",
        "privileges": ["NO_SUCH_PRIVILEGE", "MANAGE_TAGS"],
        "actors": actors(users=["urn:li:corpuser:ana", "nobody"]),
        "resources": matching({"field": "X", "values": ["y"], "condition": "LIKE"}),
    }
    urn = "urn:li:dataHubPolicy:odd"
    wire.put("dataHubPolicy", urn, "dataHubPolicyInfo", value)
    found = read(wire, urn)
    assert found["state"] == "INACTIVE"
    assert found["privileges"] == ["NO_SUCH_PRIVILEGE", "MANAGE_TAGS"]
    assert [one["username"] for one in found["actors"]["resolvedUsers"]] == ["ana"]
    assert not is_allowed(wire, "ana", "MANAGE_TAGS", "")


def test_a_policy_written_past_graphql_is_listed_as_it_is(wire: Wire) -> None:
    entity = Entity("dataHubPolicy", "urn:li:dataHubPolicy:1")
    assert read(wire, entity.name)["actors"]["users"] == [user("datahub")]
