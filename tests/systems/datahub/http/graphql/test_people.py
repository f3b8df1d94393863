"""Invitations, service accounts and settings: permitted and denied callers, and the effects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lakewarden.authn.password import Passwords
from lakewarden.kernel.entity import Entity
from lakewarden.service.actor import SYSTEM
from lakewarden.service.realm import Token
from lakewarden.service.token import digest
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store.secrets import Keys, new_key
from lakewarden.systems.datahub.use_cases import invitation, native_user
from lakewarden.systems.datahub.use_cases.native_user import Form
from tests.systems.datahub.http.graphql.test_identities import grant
from tests.systems.datahub.http.graphql.test_tokens import CREATE, token_input
from tests.systems.datahub.http.graphql.wire import (
    BAD,
    FORBIDDEN,
    NOT_FOUND,
    REALM,
    ROOT,
    Json,
    Wire,
    document,
    role,
    user,
)

GET = "query q($i: GetInviteTokenInput!) { getInviteToken(input: $i) { inviteToken } }"
NEW = "mutation m($i: CreateInviteTokenInput!) { createInviteToken(input: $i) { inviteToken } }"
ACCEPT = "mutation a($i: AcceptRoleInput!) { acceptRole(input: $i) }"
RESET = (
    "mutation m($i: CreateNativeUserResetTokenInput!)"
    " { createNativeUserResetToken(input: $i) { resetToken } }"
)
MAKE = (
    "mutation m($i: CreateServiceAccountInput!) { createServiceAccount(input: $i)"
    " { urn type name displayName description createdBy createdAt updatedAt } }"
)
DELETE = "mutation d($u: String!) { deleteServiceAccount(urn: $u) }"
LIST = (
    "query l($i: ListServiceAccountsInput!) { listServiceAccounts(input: $i)"
    " { start count total serviceAccounts { urn } } }"
)
LOOK_UP = "query g($u: String!) { getServiceAccount(urn: $u) { urn } }"
SWITCH = "mutation s($i: UpdateUserSettingInput!) { updateUserSetting(input: $i) }"
VIEW = (
    "mutation v($i: UpdateCorpUserViewsSettingsInput!) { updateCorpUserViewsSettings(input: $i) }"
)
MINE = "urn:li:dataHubView:mine"


def native(wire: Wire, name: str) -> None:
    """A user who signed up."""

    def task(transaction: WriteTransaction) -> None:
        word = invitation.create(transaction, REALM, "", None, replaces=False)
        form = Form(user(name), f"{name}@x.test", name, "x")
        hashed = Passwords(rounds=1, memory_kib=8).hash("correct horse 7")
        native_user.sign_up(transaction, REALM, form, word, hashed)

    wire.service.write(SYSTEM, task)


# Invitations


def test_who_manages_credentials_invites_and_nobody_else(wire: Wire) -> None:
    for query in (GET, NEW):
        assert wire.bad(query, "ana", i={}) == FORBIDDEN
    grant(wire, "MANAGE_USER_CREDENTIALS")
    for query in (GET, NEW):
        assert wire.good(query, "ana", i={})["inviteToken"].startswith("lw_")


def test_who_may_not_assign_a_role_does_not_give_it_with_an_invitation(wire: Wire) -> None:
    input = {"roleUrn": role("Admin")}
    grant(wire, "MANAGE_USER_CREDENTIALS")
    for query in (GET, NEW):
        assert wire.bad(query, "ana", i=input) == FORBIDDEN
    grant(wire, "MANAGE_USER_CREDENTIALS", "MANAGE_POLICIES")
    for query in (GET, NEW):
        assert wire.good(query, "ana", i=input)["inviteToken"]


def test_an_invitation_names_a_role_that_there_is(wire: Wire) -> None:
    assert wire.bad(GET, i={"roleUrn": role("Nothing")}) == NOT_FOUND
    assert wire.bad(GET, i={"roleUrn": user("ana")}) == BAD


def test_without_a_key_for_secrets_every_invitation_is_a_new_one(wire: Wire) -> None:
    first, second = (wire.good(GET, i={})["inviteToken"] for _ in range(2))
    assert first != second
    found = [is_good(wire, word) for word in (first, second)]
    assert found == [True, True]
    wire.services = replace(wire.services, sealing=Keys([new_key()]))
    third, fourth = (wire.good(GET, i={})["inviteToken"] for _ in range(2))
    assert third == fourth


def is_good(wire: Wire, word: str) -> bool:
    with wire.service.reading() as reading:
        return invitation.find(reading, REALM, word, wire.service.clock()) is not None


def test_an_invitation_gives_its_role_to_whoever_accepts_it(wire: Wire) -> None:
    word = wire.good(NEW, i={"roleUrn": role("Editor")})["inviteToken"]
    assert wire.good(ACCEPT, "ana", i={"inviteToken": word}) is True
    assert wire.aspects("corpuser", user("ana"))["roleMembership"] == {"roles": [role("Editor")]}
    assert wire.audit()[-1][:2] == ("ana", "role.accept")


def test_what_is_no_invitation_to_a_role_gives_none(wire: Wire) -> None:
    plain = wire.good(NEW, i={})["inviteToken"]
    old = wire.good(NEW, i={"roleUrn": role("Admin")})["inviteToken"]
    wire.good(NEW, i={"roleUrn": role("Admin")})
    for word in (plain, old, "lw_nothing"):
        assert wire.bad(ACCEPT, "ana", i={"inviteToken": word}) == BAD
    assert "roleMembership" not in wire.aspects("corpuser", user("ana"))


def test_an_aspect_makes_no_invitation(wire: Wire) -> None:
    """Ingested invitations are shown, but have no effect."""
    word = "lw_made_up"
    urn = f"urn:li:inviteToken:{digest(word)}"
    wire.put("inviteToken", urn, "inviteToken", {"token": word, "role": role("Admin")})
    assert wire.bad(ACCEPT, "ana", i={"inviteToken": word}) == BAD


def test_who_manages_credentials_lets_users_choose_new_passwords(wire: Wire) -> None:
    native(wire, "zoe")
    assert wire.bad(RESET, "ana", i={"userUrn": user("zoe")}) == FORBIDDEN
    grant(wire, "MANAGE_USER_CREDENTIALS")
    assert wire.good(RESET, "ana", i={"userUrn": user("zoe")})["resetToken"]
    for name in ("bob", "nobody", ROOT):
        assert wire.bad(RESET, "ana", i={"userUrn": user(name)}) == BAD


def test_only_who_has_a_password_here_is_native(wire: Wire) -> None:
    native(wire, "zoe")
    wire.put("corpuser", user("ana"), "corpUserCredentials", {"salt": "x", "hashedPassword": "y"})
    listed = wire.good("{ listUsers(input: {}) { users { username isNativeUser } } }")
    found = {one["username"]: one["isNativeUser"] for one in listed["users"]}
    assert {name for name, native in found.items() if native} == {"zoe"}


def test_a_list_of_users_has_no_programs_and_under_view_authorization_whom_one_may_see(
    wire: Wire,
) -> None:
    def listed(by: str) -> set[str]:
        found = wire.good("{ listUsers(input: {}) { total users { username } } }", by)
        assert found["total"] == len(found["users"])
        return {one["username"] for one in found["users"]}

    program = create_invitation(wire, displayName="loader")["urn"]
    everybody = listed("eve")
    assert {"ana", "bob", "cid"} <= everybody
    assert program.removeprefix("urn:li:corpuser:") not in everybody
    # As in the original, users are a type that view authorization does not restrict …
    wire.configure(view=True)
    assert listed("eve") == everybody
    # … until the operator restricts it.
    wire.close()
    wire.configure(unrestricted_remove=("corpUser",))
    assert listed("ana") == {"ana"}
    assert listed("eve") <= {"eve"}


def test_the_document_of_invitations_is_answered(wire: Wire) -> None:
    native(wire, "zoe")
    answer = wire.ask(document("invitations"), invitation={}, user={"userUrn": user("zoe")})
    assert set(answer["data"]) == {"createInviteToken", "createNativeUserResetToken"}
    assert "errors" not in answer


# Service accounts


def create_invitation(wire: Wire, **input: str) -> Json:
    found: Json = wire.good(MAKE, i=input)
    return found


def test_a_service_account_is_made_listed_and_found(wire: Wire) -> None:
    account = create_invitation(wire, displayName="Loader", description="Loads")
    name = account["urn"].removeprefix("urn:li:corpuser:")
    assert name.startswith("service_")
    assert (account["type"], account["name"], account["createdBy"]) == (
        *("CORP_USER", name),
        user(ROOT),
    )
    assert (account["displayName"], account["description"]) == ("Loader", "Loads")
    answer = wire.ask(document("service_accounts"), input={"query": "loader"}, urn=account["urn"])
    told = {**account, "defaultView": None, "relationships": {"total": 0}}
    assert answer["data"]["getServiceAccount"] == told
    assert answer["data"]["listServiceAccounts"]["serviceAccounts"] == [told]
    assert wire.good(LIST, i={"query": "other"})["total"] == 0


def test_service_accounts_are_managed_by_who_has_that_privilege(wire: Wire) -> None:
    account = create_invitation(wire)
    token = token_input(actorUrn=account["urn"], type="SERVICE_ACCOUNT")
    for query, variables in _every(account, token):
        assert wire.bad(query, "ana", **variables) == FORBIDDEN
    grant(wire, "MANAGE_SERVICE_ACCOUNTS")
    for query, variables in _every(account, token):
        assert wire.good(query, "ana", **variables)
    assert wire.good(LOOK_UP, "ana", u=account["urn"]) is None


def _every(account: Json, token: Json) -> list[tuple[str, dict[str, Any]]]:
    return [
        (MAKE, {"i": {}}),
        (LIST, {"i": {}}),
        (LOOK_UP, {"u": account["urn"]}),
        (CREATE, {"input": token}),
        (DELETE, {"u": account["urn"]}),
    ]


def test_with_a_service_account_go_its_tokens(wire: Wire) -> None:
    account = create_invitation(wire)
    input = token_input(actorUrn=account["urn"], type="SERVICE_ACCOUNT")
    text = wire.good(CREATE, input=input)["accessToken"]
    token: Token = wire.service.state.tokens[digest(text)]
    assert (token.user, token.realm) == (account["name"], REALM)
    assert wire.good(DELETE, u=account["urn"]) is True
    assert wire.service.state.tokens == {}
    assert wire.good(LOOK_UP, u=account["urn"]) is None


def test_a_service_account_gets_a_role_as_users_do(wire: Wire) -> None:
    account = create_invitation(wire)
    assign = "mutation b($i: BatchAssignRoleInput!) { batchAssignRole(input: $i) }"
    wire.good(assign, i={"roleUrn": role("Reader"), "actors": [account["urn"]]})
    assert wire.aspects("corpuser", account["urn"])["roleMembership"]["roles"] == [role("Reader")]


@pytest.mark.parametrize("name", ["ana", "service_bob", ROOT, "nobody"])
def test_nobody_else_is_taken_for_a_service_account(wire: Wire, name: str) -> None:
    """Neither an aspect nor a name alone makes one: a token could impersonate anybody."""
    if name == "ana":
        wire.put("corpuser", user(name), "subTypes", {"typeNames": ["SERVICE_ACCOUNT"]})
    if name == "service_bob":
        wire.put("corpuser", user(name), "corpUserInfo", {"active": True})
    grant(wire, "MANAGE_SERVICE_ACCOUNTS")
    input = token_input(actorUrn=user(name), type="SERVICE_ACCOUNT")
    refused = FORBIDDEN if name == ROOT else NOT_FOUND
    assert wire.bad(CREATE, "ana", input=input) == refused
    assert wire.bad(DELETE, "ana", u=user(name)) == NOT_FOUND
    assert wire.good(LOOK_UP, "ana", u=user(name)) is None
    assert wire.good(LIST, "ana", i={})["total"] == 0


# Settings


def settings(wire: Wire, name: str) -> Any:
    return wire.good(document("user_settings"), user=user(name))["settings"]


def test_each_switches_its_own_settings_and_nothing_else_is_lost(wire: Wire) -> None:
    wire.put("corpuser", user("ana"), "corpUserSettings", {"appearance": {"x": 1}, "y": 2})
    assert settings(wire, "bob") is None
    assert wire.good(SWITCH, "ana", i={"name": "SHOW_THEME_V2", "value": True}) is True
    assert wire.aspects("corpuser", user("ana"))["corpUserSettings"] == {
        "appearance": {"x": 1, "showThemeV2": True},
        "y": 2,
    }
    found = settings(wire, "ana")
    assert found == {
        "appearance": {"showSimplifiedHomepage": None, "showThemeV2": True},
        "views": {"defaultView": None},
    }
    assert settings(wire, "bob") is None


def test_a_view_of_ones_own_is_chosen_and_left(wire: Wire) -> None:
    assert wire.bad(VIEW, "ana", i={"defaultView": MINE}) == NOT_FOUND
    assert wire.bad(VIEW, "ana", i={"defaultView": user("ana")}) == BAD
    info = {"type": "GLOBAL", "name": "x", "definition": {"entityTypes": [], "filter": {"or": []}}}
    wire.put("dataHubView", MINE, "dataHubViewInfo", info)
    wire.good(VIEW, "ana", i={"defaultView": MINE})
    assert settings(wire, "ana")["views"] == {"defaultView": {"urn": MINE}}
    wire.good(VIEW, "ana", i={"defaultView": None})
    assert settings(wire, "ana")["views"] == {"defaultView": None}


def test_the_entity_of_a_service_account_is_a_user(wire: Wire) -> None:
    account = create_invitation(wire)
    found = wire.aspects("corpuser", account["urn"])
    assert found["subTypes"] == {"typeNames": ["SERVICE_ACCOUNT"]}
    coded = wire.service.state.realm(REALM).matrix.snapshot.coded
    assert coded.is_known(Entity("corpuser", account["urn"]))
