"""Personal access tokens over GraphQL: created, used, listed, revoked; permitted and denied."""

from __future__ import annotations

from typing import Any

import pytest

from lakewarden.service.token import DAY, digest
from tests.systems.datahub.http.graphql.test_identities import REMOVE, grant
from tests.systems.datahub.http.graphql.wire import (
    BAD,
    FORBIDDEN,
    NOT_FOUND,
    REALM,
    ROOT,
    Json,
    Wire,
    user,
)

METADATA = "urn type id name description actorUrn ownerUrn createdAt expiresAt"
CREATE = f"""mutation c($input: CreateAccessTokenInput!) {{
  createAccessToken(input: $input) {{ accessToken metadata {{ {METADATA} }} }}
}}"""
LIST = f"""query l($input: ListAccessTokenInput!) {{
  listAccessTokens(input: $input) {{ start count total tokens {{ {METADATA} }} }}
}}"""
REVOKE = "mutation r($id: String!) { revokeAccessToken(tokenId: $id) }"
TOLD = f"query t($token: String!) {{ getAccessTokenMetadata(token: $token) {{ {METADATA} }} }}"


def token_input(who: str = "ana", /, **members: Any) -> Json:
    return {
        "type": "PERSONAL",
        "actorUrn": user(who),
        "duration": "ONE_DAY",
        "name": "for the notebook",
        **members,
    }


def create_token(wire: Wire, name: str = "ana", by: str = "", **members: Any) -> Json:
    found: Json = wire.good(CREATE, by or name, input=token_input(name, **members))
    return found


def owner_filter(name: str) -> Json:
    return {"filters": [{"field": "ownerUrn", "values": [user(name)], "condition": "EQUAL"}]}


def ids(wire: Wire, by: str = ROOT, **input: Any) -> list[str]:
    return [one["id"] for one in wire.good(LIST, by, input=input)["tokens"]]


def test_a_token_is_good_in_this_realm_alone_and_its_text_is_not_kept(wire: Wire) -> None:
    issued = create_token(wire, description="mine")
    token = wire.service.state.tokens[digest(issued["accessToken"])]
    assert (token.user, token.realm, token.id) == ("ana", REALM, issued["metadata"]["id"])
    assert token.expires - token.created == DAY
    metadata = issued["metadata"]
    assert metadata == {
        "urn": f"urn:li:dataHubAccessToken:{token.id}",
        "type": "ACCESS_TOKEN",
        "id": token.id,
        "name": "for the notebook",
        "description": "mine",
        "actorUrn": user("ana"),
        "ownerUrn": user("ana"),
        "createdAt": int(token.created * 1_000),
        "expiresAt": int(token.expires * 1_000),
    }
    aspects = wire.aspects("dataHubAccessToken", metadata["urn"])
    names = ("name", "actorUrn", "ownerUrn", "createdAt", "expiresAt", "description")
    assert aspects["dataHubAccessTokenInfo"] == {name: metadata[name] for name in names}
    assert issued["accessToken"] not in str(aspects)
    assert issued["accessToken"] not in str(wire.audit_rows())


@pytest.mark.parametrize(
    ("duration", "days"),
    [
        ("ONE_HOUR", 1 / 24),
        ("ONE_WEEK", 7),
        ("ONE_MONTH", 30),
        ("THREE_MONTHS", 90),
        ("SIX_MONTHS", 180),
        ("ONE_YEAR", 365),
        ("NO_EXPIRY", 366),
    ],
)
def test_a_token_is_good_for_as_long_as_was_asked(wire: Wire, duration: str, days: float) -> None:
    metadata = create_token(wire, duration=duration)["metadata"]
    assert metadata["expiresAt"] - metadata["createdAt"] == pytest.approx(days * DAY * 1_000, abs=2)


def test_tokens_of_oneself_take_the_right_to_make_them(wire: Wire) -> None:
    delete = "mutation d($urn: String!) { deletePolicy(urn: $urn) }"
    create_token(wire, "eve")
    wire.good(delete, urn="urn:li:dataHubPolicy:7")
    assert wire.bad(CREATE, "ana", input=token_input()) == FORBIDDEN
    assert wire.audit()[-1] == (
        "ana",
        "token.create_personal",
        f"corpuser:{user('ana')}",
        "deny",
    )
    grant(wire, "GENERATE_PERSONAL_ACCESS_TOKENS")
    assert create_token(wire)["accessToken"].startswith("lw_")


def test_tokens_of_others_take_the_right_to_manage_tokens(wire: Wire) -> None:
    assert wire.bad(CREATE, "ana", input=token_input("bob")) == FORBIDDEN
    grant(wire, "MANAGE_ACCESS_TOKENS")
    metadata = create_token(wire, "bob", by="ana")["metadata"]
    assert (metadata["actorUrn"], metadata["ownerUrn"]) == (user("bob"), user("ana"))


@pytest.mark.parametrize("name", ["datahub", "__datahub_system"])
def test_nobody_makes_tokens_of_root_or_of_the_system(wire: Wire, name: str) -> None:
    assert wire.bad(CREATE, input=token_input(name)) == FORBIDDEN
    assert wire.service.state.tokens == {}
    who = f"corpuser:{user(name)}"
    assert wire.audit()[-1] == ("datahub", "token.create_personal", who, "deny")


def test_a_token_that_makes_no_sense_is_refused(wire: Wire) -> None:
    assert wire.bad(CREATE, input=token_input("nobody")) == NOT_FOUND
    assert wire.bad(CREATE, "ana", input=token_input(name=" ")) == BAD
    assert wire.bad(CREATE, "ana", input=token_input(name="x" * 201)) == BAD
    assert wire.bad(CREATE, "ana", input=token_input(actorUrn="urn:li:corpGroup:staff")) == BAD


def test_who_is_no_service_account_gets_no_token_of_one(wire: Wire) -> None:
    assert wire.bad(CREATE, input=token_input(type="SERVICE_ACCOUNT")) == NOT_FOUND


def test_one_may_list_ones_own_tokens_and_no_others(wire: Wire) -> None:
    mine, other = create_token(wire)["metadata"], create_token(wire, "bob")["metadata"]
    assert ids(wire, "ana", **owner_filter("ana")) == [mine["id"]]
    assert wire.bad(LIST, "ana", input={}) == FORBIDDEN
    assert wire.bad(LIST, "ana", input=owner_filter("bob")) == FORBIDDEN
    both: Json = {"filters": [{"field": "ownerUrn", "values": [user("ana"), user("bob")]}]}
    assert wire.bad(LIST, "ana", input=both) == FORBIDDEN
    others: Json = {"filters": [{**owner_filter("ana")["filters"][0], "negated": True}]}
    assert wire.bad(LIST, "ana", input=others) == FORBIDDEN
    grant(wire, "MANAGE_ACCESS_TOKENS")
    assert set(ids(wire, "ana")) == {mine["id"], other["id"]}
    assert ids(wire, "ana", **others) == [other["id"]]


def test_a_filter_beside_that_on_oneself_only_narrows(wire: Wire) -> None:
    create_token(wire)
    theirs = create_token(wire, "bob")["metadata"]["id"]
    second = {"field": "ownerUrn", "values": [user("bob")]}
    filters = [*owner_filter("ana")["filters"], second]
    assert theirs not in ids(wire, ROOT, filters=filters)
    assert wire.bad(LIST, "ana", input={"filters": filters}) == FORBIDDEN
    negated = {"field": "ownerUrn", "values": [user("bob")], "negated": True}
    assert theirs not in ids(wire, "ana", filters=[negated, *owner_filter("ana")["filters"]])


def test_tokens_are_listed_by_whom_they_act_as_and_by_no_other_field(wire: Wire) -> None:
    theirs = create_token(wire, "bob", by=ROOT)["metadata"]
    create_token(wire)
    memberships = {"field": "actorUrn", "value": user("bob")}
    assert ids(wire, filters=[memberships]) == [theirs["id"]]
    assert wire.bad(LIST, input={"filters": [{"field": "name", "values": ["x"]}]}) == BAD


def test_lists_of_tokens_have_pages(wire: Wire) -> None:
    all_ids = {create_token(wire)["metadata"]["id"] for _ in range(3)}
    first, second = (wire.good(LIST, input={"start": n, "count": 2}) for n in (0, 2))
    assert (first["count"], first["total"], second["count"]) == (2, 3, 1)
    assert {one["id"] for one in first["tokens"] + second["tokens"]} == all_ids


def test_expired_tokens_are_not_listed(wire: Wire) -> None:
    create_token(wire, duration="ONE_HOUR")
    now = wire.service.clock()
    wire.service.clock = lambda: now + DAY
    wire.service.catch_up()
    assert ids(wire) == []


def test_whoever_made_a_token_may_revoke_it_and_others_may_not(wire: Wire) -> None:
    issued = create_token(wire)
    id, urn = issued["metadata"]["id"], issued["metadata"]["urn"]
    assert wire.bad(REVOKE, "bob", id=id) == FORBIDDEN
    assert digest(issued["accessToken"]) in wire.service.state.tokens
    assert wire.good(REVOKE, "ana", id=id) is True
    assert wire.service.state.tokens == {}
    assert wire.aspects("dataHubAccessToken", urn) == {}


def test_a_token_that_is_not_there_looks_to_others_like_one_that_is_not_theirs(wire: Wire) -> None:
    assert wire.bad(REVOKE, "bob", id="t0") == FORBIDDEN
    assert wire.bad(REVOKE, id="t0") == NOT_FOUND


def test_who_manages_tokens_may_revoke_any_by_id_or_urn(wire: Wire) -> None:
    first, second = create_token(wire)["metadata"], create_token(wire)["metadata"]
    grant(wire, "MANAGE_ACCESS_TOKENS", by="bob")
    assert wire.good(REVOKE, "bob", id=first["id"]) is True
    assert wire.good(REVOKE, "bob", id=second["urn"]) is True
    assert wire.service.state.tokens == {}


def test_whose_a_token_is_is_told_to_who_manages_tokens(wire: Wire) -> None:
    issued = create_token(wire)
    assert wire.bad(TOLD, "ana", token=issued["accessToken"]) == FORBIDDEN
    assert wire.good(TOLD, token=issued["accessToken"]) == issued["metadata"]
    assert wire.bad(TOLD, token="lw_none") == NOT_FOUND
    wire.good(REVOKE, id=issued["metadata"]["id"])
    assert wire.bad(TOLD, token=issued["accessToken"]) == NOT_FOUND


def test_tokens_go_with_the_user(wire: Wire) -> None:
    urn = create_token(wire)["metadata"]["urn"]
    create_token(wire, "bob")
    wire.good(REMOVE, urn=user("ana"))
    assert [one.user for one in wire.service.state.tokens.values()] == ["bob"]
    assert wire.aspects("dataHubAccessToken", urn) == {}
