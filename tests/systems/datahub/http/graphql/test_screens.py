"""The main screens of a frontend, with a served realm: the requests of each when opened.

From an empty server: a user signs up by invitation, signs in, and opens page by page.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.app.threaded import threaded

ROOT = "lw_root_5Vq8Zt2LxWk7Rn3GdYp9HcMbTs6JfAe1Qu4"
ANA = "urn:li:corpuser:ana@corp.test"
PASSWORD = "six brown horses"
ADMIN = "urn:li:corpuser:admin"


class Frontend:
    """A browser: its cookies, or a token in addition."""

    def __init__(self, url: str) -> None:
        self._host = urlsplit(url).netloc
        self.cookies: dict[str, str] = {}

    def post(
        self, path: str, body: Mapping[str, Any], token: str = ""
    ) -> tuple[int, dict[str, Any]]:
        """One request; returns its status and its response."""
        connection = http.client.HTTPConnection(self._host, timeout=60)
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        elif self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={one}" for name, one in self.cookies.items())
        try:
            connection.request("POST", path, json.dumps(body), headers)
            reply = connection.getresponse()
            said = reply.read()
        finally:
            connection.close()
        if not token:
            for one in reply.headers.get_all("Set-Cookie") or ():
                name, _, rest = one.partition("=")
                self.cookies[name] = rest.partition(";")[0]
        return reply.status, json.loads(said) if said else {}

    def ask(self, query: str, token: str = "", **variables: object) -> Any:
        """The value of the one field of a document."""
        body = {"query": query, "variables": variables}
        status, answer = self.post("/api/v2/graphql", body, token)
        assert (status, answer.get("errors")) == (200, None), answer
        (value,) = answer["data"].values()
        return value


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Frontend]:
    """A frontend with a signed-in user, who is an administrator."""
    folder = tmp_path_factory.mktemp("screens")
    with threaded(folder / "server", auth="token", admin="admin", root_token=ROOT) as served:
        one = Frontend(served.address)
        role = "urn:li:dataHubRole:Admin"
        invite = """mutation m($i: CreateInviteTokenInput!) {
          createInviteToken(input: $i) { inviteToken } }"""
        word = one.ask(invite, ROOT, i={"roleUrn": role})["inviteToken"]
        form = {"email": "ana@corp.test", "fullName": "Ana Lima", "title": "Analyst"}
        body = {"userUrn": ANA, **form, "password": PASSWORD, "inviteToken": word}
        assert one.post("/signUp", body)[0] == 200
        one.cookies.clear()
        yield one


@pytest.fixture
def ana(page: Frontend) -> Frontend:
    """Signed in, by the login screen."""
    if not page.cookies:
        credentials = {"username": "ana@corp.test", "password": PASSWORD}
        assert page.post("/logIn", {**credentials, "password": "wrong"})[0] == 400
        assert page.post("/logIn", credentials)[0] == 200
    return page


def test_without_signing_in_there_is_no_page(page: Frontend) -> None:
    stranger = Frontend(f"http://{page._host}")
    assert stranger.post("/api/v2/graphql", {"query": "{ me { corpUser { urn } } }"})[0] == 401


def test_me(ana: Frontend) -> None:
    found = ana.ask("""{ me {
      corpUser {
        urn type username
        info { active displayName title fullName email }
        editableProperties { displayName title pictureLink }
        settings { appearance { showSimplifiedHomepage } views { defaultView { urn } } }
      }
      platformPrivileges { managePolicies manageIdentities generatePersonalAccessTokens
        manageDomains manageTags viewAnalytics createTags createDomains manageTokens }
    } }""")
    assert found["corpUser"]["urn"] == ANA
    assert found["corpUser"]["info"]["fullName"] == "Ana Lima"
    assert set(found["platformPrivileges"].values()) == {True}


def test_configuration(ana: Frontend) -> None:
    found = ana.ask("""{ appConfig {
      appVersion
      authConfig { tokenAuthEnabled }
      managedIngestionConfig { enabled }
      testsConfig { enabled }
      policiesConfig {
        enabled
        platformPrivileges { type displayName description }
        resourcePrivileges { resourceType resourceTypeDisplayName entityType
          privileges { type displayName description } }
      }
    } }""")
    assert found["policiesConfig"]["enabled"]
    assert found["authConfig"] == {"tokenAuthEnabled": True}
    # The stored definitions never run here.
    assert not found["managedIngestionConfig"]["enabled"]
    assert not found["testsConfig"]["enabled"]


LIST_POLICIES = """query q($i: ListPoliciesInput!) { listPolicies(input: $i) {
  start count total
  policies {
    urn type name description state editable privileges
    resources { type allResources resources filter { criteria { field condition
      values { value entity { urn type } } } } }
    actors { users groups allUsers allGroups resourceOwners resourceOwnersTypes
      resolvedUsers { username urn } resolvedGroups { name urn }
      resolvedRoles { urn name } resolvedOwnershipTypes { urn info { name } } }
  } } }"""


def test_policies(ana: Frontend) -> None:
    asked = {"start": 0, "count": 50, "query": None}
    before = ana.ask(LIST_POLICIES, i=asked)
    assert before["total"] == len(before["policies"]) > 0
    policy: dict[str, Any] = {
        "name": "Tags of the shop",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY_TAGS"],
        "resources": {
            "filter": {
                "criteria": [
                    {"field": "DOMAIN", "condition": "EQUALS", "values": ["urn:li:domain:shop"]}
                ]
            }
        },
        "actors": {"users": [ANA], "resourceOwners": False, "allUsers": False, "allGroups": False},
    }
    make = "mutation m($i: PolicyUpdateInput!) { createPolicy(input: $i) }"
    urn = ana.ask(make, i=policy)
    after = ana.ask(LIST_POLICIES, i={**asked, "query": "tags of the shop"})["policies"]
    assert [(one["urn"], one["state"]) for one in after] == [(urn, "ACTIVE")]
    assert after[0]["actors"]["resolvedUsers"] == [{"username": "ana@corp.test", "urn": ANA}]
    change = """mutation m($u: String!, $i: PolicyUpdateInput!) {
      updatePolicy(urn: $u, input: $i) }"""
    ana.ask(change, u=urn, i={**policy, "state": "INACTIVE"})
    after = ana.ask(LIST_POLICIES, i={**asked, "query": "tags of the shop"})["policies"]
    assert after[0]["state"] == "INACTIVE"
    ana.ask("mutation m($u: String!) { deletePolicy(urn: $u) }", u=urn)
    assert ana.ask(LIST_POLICIES, i=asked)["total"] == before["total"]


def test_users(ana: Frontend) -> None:
    listed = ana.ask(
        """query q($i: ListUsersInput!) { listUsers(input: $i) { start count total users {
          urn username isNativeUser status
          info { active displayName title fullName email }
          editableProperties { displayName pictureLink }
          roles: relationships(input: {
            types: ["IsMemberOfRole"], direction: OUTGOING, start: 0, count: 1 }) {
            total relationships { entity { ... on DataHubRole { urn type name } } } }
        } } }""",
        i={"start": 0, "count": 10},
    )
    by_urn = {one["urn"]: one for one in listed["users"]}
    assert by_urn[ANA]["isNativeUser"]
    (role,) = by_urn[ANA]["roles"]["relationships"]
    assert role["entity"]["name"] == "Admin"
    found = ana.ask(
        """query q($u: String!) { corpUser(urn: $u) {
          urn username isNativeUser exists status tags { tags { tag { urn } } }
          groups: relationships(input: {
            types: ["IsMemberOfGroup", "IsMemberOfNativeGroup"], direction: OUTGOING }) { total }
        } }""",
        u=ANA,
    )
    assert (found["exists"], found["groups"]["total"]) == (True, 0)
    missing = """query q($u: String!) { corpUser(urn: $u) { exists } }"""
    assert ana.ask(missing, u="urn:li:corpuser:nobody") is None


def test_groups_and_their_members(ana: Frontend) -> None:
    make = "mutation m($i: CreateGroupInput!) { createGroup(input: $i) }"
    staff = ana.ask(make, i={"id": "staff", "name": "Staff"})
    add = "mutation m($i: AddGroupMembersInput!) { addGroupMembers(input: $i) }"
    ana.ask(add, i={"groupUrn": staff, "userUrns": [ANA]})
    listed = ana.ask(
        """query q($i: ListGroupsInput!) { listGroups(input: $i) { start count total groups {
          urn type name properties { displayName description email }
          memberCount: relationships(input: {
            types: ["IsMemberOfGroup", "IsMemberOfNativeGroup"], direction: INCOMING,
            start: 0, count: 1 }) { total }
          roles: relationships(input: {
            types: ["IsMemberOfRole"], direction: OUTGOING, start: 0, count: 1 }) { total }
        } } }""",
        i={"start": 0, "count": 10},
    )
    (group,) = [one for one in listed["groups"] if one["urn"] == staff]
    assert (group["properties"]["displayName"], group["memberCount"]["total"]) == ("Staff", 1)
    assert group["roles"]["total"] == 0


def test_roles(ana: Frontend) -> None:
    found = ana.ask(
        """query q($i: ListRolesInput!) { listRoles(input: $i) { start count total roles {
          urn type name description
          users: relationships(input: {
            types: ["IsMemberOfRole"], direction: INCOMING, start: 0, count: 10 }) {
            total relationships { entity { ... on CorpUser { urn username } } } }
          policies: relationships(input: {
            types: ["IsAssociatedWithRole"], direction: INCOMING, start: 0, count: 10 }) { total }
        } } }""",
        i={"start": 0, "count": 10},
    )
    by_name = {one["name"]: one for one in found["roles"]}
    assert by_name.keys() == {"Admin", "Editor", "Reader"}
    admins = by_name["Admin"]["users"]["relationships"]
    assert {ANA, ADMIN} == {one["entity"]["urn"] for one in admins}


def test_tokens(ana: Frontend) -> None:
    make = """mutation m($i: CreateAccessTokenInput!) { createAccessToken(input: $i) {
      accessToken metadata { id } } }"""
    asked = {"type": "PERSONAL", "actorUrn": ANA, "duration": "ONE_HOUR", "name": "mine"}
    made = ana.ask(make, i=asked)
    listing = """query q($i: ListAccessTokenInput!) { listAccessTokens(input: $i) {
      start count total tokens { urn type id name description actorUrn ownerUrn
        createdAt expiresAt owner { urn username } } } }"""
    own = {"field": "ownerUrn", "values": [ANA]}
    listed = ana.ask(listing, i={"start": 0, "count": 10, "filters": [own]})
    assert [one["name"] for one in listed["tokens"]] == ["mine"]
    assert listed["tokens"][0]["owner"]["urn"] == ANA
    assert ana.ask("{ me { corpUser { urn } } }", made["accessToken"])["corpUser"]["urn"] == ANA
    revoke = "mutation m($id: String!) { revokeAccessToken(tokenId: $id) }"
    assert ana.ask(revoke, id=made["metadata"]["id"])
    assert ana.ask(listing, i={"start": 0, "count": 10, "filters": [own]})["total"] == 0


def test_domains(ana: Frontend) -> None:
    make = "mutation m($i: CreateDomainInput!) { createDomain(input: $i) }"
    shop = ana.ask(make, i={"id": "shop", "name": "Shop"})
    part = ana.ask(make, i={"id": "carts", "name": "Carts", "parentDomain": shop})
    listing = """query q($i: ListDomainsInput!) { listDomains(input: $i) {
      start count total domains { urn id type properties { name description }
      parentDomains { domains { urn } } children: relationships(input: {
        types: ["IsPartOf"], direction: INCOMING, start: 0, count: 0 }) { total }
      ownership { owners { owner { ... on CorpUser { urn } } } }
    } } }"""
    (top,) = ana.ask(listing, i={"start": 0, "count": 10})["domains"]
    assert (top["urn"], top["properties"]["name"], top["children"]["total"]) == (shop, "Shop", 1)
    assert top["ownership"]["owners"] == [{"owner": {"urn": ANA}}]
    (below,) = ana.ask(listing, i={"start": 0, "count": 10, "parentDomain": shop})["domains"]
    assert (below["urn"], below["parentDomains"]["domains"]) == (part, [{"urn": shop}])


def test_tags(ana: Frontend) -> None:
    make = "mutation m($i: CreateTagInput!) { createTag(input: $i) }"
    tag = ana.ask(make, i={"id": "pii", "name": "Personal", "description": "Of people"})
    ana.ask('mutation m($u: String!) { setTagColor(urn: $u, colorHex: "#112233") }', u=tag)
    shown = """query q($u: String!) { tag(urn: $u) { urn name description
      properties { name description colorHex } ownership { owners { owner {
        ... on CorpUser { urn } } } } } }"""
    found = ana.ask(shown, u=tag)
    said = {"name": "Personal", "description": "Of people", "colorHex": "#112233"}
    assert found["properties"] == said
    searched = ana.ask(
        """query q($i: SearchAcrossEntitiesInput!) { searchAcrossEntities(input: $i) {
          total searchResults { entity { urn ... on Tag { properties { name } } } } } }""",
        i={"types": ["TAG"], "query": "personal", "start": 0, "count": 10},
    )
    assert [one["entity"]["urn"] for one in searched["searchResults"]] == [tag]
    assert ana.ask("mutation m($u: String!) { deleteTag(urn: $u) }", u=tag)


def test_what_is_not_served_is_an_error_and_nothing_is_written(ana: Frontend) -> None:
    """The frontend's mutations without a meaning here are not in the schema."""
    for mutation in ("createDataHubFile", "rollbackIngestion", "linkAssetVersion"):
        status, answer = ana.post("/api/v2/graphql", {"query": f"mutation {{ {mutation} }}"})
        assert status == 200
        (error,) = answer["errors"]
        assert (error["extensions"]["code"], answer["data"]) == (400, None)
        assert mutation in error["message"]
