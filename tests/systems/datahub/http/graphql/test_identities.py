"""Users, groups and roles over GraphQL: read, listed, changed, each allowed and denied."""

from __future__ import annotations

from typing import Any

import pytest

from lakewarden.kernel.change import MembershipChanged, PrincipalChanged
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.service.actor import SYSTEM
from lakewarden.service.realm import people_of
from tests.systems.datahub.http.graphql.test_policies import (
    CREATE,
    actors,
    criterion,
    matching,
    policy,
)
from tests.systems.datahub.http.graphql.wire import (
    BAD,
    CONFLICT,
    FORBIDDEN,
    NOT_FOUND,
    REALM,
    ROOT,
    Json,
    Wire,
    document,
    group,
    role,
    user,
)

PEOPLE = document("people")
USERS = """query users($input: ListUsersInput!) {
  listUsers(input: $input) { start count total users { urn username } }
}"""
GROUPS = """query groups($input: ListGroupsInput!) {
  listGroups(input: $input) { start count total groups { urn name properties { displayName } } }
}"""
ROLES = """query roles($input: ListRolesInput!) {
  listRoles(input: $input) { start count total roles { urn type name description } }
}"""
ASSIGN = "mutation a($input: BatchAssignRoleInput!) { batchAssignRole(input: $input) }"
MAKE = "mutation m($input: CreateGroupInput!) { createGroup(input: $input) }"
DROP = "mutation d($urn: String!) { removeGroup(urn: $urn) }"
ADD = "mutation a($input: AddGroupMembersInput!) { addGroupMembers(input: $input) }"
TAKE = "mutation t($input: RemoveGroupMembersInput!) { removeGroupMembers(input: $input) }"
REMOVE = "mutation r($urn: String!) { removeUser(urn: $urn) }"
STATUS = """mutation s($urn: String!, $status: CorpUserStatus!) {
  updateUserStatus(urn: $urn, status: $status)
}"""

STAFF = group("staff")


def grant(wire: Wire, *privileges: str, by: str = "ana", **members: Any) -> None:
    """Grants platform privileges, or metadata privileges if there are resources."""
    type = "METADATA" if "resources" in members else "PLATFORM"
    who = actors(users=[user(by)])
    wire.good(CREATE, input=policy(type=type, privileges=list(privileges), actors=who, **members))


def relationships_input(*types: str, direction: str = "OUTGOING", **page: int) -> Json:
    return {"types": list(types), "direction": direction, **page}


def edges(wire: Wire, urn: str, input: Json, by: str = ROOT) -> list[tuple[str, str]]:
    query = """query e($urn: String!, $input: RelationshipsInput!) {
      entity(urn: $urn) {
        ... on CorpUser { relationships(input: $input) { ...all } }
        ... on CorpGroup { relationships(input: $input) { ...all } }
        ... on DataHubRole { relationships(input: $input) { ...all } }
      }
    }
    fragment all on EntityRelationshipsResult { relationships { type entity { urn } } }"""
    found = wire.good(query, by, urn=urn, input=input)["relationships"]["relationships"]
    return [(one["type"], one["entity"]["urn"]) for one in found]


ALL = ("IsMemberOfGroup", "IsMemberOfNativeGroup", "IsMemberOfRole")


def test_people_are_shown_with_all_that_is_known_of_them(wire: Wire) -> None:
    about = {
        "active": True,
        "displayName": "Bob B",
        "email": "bob@corp.test",
        "title": "Analyst",
        "departmentId": 7,
        "departmentName": "Sales",
        "firstName": "Bob",
        "lastName": "B",
        "fullName": "Bob B",
        "countryCode": "de",
    }
    own = {
        "displayName": "Bobby",
        "title": "x",
        "aboutMe": "me",
        "teams": ["a"],
        "skills": ["b"],
        "slack": "bob",
        "phone": "1",
        "email": "b@x",
        "pictureLink": "https://corp.test/bob.png",
    }
    wire.put("corpuser", user("bob"), "corpUserInfo", about)
    wire.put("corpuser", user("bob"), "corpUserEditableInfo", own)
    wire.put("corpuser", user("bob"), "corpUserStatus", {"status": "ACTIVE"})
    wire.put("corpuser", user("bob"), "roleMembership", {"roles": [role("Reader")]})
    answer = wire.ask(
        PEOPLE,
        user=user("bob"),
        group=STAFF,
        role=role("Reader"),
        all=relationships_input(*ALL),
        back=relationships_input(*ALL, direction="INCOMING"),
    )
    assert "errors" not in answer
    bob: Json = {"urn": user("bob"), "type": "CORP_USER", "username": "bob"}
    staff = {"urn": STAFF, "type": "CORP_GROUP", "name": "staff"}
    reader = {"urn": role("Reader"), "type": "DATAHUB_ROLE", "name": "Reader"}

    def result(direction: str, *found: tuple[str, Json]) -> Json:
        shown = [
            {"type": t, "direction": direction, "entity": entity, "created": None}
            for t, entity in found
        ]
        numbers = {"start": 0, "count": len(found), "total": len(found)}
        return {**numbers, "relationships": shown}

    assert answer["data"]["corpUser"] == {
        **bob,
        "exists": True,
        "isNativeUser": False,
        "settings": None,
        "status": "ACTIVE",
        "properties": about,
        "info": about,
        "editableProperties": own,
        "relationships": result(
            "OUTGOING", ("IsMemberOfNativeGroup", staff), ("IsMemberOfRole", reader)
        ),
    }
    assert answer["data"]["corpGroup"] == {
        **staff,
        "exists": True,
        "properties": {"displayName": "Staff", "description": None, "email": None, "slack": None},
        "info": {"displayName": "Staff"},
        "relationships": result("INCOMING", ("IsMemberOfNativeGroup", bob)),
    }
    assert answer["data"]["dataHubRole"] == {
        **reader,
        "exists": True,
        "description": "reads",
        "relationships": result("INCOMING", ("IsMemberOfRole", bob)),
    }


def test_memberships_are_told_apart_by_the_aspect_that_states_them(wire: Wire) -> None:
    wire.put("corpuser", user("cid"), "groupMembership", {"groups": [STAFF]})
    native, other = ("IsMemberOfNativeGroup", user("bob")), ("IsMemberOfGroup", user("cid"))
    assert edges(wire, STAFF, relationships_input(*ALL, direction="INCOMING")) == [other, native]
    assert edges(wire, STAFF, relationships_input("IsMemberOfGroup", direction="INCOMING")) == [
        other
    ]
    assert edges(
        wire, STAFF, relationships_input("IsMemberOfNativeGroup", direction="INCOMING")
    ) == [native]
    assert edges(wire, STAFF, relationships_input("OwnedBy", direction="INCOMING")) == []
    assert edges(wire, user("cid"), relationships_input("IsMemberOfNativeGroup")) == []
    assert edges(
        wire, STAFF, relationships_input(*ALL, start=1, count=1, direction="INCOMING")
    ) == [native]


def test_whoever_is_not_there_is_null(wire: Wire) -> None:
    urns = {"user": user("no"), "group": group("no"), "role": role("no")}
    none = relationships_input(*ALL)
    answer = wire.ask(PEOPLE, **urns, all=none, back=none)
    assert answer == {"data": {"corpUser": None, "corpGroup": None, "dataHubRole": None}}


def test_everybody_may_list_the_users(wire: Wire) -> None:
    found = wire.good(USERS, "eve", input={})
    names = ["ana", "bob", "cid", ROOT]
    assert [one["username"] for one in found["users"]] == names
    assert (found["start"], found["count"], found["total"]) == (0, 4, 4)
    second = wire.good(USERS, "eve", input={"start": 1, "count": 2})
    assert [one["username"] for one in second["users"]] == names[1:3]
    assert (second["count"], second["total"]) == (2, 4)


def test_users_are_found_by_what_is_known_of_them(wire: Wire) -> None:
    wire.put("corpuser", user("cid"), "corpUserInfo", {"active": True, "fullName": "Cid Campeador"})
    for words in ("campeador", "CID camp"):
        found = wire.good(USERS, input={"query": words})
        assert [one["username"] for one in found["users"]] == ["cid"]
    assert wire.good(USERS, input={"query": "bob@x"})["total"] == 1
    assert wire.good(USERS, input={"query": "nobody"})["total"] == 0


def test_people_of_the_directory_are_users_too(wire: Wire) -> None:
    eve, crew = Principal(USER, "eve"), Principal(GROUP, "crew")
    people = (
        PrincipalChanged(eve, True),
        PrincipalChanged(crew, True),
        MembershipChanged(MembershipRow(eve, crew), True),
    )
    wire.service.write(SYSTEM, lambda transaction: transaction.change(people_of("main"), *people))
    assert wire.good(USERS, input={})["total"] == 5
    assert wire.good(GROUPS, input={})["total"] == 2
    assert edges(wire, user("eve"), relationships_input(*ALL)) == [
        ("IsMemberOfGroup", group("crew"))
    ]
    taken = {"groupUrn": group("crew"), "userUrns": [user("eve")]}
    for _ in range(2):
        assert wire.bad(REMOVE, urn=user("eve")) == BAD
        assert wire.bad(DROP, urn=group("crew")) == BAD
        assert wire.bad(TAKE, input=taken) == BAD
        # Their stored aspects do not change that.
        wire.put("corpuser", user("eve"), "corpUserInfo", {"active": True})
        wire.put("corpGroup", group("crew"), "corpGroupInfo", {"displayName": "Crew"})
    wire.good(ADD, input=taken)
    assert wire.bad(TAKE, input=taken) == BAD
    assert ("IsMemberOfNativeGroup", group("crew")) in edges(
        wire, user("eve"), relationships_input(*ALL)
    )


def test_groups_are_listed_to_whoever_manages_identities_alone(wire: Wire) -> None:
    staff = {"urn": STAFF, "name": "staff", "properties": {"displayName": "Staff"}}
    assert wire.good(GROUPS, input={})["groups"] == [staff]
    assert wire.bad(GROUPS, "ana", input={}) == FORBIDDEN
    grant(wire, "UPDATE_USERS", "UPDATE_GROUPS")
    assert wire.good(GROUPS, "ana", input={})["groups"] == [staff]


def test_everybody_may_list_the_roles(wire: Wire) -> None:
    wire.put("dataHubRole", role("Own"), "dataHubRoleInfo", {"name": "Own", "description": "ours"})
    found = wire.good(ROLES, "eve", input={})
    assert [one["name"] for one in found["roles"]] == ["Admin", "Editor", "Own", "Reader"]
    assert found["roles"][2]["description"] == "ours"
    assert wire.good(ROLES, "eve", input={"query": "ours"})["total"] == 1


def test_a_role_that_is_assigned_replaces_those_that_were(wire: Wire) -> None:
    both = [user("ana"), STAFF]
    assert wire.good(ASSIGN, input={"roleUrn": role("Reader"), "actors": both}) is True
    assert wire.good(ASSIGN, input={"roleUrn": role("Editor"), "actors": both}) is True
    for type, urn in (("corpuser", user("ana")), ("corpGroup", STAFF)):
        assert wire.aspects(type, urn)["roleMembership"] == {"roles": [role("Editor")]}
        assert edges(wire, urn, relationships_input("IsMemberOfRole")) == [
            ("IsMemberOfRole", role("Editor"))
        ]
    assert wire.good(ASSIGN, input={"roleUrn": None, "actors": both}) is True
    assert edges(wire, STAFF, relationships_input("IsMemberOfRole")) == []
    assert wire.aspects("corpGroup", STAFF)["roleMembership"] == {"roles": []}


def test_a_role_counts_at_once(wire: Wire) -> None:
    assert wire.bad(CREATE, "bob", input=policy()) == FORBIDDEN
    wire.good(ASSIGN, input={"roleUrn": role("Admin"), "actors": [STAFF]})
    assert wire.good(CREATE, "bob", input=policy())


def test_a_role_that_is_not_there_is_not_assigned(wire: Wire) -> None:
    asked = {"roleUrn": role("None"), "actors": [user("ana")]}
    assert wire.bad(ASSIGN, input=asked) == NOT_FOUND
    assert wire.bad(ASSIGN, input={**asked, "roleUrn": STAFF}) == BAD


def test_actors_that_are_not_there_are_left_out(wire: Wire) -> None:
    odd = ["x", user("no"), role("Admin"), "urn:li:tag:a", user("ana"), user("ana")]
    assert wire.good(ASSIGN, input={"roleUrn": role("Reader"), "actors": odd}) is True
    holders = edges(
        wire, role("Reader"), relationships_input("IsMemberOfRole", direction="INCOMING")
    )
    assert holders == [("IsMemberOfRole", user("ana"))]
    assert wire.aspects("corpuser", user("no")) == {}


def test_only_who_manages_policies_assigns_roles(wire: Wire) -> None:
    asked = {"roleUrn": role("Admin"), "actors": [user("ana")]}
    assert wire.bad(ASSIGN, "ana", input=asked) == FORBIDDEN
    grant(wire, "MANAGE_USERS_AND_GROUPS")
    assert wire.bad(ASSIGN, "ana", input=asked) == FORBIDDEN
    assert wire.audit()[-1] == ("ana", "role.assign", "dataHubPolicy", "deny")
    grant(wire, "MANAGE_POLICIES")
    assert wire.good(ASSIGN, "ana", input=asked) is True


def test_a_group_is_made_and_removed(wire: Wire) -> None:
    made = wire.good(MAKE, input={"id": "crew", "name": "Crew", "description": "on board"})
    assert made == group("crew")
    about = wire.aspects("corpGroup", made)["corpGroupInfo"]
    assert (about["displayName"], about["description"]) == ("Crew", "on board")
    assert wire.bad(MAKE, input={"id": "crew", "name": "Crew"}) == CONFLICT
    assert wire.good(DROP, urn=made) is True
    assert wire.aspects("corpGroup", made) == {}
    assert wire.bad(DROP, urn=made) == NOT_FOUND


def test_a_group_without_an_id_has_a_random_one(wire: Wire) -> None:
    one, other = (wire.good(MAKE, input={"name": "Crew"}) for _ in range(2))
    assert one != other


@pytest.mark.parametrize("input", [{"name": ""}, {"id": "", "name": "x"}, {"id": " ", "name": "x"}])
def test_a_group_needs_a_name_and_a_sound_id(wire: Wire, input: Json) -> None:
    assert wire.bad(MAKE, input=input) == BAD


def test_a_group_made_again_has_not_the_members_of_the_old_one(wire: Wire) -> None:
    wire.put("corpuser", user("cid"), "groupMembership", {"groups": [STAFF]})
    grant(wire, "MANAGE_TAGS", by="ana")
    wire.good(DROP, urn=STAFF)
    wire.good(MAKE, input={"id": "staff", "name": "Staff"})
    assert edges(wire, STAFF, relationships_input(*ALL, direction="INCOMING")) == []
    assert wire.aspects("corpuser", user("bob"))["nativeGroupMembership"] == {"nativeGroups": []}


def test_who_has_the_name_of_a_removed_user_or_group_owns_nothing_by_it(wire: Wire) -> None:
    table = "urn:li:dataset:(urn:li:dataPlatform:hive,a.b,PROD)"
    owners = [{"owner": urn, "type": "NONE"} for urn in (user("bob"), STAFF, user("ana"))]
    wire.put("dataset", table, "ownership", {"owners": owners})
    wire.good(REMOVE, urn=user("bob"))
    wire.good(DROP, urn=STAFF)
    assert wire.aspects("dataset", table)["ownership"]["owners"] == owners[2:]
    wire.put("corpuser", user("bob"), "corpUserInfo", {"active": True})
    state = wire.service.state.realm(REALM)
    assert not state.matrix.snapshot.subject(state.system.principal(user("bob"))).owned


def test_groups_are_made_and_removed_by_whoever_manages_identities(wire: Wire) -> None:
    asked = {"id": "crew", "name": "Crew"}
    assert wire.bad(MAKE, "ana", input=asked) == FORBIDDEN
    assert wire.bad(DROP, "ana", urn=STAFF) == FORBIDDEN
    grant(wire, "MANAGE_USERS_AND_GROUPS")
    assert wire.good(MAKE, "ana", input=asked) == group("crew")
    assert wire.good(DROP, "ana", urn=STAFF) is True


def members(*names: str, of: str = STAFF) -> Json:
    return {"groupUrn": of, "userUrns": [user(name) for name in names]}


def test_members_are_added_to_a_group_and_removed_from_it(wire: Wire) -> None:
    assert wire.good(ADD, input=members("ana", "bob")) is True
    incoming = relationships_input("IsMemberOfNativeGroup", direction="INCOMING")
    assert [urn for _, urn in edges(wire, STAFF, incoming)] == [user("ana"), user("bob")]
    stated = wire.aspects("corpuser", user("ana"))["nativeGroupMembership"]
    assert stated == {"nativeGroups": [STAFF]}
    assert wire.good(TAKE, input=members("ana", "cid")) is True
    assert [urn for _, urn in edges(wire, STAFF, incoming)] == [user("bob")]


def test_a_member_counts_at_once_and_until_it_is_removed(wire: Wire) -> None:
    who = actors(groups=[STAFF])
    wire.good(CREATE, input=policy(type="PLATFORM", privileges=["MANAGE_POLICIES"], actors=who))
    wire.good(ADD, input=members("cid"))
    assert wire.good(CREATE, "cid", input=policy())
    wire.good(TAKE, input=members("cid"))
    assert wire.bad(CREATE, "cid", input=policy()) == FORBIDDEN


def test_a_member_by_another_aspect_is_removed_too(wire: Wire) -> None:
    groups = [STAFF, group("crew")]
    wire.put("corpuser", user("cid"), "groupMembership", {"groups": groups})
    wire.good(TAKE, input=members("cid"))
    assert edges(wire, user("cid"), relationships_input(*ALL)) == [
        ("IsMemberOfGroup", group("crew"))
    ]


def test_members_and_group_must_be_there(wire: Wire) -> None:
    for query in (ADD, TAKE):
        assert wire.bad(query, input=members("ana", of=group("no"))) == NOT_FOUND
        assert wire.bad(query, input=members("ana", "no")) == NOT_FOUND
        assert wire.bad(query, input={"groupUrn": STAFF, "userUrns": [STAFF]}) == BAD
    assert edges(wire, user("ana"), relationships_input(*ALL)) == []


def test_the_members_of_an_outside_group_are_not_changed_here(wire: Wire) -> None:
    wire.put("corpGroup", STAFF, "origin", {"type": "EXTERNAL", "externalType": "okta"})
    assert wire.bad(ADD, input=members("ana")) == BAD
    assert wire.bad(TAKE, input=members("bob")) == BAD


@pytest.mark.parametrize("privilege", ["EDIT_GROUP_MEMBERS", "EDIT_ENTITY"])
def test_members_are_changed_by_whoever_may_for_that_group(wire: Wire, privilege: str) -> None:
    wire.good(MAKE, input={"id": "crew", "name": "Crew"})
    assert wire.bad(ADD, "ana", input=members("ana")) == FORBIDDEN
    assert wire.bad(TAKE, "ana", input=members("bob")) == FORBIDDEN
    grant(wire, privilege, resources=matching(criterion("URN", STAFF)))
    assert wire.good(ADD, "ana", input=members("ana")) is True
    assert wire.good(TAKE, "ana", input=members("bob")) is True
    assert wire.bad(ADD, "ana", input=members("ana", of=group("crew"))) == FORBIDDEN
    assert wire.audit()[-1] == (
        "ana",
        "group.members.edit",
        f"corpGroup:{group('crew')}",
        "deny",
    )


def test_a_user_is_removed_with_its_memberships(wire: Wire) -> None:
    assert wire.bad(REMOVE, "ana", urn=user("bob")) == FORBIDDEN
    grant(wire, "MANAGE_USERS_AND_GROUPS")
    assert wire.good(REMOVE, "ana", urn=user("bob")) is True
    assert wire.aspects("corpuser", user("bob")) == {}
    assert edges(wire, STAFF, relationships_input(*ALL, direction="INCOMING")) == []
    assert wire.bad(REMOVE, urn=user("bob")) == NOT_FOUND
    assert wire.bad(REMOVE, urn=STAFF) == BAD


def test_a_users_status_is_set_by_whoever_manages_identities(wire: Wire) -> None:
    asked = {"urn": user("bob"), "status": "SUSPENDED"}
    assert wire.bad(STATUS, "ana", **asked) == FORBIDDEN
    grant(wire, "MANAGE_USERS_AND_GROUPS")
    assert wire.good(STATUS, "ana", **asked) == "SUSPENDED"
    status = wire.aspects("corpuser", user("bob"))["corpUserStatus"]
    assert (status["status"], status["lastModified"]["actor"]) == ("SUSPENDED", user("ana"))
    assert wire.bad(STATUS, urn=user("no"), status="ACTIVE") == NOT_FOUND


def test_a_suspended_user_may_do_nothing_until_it_is_active_again(wire: Wire) -> None:
    query = {"query": "{ me { corpUser { urn } } }"}
    wire.good(STATUS, urn=user("bob"), status="SUSPENDED")
    reply = wire.send(query, "bob")
    assert reply.status == 403
    assert b'"UNAUTHORIZED"' in reply.body
    wire.good(STATUS, urn=user("bob"), status="ACTIVE")
    assert wire.send(query, "bob").status == 200


def test_a_user_that_was_deleted_softly_may_do_nothing(wire: Wire) -> None:
    query = {"query": "{ me { corpUser { urn } } }"}
    wire.put("corpuser", user("bob"), "status", {"removed": True})
    assert wire.send(query, "bob").status == 403
    assert "bob" not in [one["username"] for one in wire.good(USERS, input={})["users"]]
    wire.put("corpuser", user("bob"), "status", {"removed": False})
    assert wire.send(query, "bob").status == 200
