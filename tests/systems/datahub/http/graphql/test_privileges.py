"""The permissions that callers may read: their own, and others' if permitted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.datahub.http.graphql.test_policies import (
    CREATE,
    DELETE,
    HIVE,
    actors,
    criterion,
    matching,
    policy,
)
from tests.systems.datahub.http.graphql.wire import (
    BAD,
    FORBIDDEN,
    ROOT,
    Json,
    Wire,
    document,
    group,
    role,
    user,
)

ME = document("me")
PRIVILEGES = document("privileges")
GRANTED = """query granted($input: GetGrantedPrivilegesInput!) {
  getGrantedPrivileges(input: $input) { privileges evaluationDetails { policyName reason } }
}"""
DEBUG = """query debug($urn: String!) {
  debugAccess(userUrn: $urn) {
    roles groups groupsWithRoles rolesViaGroups allRoles policies privileges
  }
}"""


def granted(wire: Wire, name: str, by: str = ROOT, **input: Any) -> Json:
    found: Json = wire.good(GRANTED, by, input={"actorUrn": user(name), **input})
    return found


def resource_input(urn: str, type: str = "DATASET") -> Json:
    return {"resourceSpec": {"resourceType": type, "resourceUrn": urn}}


def test_everybody_is_told_who_one_is(wire: Wire) -> None:
    found = wire.good(ME, "bob")
    assert found["corpUser"]["urn"] == user("bob")
    assert found["corpUser"]["info"]["email"] == "bob@x"
    edges = found["corpUser"]["groups"]["relationships"]
    assert edges == [{"entity": {"urn": group("staff"), "name": "staff"}}]
    assert wire.good(ME, "eve")["corpUser"]["info"] is None


def test_platform_privileges_are_those_of_the_caller(wire: Wire) -> None:
    allowed = {name for name, held in wire.good(ME, "ana")["platformPrivileges"].items() if held}
    assert allowed == {"viewAnalytics", "generatePersonalAccessTokens"}
    root = wire.good(ME)["platformPrivileges"]
    assert {name for name, held in root.items() if not held} == {
        "viewMetadataProposals",
        "viewManageTags",
    }


@pytest.mark.parametrize(
    ("privilege", "member"),
    [
        ("MANAGE_POLICIES", "managePolicies"),
        ("MANAGE_USERS_AND_GROUPS", "manageIdentities"),
        ("MANAGE_ACCESS_TOKENS", "manageTokens"),
        ("CREATE_TAGS", "createTags"),
        ("VIEW_TESTS", "viewTests"),
        ("MANAGE_DOMAINS", "manageDomains"),
    ],
)
def test_a_platform_privilege_is_told_when_it_is_granted(
    wire: Wire, privilege: str, member: str
) -> None:
    assert wire.good(ME, "ana")["platformPrivileges"][member] is False
    wire.good(CREATE, input=policy(type="PLATFORM", privileges=[privilege]))
    assert wire.good(ME, "ana")["platformPrivileges"][member] is True


def test_the_right_to_manage_a_type_is_told_as_its_mutations_ask_for_it(wire: Wire) -> None:
    manages = ["EDIT_ENTITY", "DELETE_ENTITY"]
    properties = matching(criterion("TYPE", "structuredProperty"))
    wire.good(CREATE, input=policy(privileges=manages, resources=properties))
    told = wire.good(ME, "ana")["platformPrivileges"]
    assert told["manageStructuredProperties"] is True
    assert told["manageApplications"] is False


def test_one_may_ask_for_ones_own_privileges(wire: Wire) -> None:
    wire.good(CREATE, input=policy(resources=matching(criterion("URN", HIVE))))
    assert "EDIT_ENTITY_DOCS" in granted(wire, "ana", "ana", **resource_input(HIVE))["privileges"]
    assert "EDIT_ENTITY_DOCS" not in granted(wire, "ana", "ana")["privileges"]
    other = HIVE.replace("a.b", "c.d")
    assert (
        "EDIT_ENTITY_DOCS" not in granted(wire, "ana", "ana", **resource_input(other))["privileges"]
    )


def test_without_a_resource_the_platform_is_asked_about(wire: Wire) -> None:
    found = granted(wire, "ana", "ana")["privileges"]
    assert {"VIEW_ANALYTICS", "GENERATE_PERSONAL_ACCESS_TOKENS"} <= set(found)
    assert "MANAGE_POLICIES" not in found
    assert "MANAGE_POLICIES" in granted(wire, ROOT)["privileges"]


def test_a_type_alone_may_be_asked_about(wire: Wire) -> None:
    typed = matching(criterion("TYPE", "dataHubPolicy"))
    wire.good(CREATE, input=policy(privileges=["MANAGE_POLICIES"], resources=typed))
    found = granted(wire, "ana", "ana", **resource_input("", "DATAHUB_POLICY"))["privileges"]
    assert "MANAGE_POLICIES" in found
    assert wire.bad(GRANTED, input={"actorUrn": user("ana"), **resource_input("", "OTHER")}) == BAD


def test_others_privileges_take_the_right_to_manage_policies(wire: Wire) -> None:
    asked = {"actorUrn": user("bob")}
    assert wire.bad(GRANTED, "ana", input=asked) == FORBIDDEN
    wire.good(CREATE, input=policy(type="PLATFORM", privileges=["MANAGE_POLICIES"]))
    assert wire.good(GRANTED, "ana", input=asked)["privileges"]


def test_the_type_that_is_named_must_be_that_of_the_urn(wire: Wire) -> None:
    asked = {"actorUrn": user("ana"), **resource_input(HIVE, "CHART")}
    assert wire.bad(GRANTED, input=asked) == BAD


def test_only_users_are_asked_about(wire: Wire) -> None:
    assert wire.bad(GRANTED, input={"actorUrn": group("staff")}) == BAD
    assert wire.bad(GRANTED, input={"actorUrn": "ana"}) == BAD


def test_why_policies_did_not_apply_is_said_to_whoever_manages_policies(wire: Wire) -> None:
    on_hive = matching(criterion("URN", HIVE))
    policies: dict[str, Json] = {
        "off": {"state": "INACTIVE"},
        "draft": {"state": "DRAFT"},
        "elsewhere": {"resources": matching(criterion("TYPE", "chart"))},
        "others": {"actors": actors(users=[user("bob")])},
        "owners": {"actors": actors(resourceOwners=True)},
        "applies": {"resources": on_hive},
    }
    for name, members in policies.items():
        wire.good(CREATE, input=policy(name=name, **members))
    asked = {**resource_input(HIVE), "includeEvaluationDetails": True}
    details = granted(wire, "ana", **asked)["evaluationDetails"]
    told = {one["policyName"]: one["reason"] for one in details}
    names = ("off", "draft", "elsewhere", "others", "owners", "applies")
    assert {name: told.get(name) for name in names} == {
        "off": "Inactive Policy",
        "draft": "Inactive Policy",
        "elsewhere": "Resource does not match",
        "others": "Actor did not match",
        "owners": "Actor did not match",
        "applies": None,
    }
    assert granted(wire, "ana", "ana", **asked)["evaluationDetails"] is None
    assert granted(wire, "ana", **resource_input(HIVE))["evaluationDetails"] is None


def test_an_owner_for_whom_a_policy_is_elsewhere_is_told_of_the_resource(wire: Wire) -> None:
    owner = {"owners": [{"owner": user("ana"), "type": "NONE"}]}
    wire.put("dataset", HIVE, "ownership", owner)
    charts = matching(criterion("TYPE", "chart"))
    for name, resources in (("charts", charts), ("all", None)):
        owners = policy(name=name, actors=actors(resourceOwners=True), resources=resources)
        wire.good(CREATE, input=owners)
    asked = {**resource_input(HIVE), "includeEvaluationDetails": True}
    told = {
        one["policyName"]: one["reason"]
        for one in granted(wire, "ana", **asked)["evaluationDetails"]
    }
    assert told["charts"] == "Resource does not match"
    assert "all" not in told


def test_a_users_access_is_told_with_all_that_it_comes_from(wire: Wire) -> None:
    wire.put("corpuser", user("bob"), "roleMembership", {"roles": [role("Reader")]})
    wire.put("corpGroup", group("staff"), "roleMembership", {"roles": [role("Editor")]})
    mine = wire.good(CREATE, input=policy(actors=actors(groups=[group("staff")])))
    off = wire.good(CREATE, input=policy(actors=actors(users=[user("bob")]), state="INACTIVE"))
    found = wire.good(DEBUG, urn=user("bob"))
    policies, privileges = found.pop("policies"), found.pop("privileges")
    assert found == {
        "roles": [role("Reader")],
        "groups": [group("staff")],
        "groupsWithRoles": [group("staff")],
        "rolesViaGroups": [role("Editor")],
        "allRoles": [role("Editor"), role("Reader")],
    }
    assert mine in policies
    assert off not in policies
    assert {"urn:li:dataHubPolicy:7", "urn:li:dataHubPolicy:editor-metadata-policy"} <= set(
        policies
    )
    assert "EDIT_ENTITY_DOCS" in privileges
    assert "MANAGE_POLICIES" not in privileges


def test_access_is_told_to_whoever_manages_identities_alone(wire: Wire) -> None:
    assert wire.bad(DEBUG, "ana", urn=user("ana")) == FORBIDDEN
    wire.good(CREATE, input=policy(type="PLATFORM", privileges=["MANAGE_USERS_AND_GROUPS"]))
    assert wire.good(DEBUG, "ana", urn=user("bob"))["groups"] == [group("staff")]
    assert wire.bad(DEBUG, urn=group("staff")) == BAD


def test_what_one_may_do_with_an_entity(wire: Wire) -> None:
    wire.put("dataset", HIVE, "status", {"removed": False})
    before = wire.good(PRIVILEGES, "ana", urn=HIVE)
    assert (before["urn"], before["type"]) == (HIVE, "DATASET")
    views = {
        "canViewDatasetUsage",
        "canViewDatasetProfile",
        "canViewDatasetOperations",
        "canViewEntityPage",
    }
    assert {name for name, held in before["privileges"].items() if held} == views
    names = ["EDIT_ENTITY_DOCS", "EDIT_DATASET_COL_TAGS"]
    wire.good(CREATE, input=policy(privileges=names, resources=matching(criterion("URN", HIVE))))
    after = wire.good(PRIVILEGES, "ana", urn=HIVE)
    held = {name for name, held in after["privileges"].items() if held}
    assert held == {*views, "canEditDescription", "canEditSchemaFieldTags"}


def test_an_owner_of_an_entity_may_do_nearly_everything_with_it(wire: Wire) -> None:
    owner = {"owners": [{"owner": user("ana"), "type": "NONE"}]}
    wire.put("dataset", HIVE, "ownership", owner)
    found = wire.good(PRIVILEGES, "ana", urn=HIVE)["privileges"]
    assert {name for name, held in found.items() if not held} == {
        "canManageChildren",
        "canManageEntity",
        "canProposeCreateGlossaryNode",
        "canProposeCreateGlossaryTerm",
        "canShareEntity",
    }


def test_children_of_a_glossary_group_are_managed_by_their_own_right(wire: Wire) -> None:
    node = "urn:li:glossaryNode:n"
    wire.put("glossaryNode", node, "glossaryNodeInfo", {"definition": "x"})
    children = policy(
        privileges=["MANAGE_GLOSSARY_CHILDREN"], resources=matching(criterion("URN", node))
    )
    wire.good(CREATE, input=children)
    found = wire.good(PRIVILEGES, "ana", urn=node)["privileges"]
    assert (found["canManageChildren"], found["canManageEntity"]) == (True, False)


def test_what_is_not_there_or_not_shown_is_null(wire: Wire) -> None:
    assert wire.good(PRIVILEGES, urn=HIVE) is None
    wire.put("dataset", HIVE, "status", {"removed": False})
    wire.configure(view=True)
    assert wire.good(PRIVILEGES, "eve", urn=HIVE) is not None
    for id in ("view-entity-page-all", "asset-owners-metadata-policy"):
        wire.good(DELETE, urn=f"urn:li:dataHubPolicy:{id}")
    assert wire.good(PRIVILEGES, "eve", urn=HIVE) is None
    wire.configure(view=False)
    assert wire.good(PRIVILEGES, "eve", urn=HIVE) is not None


def test_without_policies_everybody_may_and_it_is_audited(wire: Wire) -> None:
    wire.configure(policies=False)
    assert wire.good(CREATE, "eve", input=policy())
    assert wire.audit()[-1] == ("eve", "policy.create", "dataHubPolicy", "allow")
    assert wire.audit_rows()[-1]["reason"] == "policies are off"
    assert all(wire.good(ME, "eve")["platformPrivileges"].values())
    assert wire.bad(DELETE, "eve", urn="urn:li:dataHubPolicy:0") == FORBIDDEN
