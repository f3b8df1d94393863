"""Signing up, in and out: who gets a session, its permissions, and its end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakewarden.kernel.change import EntityAdded, MembershipChanged, OwnerChanged, StatementAdded
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import GROUP, SERVICE_ADMINS, USER, Principal
from lakewarden.kernel.relations import MembershipRow, OwnerRow
from lakewarden.kernel.statement import Anything, Effect, Statement
from lakewarden.service import people, realms, token
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.realm import Realm
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import open_store
from lakewarden.store.backup import restore
from tests.systems.datahub.http.native import (
    CREATE,
    HERE,
    ME,
    NEW_INVITE,
    PASSWORD,
    RESET,
    TOKEN,
    Site,
    message,
    session_of,
    user,
)

ANA = "ana@x.test"
STATUS = "mutation s($u: String!, $s: CorpUserStatus!) { updateUserStatus(urn: $u, status: $s) }"
REMOVE = "mutation r($u: String!) { removeUser(urn: $u) }"
ADMIN = "urn:li:dataHubRole:Admin"
DAY = 86_400.0


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with Site(f"sqlite:///{tmp_path}/store") as one:
        yield one


def token_for(site: Site, cookie: str, name: str = ANA) -> str:
    input = {"type": "PERSONAL", "actorUrn": user(name), "duration": "ONE_DAY", "name": "cli"}
    text: str = site.graphql(CREATE, cookie=cookie, i=input)["data"]["createAccessToken"][
        "accessToken"
    ]
    return text


WIDE = {code: 0xFEE0 + code for code in range(ord("A"), ord("z") + 1)}
"""Full-width letters, which look like ASCII letters."""


def invited_by_name(site: Site, name: str) -> str:
    """The token of an invitation that names its user."""
    answer = site.graphql(NEW_INVITE, i={"userUrn": user(name)})
    word: str = answer["data"]["createInviteToken"]["inviteToken"]
    return word


def name_in_facts(site: Site) -> None:
    """Makes a policy, an owner and a membership name people who are not stored."""
    domain = Entity("domain", "urn:li:domain:d")
    pol, own, mem = (Principal(USER, user(name)) for name in ("pol", "own", "mem"))

    def task(transaction: WriteTransaction) -> None:
        transaction.change(
            "datahub",
            EntityAdded(domain, None),
            OwnerChanged(OwnerRow(domain, own, ""), True),
            MembershipChanged(MembershipRow(mem, Principal(GROUP, "urn:li:corpGroup:g")), True),
            StatementAdded(
                Statement(
                    "p", Effect.ALLOW, frozenset({"MANAGE_POLICIES"}), Anything(), frozenset({pol})
                )
            ),
        )

    site.service.write(SYSTEM, task)


# Signing up


def test_whoever_is_invited_signs_up_and_is_there(site: Site) -> None:
    answer = site.sign_up()
    assert (answer.status, answer.body) == (200, b"")
    cookie = session_of(answer)
    me = site.graphql(ME, cookie=cookie)["data"]["me"]["corpUser"]
    assert me == {"urn": user(ANA), "username": ANA, "isNativeUser": True}
    shown = site.graphql(
        "query u($u: String!) { corpUser(urn: $u) { status info"
        " { active displayName fullName email title } } }",
        u=user(ANA),
    )["data"]["corpUser"]
    info = {"active": True, "displayName": "Ana Arc", "fullName": "Ana Arc"}
    assert shown == {"status": "ACTIVE", "info": {**info, "email": ANA, "title": "Other"}}


def test_the_email_is_the_name_where_no_other_is_given(site: Site) -> None:
    site.sign_up(ANA, userUrn="")
    assert site.me(site.session(ANA)) == user(ANA)


def test_the_cookies_are_guarded_and_say_for_how_long(site: Site) -> None:
    session, actor = site.sign_up().cookies
    flags = {part.strip() for part in session.split(";")[1:]}
    assert flags == {"Path=/", "HttpOnly", "SameSite=Lax", "Max-Age=28800"}
    assert actor.startswith(f"actor=urn:li:corpuser:{ANA};")


def test_the_cookie_is_for_https_alone_where_that_is_served(tmp_path: Path) -> None:
    with Site(f"sqlite:///{tmp_path}/store") as site:
        parts = site.application.parts
        parts.services = type(parts.services)(
            public_url="https://hub.test",
            passwords=parts.services.passwords,
            sealing=parts.services.sealing,
        )
        assert all("; Secure" in cookie for cookie in site.sign_up().cookies)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"password": "short1"}, "8 to 256"),
        ({"password": "aaaabbbb"}, "different characters"),
        ({"password": "Password123"}, "too weak"),
        ({"password": ANA}, "too weak"),
        ({"password": "   "}, "empty"),
        ({"email": "nobody"}, "email"),
        ({"fullName": " "}, "empty"),
        ({"fullName": "x" * 201}, "200 characters"),
        ({"title": ""}, "empty"),
        ({"inviteToken": "lw_nothing"}, "not valid"),
        ({"userUrn": "urn:li:corpGroup:staff"}, "corpuser"),
        ({"userUrn": "urn:li:corpuser:a\x7fb"}, "holds"),
    ],
)
def test_a_form_that_makes_no_sense_leaves_nothing(
    site: Site, changed: dict[str, str], said: str
) -> None:
    word, before = site.invited(), site.service.state.revision
    answer = site.sign_up(word=word, **changed)
    assert answer.status == 400
    assert said in message(answer)
    assert site.service.state.revision == before
    assert answer.cookies == []


@pytest.mark.parametrize(
    "name", ["admin", "datahub", "__datahub_system", "service_x", "bob", "kim", ANA]
)
def test_a_name_that_is_somebodys_is_taken(site: Site, name: str) -> None:
    site.sign_up()
    site.put_person("bob")
    site.service.write(
        SYSTEM, lambda transaction: token.issue(transaction, "kim", "datahub", seconds=9)
    )
    answer = site.sign_up(name)
    assert answer.status == 409
    assert "taken" in message(answer)


def test_a_name_that_is_spoken_about_is_claimed_by_an_invitation_only_that_names_it(
    site: Site,
) -> None:
    """Its holder gets the rights of policies, owners and groups: so the invitation must name it."""
    name_in_facts(site)
    site.service.write(
        SYSTEM, lambda transaction: realms.establish(transaction, Realm("lake", "gravitino"))
    )
    gus = MembershipChanged(MembershipRow(Principal(USER, "gus"), SERVICE_ADMINS), True)
    site.service.write(SYSTEM, lambda transaction: transaction.change("lake", gus))
    word = site.invited()
    for name in ("pol", "own", "mem", "gus"):
        for spelled in (name, name.upper(), name.translate(WIDE), name.replace("o", "\u043e")):
            answer = site.sign_up(spelled, word, email="x@x.test")
            assert (answer.status, answer.cookies) == (409, []), spelled
    denied = [row for row in site.audit() if row["operation"] == "user.sign_up"]
    assert {row["outcome"] for row in denied} == {"deny"}
    for name in ("pol", "own", "mem"):
        mine = invited_by_name(site, name)
        assert site.sign_up(name.upper(), mine).status == 409
        assert site.sign_up("other", mine).status == 409
        assert site.sign_up(name, mine).status == 200
        assert site.sign_up(f"{name}2", mine).status == 400, "it is taken once"
    cookie = site.session("pol")
    found = site.graphql("{ me { platformPrivileges { managePolicies } } }", cookie=cookie)
    assert found["data"]["me"]["platformPrivileges"]["managePolicies"]
    refused = site.graphql(NEW_INVITE, i={"userUrn": user("gus")})
    assert "taken" in refused["errors"][0]["message"]


def test_a_named_invitation_keeps_its_name_for_whom_it_is_for(site: Site) -> None:
    word, mine = site.invited(), invited_by_name(site, "vera")
    assert site.sign_up("Vera", word).status == 409
    assert site.sign_up("vera", word).status == 409
    again = invited_by_name(site, "vera")
    assert site.sign_up("vera", mine).status == 400
    assert site.invited() == word, "a named invitation is not shown to others"
    cookie = session_of(site.sign_up("ana"))
    accept = "mutation a($i: AcceptRoleInput!) { acceptRole(input: $i) }"
    taken = site.graphql(accept, cookie=cookie, i={"inviteToken": again})
    assert "somebody else" in taken["errors"][0]["message"]
    assert site.sign_up("vera", again).status == 200


@pytest.mark.parametrize(
    "name", ["Admin", "ADMIN".translate(WIDE), "\u0430dmin", "DataHub", "anonymous", "Service_x"]
)
def test_a_name_that_reads_like_one_that_is_taken_is_taken(site: Site, name: str) -> None:
    answer = site.sign_up(name, email="x@x.test")
    assert (answer.status, answer.cookies) == (409, [])


@pytest.mark.parametrize("name", ["urn:li:corpuser:datahub", "URN:li:corpuser:admin"])
def test_a_name_that_is_a_urn_is_nobodys(site: Site, name: str) -> None:
    """As the name of a URN, it would be another user's, with that user's permissions."""
    answer = site.sign_up(name, email="x@x.test")
    assert (answer.status, answer.cookies) == (400, [])
    assert "URN" in message(answer)


def test_an_invitation_gives_its_role_and_may_be_used_again(site: Site) -> None:
    word = site.invited(roleUrn=ADMIN)
    for name in (ANA, "bo@x.test"):
        cookie = session_of(site.sign_up(name, word))
        found = site.graphql("{ me { platformPrivileges { managePolicies } } }", cookie=cookie)
        assert found["data"]["me"]["platformPrivileges"]["managePolicies"]


def test_an_invitation_is_shown_again_until_another_takes_its_place(site: Site) -> None:
    first, admins = site.invited(), site.invited(roleUrn=ADMIN)
    assert site.invited() == first != admins
    second = site.graphql(NEW_INVITE, i={})["data"]["createInviteToken"]["inviteToken"]
    assert site.invited() == second
    assert site.sign_up(word=first).status == 400
    assert site.sign_up(word=second).status == 200
    assert site.sign_up("bo@x.test", admins).status == 200


def test_an_invitation_is_good_for_a_week(site: Site) -> None:
    word = site.invited()
    site.now += 7 * DAY
    assert site.sign_up(word=word).status == 400
    assert site.invited() != word


def test_words_and_passwords_are_stored_nowhere(site: Site, tmp_path: Path) -> None:
    word = site.invited()
    site.sign_up(word=word)
    reset = site.graphql(RESET, i={"userUrn": user(ANA)})["data"]["createNativeUserResetToken"]
    texts = [PASSWORD, word, reset["resetToken"], site.session()]
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert [text for text in texts if text.encode() in stored] == []
    assert b"$argon2id$" in stored
    with site.service.reading() as reading:
        assert not any("$argon2id$" in (row.row or "") for row in reading.feed(0))


# Signing in


def test_a_password_opens_a_session_that_makes_tokens(site: Site) -> None:
    site.sign_up()
    token = token_for(site, site.session())
    assert site.graphql(ME, token=token)["data"]["me"]["corpUser"]["urn"] == user(ANA)
    assert site.send("GET", "/config", token=token).status == 200


def test_whoever_is_not_let_in_is_told_the_same_after_the_same_work(site: Site) -> None:
    """Equal timing by construction: one comparison each, for any user."""
    for name in ("sue@x.test", "gone@x.test", ANA):
        site.sign_up(name)
    site.put_person("bob")
    site.graphql(STATUS, u=user("sue@x.test"), s="SUSPENDED")
    site.graphql(REMOVE, u=user("gone@x.test"))
    told = set()
    for name, password in [
        (ANA, "wrong horse 7"),
        ("nobody", PASSWORD),
        ("sue@x.test", PASSWORD),
        ("gone@x.test", PASSWORD),
        ("bob", PASSWORD),
        ("datahub", "datahub"),
        ("__datahub_system", PASSWORD),
    ]:
        before = site.passwords.compared
        answer = site.log_in(name, password)
        assert site.passwords.compared == before + 1, name
        assert answer.cookies == []
        told.add((answer.status, answer.body))
    assert [(status, json.loads(body)["message"]) for status, body in told] == [
        (400, "Invalid Credentials")
    ]


@pytest.mark.parametrize("body", [{}, {"username": "", "password": "x"}, {"username": ANA}, []])
def test_what_is_no_attempt_is_refused(site: Site, body: object) -> None:
    assert site.send("POST", "/logIn", body).status == 400


def test_whoever_comes_back_from_suspension_signs_in_again(site: Site) -> None:
    cookie = session_of(site.sign_up())
    site.graphql(STATUS, u=user(ANA), s="SUSPENDED")
    assert site.send("POST", "/api/graphql", {"query": ME}, cookie=cookie).status == 403
    site.graphql(STATUS, u=user(ANA), s="ACTIVE")
    assert site.me(site.session()) == user(ANA)


@pytest.mark.parametrize("way", ["removeUser", "hard delete"])
def test_with_the_user_go_password_session_and_tokens(site: Site, way: str) -> None:
    cookie = session_of(site.sign_up())
    token = token_for(site, cookie)
    if way == "removeUser":
        site.graphql(REMOVE, u=user(ANA))
    else:
        body = {"urn": user(ANA)}
        assert site.send("POST", "/entities?action=delete", body, token=TOKEN).status == 200
    assert site.me(cookie) is None
    assert site.send("POST", "/api/graphql", {"query": ME}, token=token).status == 401
    assert site.log_in().status == 400
    assert site.sign_up().status == 200
    assert site.me(cookie) is None


def test_whoever_leaves_the_directory_has_no_password_any_more(site: Site) -> None:
    site.sign_up("ana")
    site.put_person("ana")
    root = Actor("admin", credential="root")
    site.service.write(
        root, lambda transaction: people.remove(transaction, "main", Principal(USER, "ana"))
    )
    assert site.log_in("ana").status == 400


# Sessions


def test_a_session_is_good_for_graphql_in_its_realm_and_nothing_else(site: Site) -> None:
    site.service.write(
        SYSTEM, lambda transaction: realms.establish(transaction, Realm("other", "datahub"))
    )
    cookie = session_of(site.sign_up())
    for path in ("/api/graphql", "/api/v2/graphql", "/r/datahub/api/graphql"):
        assert site.me(cookie, path) == user(ANA)
    assert site.me(cookie, "/r/other/api/graphql") is None
    assert site.send("GET", "/entitiesV2/urn%3Ali%3Atag%3Ax", cookie=cookie).status == 401
    assert site.send("GET", "/api/v1/whoami", cookie=cookie).status == 401
    assert site.send("GET", "/api/metalakes", cookie=cookie).status == 401


def test_a_session_is_no_token_and_a_token_is_no_session(site: Site) -> None:
    cookie = session_of(site.sign_up())
    assert site.send("POST", "/api/graphql", {"query": ME}, token=cookie).status == 401
    assert site.me(token_for(site, cookie)) is None
    listed = site.graphql("{ listAccessTokens(input: {}) { tokens { name } } }")
    assert [one["name"] for one in listed["data"]["listAccessTokens"]["tokens"]] == ["cli"]


def test_a_header_counts_and_the_cookie_beside_it_does_not(site: Site) -> None:
    cookie = session_of(site.sign_up())
    answer = site.send("POST", "/api/graphql", {"query": ME}, cookie=cookie, token=TOKEN)
    assert b"urn:li:corpuser:admin" in answer.body
    wrong = site.send("POST", "/api/graphql", {"query": ME}, cookie=cookie, token="lw_x")
    assert wrong.status == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "https://evil.test", "host": "hub.test"}, 403),
        ({"origin": "null", "host": "hub.test"}, 403),
        ({"origin": "http://hub.test", "host": "hub.test"}, 200),
        ({"origin": "http://127.0.0.1:8787"}, 200),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"sec_fetch_site": "same-origin"}, 200),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_a_foreign_page_cannot_use_a_session(
    site: Site, headers: dict[str, str], status: int
) -> None:
    cookie = session_of(site.sign_up())
    body = {"query": ME}
    assert site.send("POST", "/api/graphql", body, cookie=cookie, **headers).status == status


def test_two_sessions_together_are_nobodys(site: Site) -> None:
    cookie = session_of(site.sign_up())
    assert site.me(f"{cookie}; PLAY_SESSION={site.session()}") is None


def test_a_session_lives_on_while_it_is_used_and_for_eight_hours_at_most(site: Site) -> None:
    cookie = session_of(site.sign_up())
    for _ in range(16):
        assert site.me(cookie) == user(ANA)
        site.now += 29 * 60
    assert site.me(cookie) == user(ANA)
    site.now += 17 * 60
    assert site.me(cookie) is None


def test_a_session_that_nobody_uses_ends_after_half_an_hour(site: Site) -> None:
    cookie = session_of(site.sign_up())
    site.now += 30 * 60
    assert site.me(cookie) is None


def test_a_session_is_not_written_for_each_request(site: Site) -> None:
    cookie = session_of(site.sign_up())
    before = site.service.state.revision
    for _ in range(20):
        site.now += 10
        site.me(cookie)
    assert site.service.state.revision == before


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_logging_out_ends_the_session_and_no_other(site: Site, method: str) -> None:
    first = session_of(site.sign_up())
    second = site.session()
    answer = site.send(method, "/logOut", cookie=first)
    assert answer.status == 200
    assert all("Max-Age=0" in cookie for cookie in answer.cookies)
    assert (site.me(first), site.me(second)) == (None, user(ANA))
    assert site.send(method, "/logOut").status == 200


def test_nobody_has_sessions_without_end(site: Site) -> None:
    cookies = [session_of(site.sign_up())]
    for _ in range(33):
        cookies.append(site.session())
        site.now += 1
    assert [site.me(cookie) is None for cookie in cookies] == [True, True] + [False] * 32


# New passwords


def reset_secret(site: Site, name: str = ANA) -> str:
    answer = site.graphql(RESET, i={"userUrn": user(name)})
    word: str = answer["data"]["createNativeUserResetToken"]["resetToken"]
    return word


def choose(site: Site, word: str, password: str, email: str = ANA) -> int:
    body = {"email": email, "password": password, "resetToken": word}
    return site.send("POST", "/resetNativeUserCredentials", body).status


def test_a_new_password_ends_the_sessions_and_the_old_password(site: Site) -> None:
    cookie = session_of(site.sign_up())
    word = reset_secret(site)
    assert choose(site, word, "another horse 8") == 200
    assert site.me(cookie) is None
    assert site.log_in().status == 400
    assert site.me(site.session(password="another horse 8")) == user(ANA)


def test_a_word_to_choose_a_password_is_good_once_for_a_day_and_for_its_user(site: Site) -> None:
    site.sign_up()
    site.sign_up("bo@x.test")
    first, word = reset_secret(site), reset_secret(site)
    assert choose(site, first, "another horse 8") == 400
    assert choose(site, word, "another horse 8", "bo@x.test") == 400
    assert choose(site, word, "short") == 400
    assert choose(site, word, "another horse 8") == 200
    assert choose(site, word, "a third horse 9") == 400
    late = reset_secret(site)
    site.now += DAY
    assert choose(site, late, "a third horse 9") == 400


def test_whoever_was_suspended_chooses_no_password(site: Site) -> None:
    site.sign_up()
    word = reset_secret(site)
    site.graphql(STATUS, u=user(ANA), s="SUSPENDED")
    assert choose(site, word, "another horse 8") == 400
    assert site.log_in(password="another horse 8").status == 400


@pytest.mark.parametrize("name", ["datahub", "bob", "nobody", "__datahub_system"])
def test_nobody_gives_a_password_to_whoever_has_none(site: Site, name: str) -> None:
    site.put_person("bob")
    answer = site.graphql(RESET, i={"userUrn": user(name)})
    assert answer["errors"][0]["extensions"]["code"] == 400


# Remaining data


def test_who_came_in_and_who_did_not_is_audited_without_secrets(site: Site) -> None:
    site.sign_up(word="lw_no")
    cookie = session_of(site.sign_up())
    site.log_in(password="wrong horse 7")
    site.session()
    site.send("POST", "/logOut", cookie=cookie)
    choose(site, "lw_no", "another horse 8")
    choose(site, reset_secret(site), "another horse 8")
    told = [
        (row["operation"], row["outcome"])
        for row in site.audit()
        if row.get("target") == f"corpuser:{user(ANA)}"
    ]
    assert told == [
        ("user.sign_up", "deny"),
        ("user.sign_up", "allow"),
        ("user.log_in", "deny"),
        ("user.log_in", "allow"),
        ("user.log_out", "allow"),
        ("user.password", "deny"),
        ("user.reset_password", "allow"),
        ("user.password", "allow"),
    ]
    trail = json.dumps(site.audit())
    assert not [word for word in (PASSWORD, "another horse 8", cookie) if word in trail]


def test_no_password_is_kept_where_nothing_hashes_them(site: Site) -> None:
    parts = site.application.parts
    parts.services = type(parts.services)(passwords=None)
    assert site.log_in().status == 400
    assert "nobody signs in" in message(site.log_in(address=HERE))


def test_passwords_and_sessions_survive_a_backup(site: Site, tmp_path: Path) -> None:
    cookie = session_of(site.sign_up())
    word = site.invited()
    saved, fresh = tmp_path / "saved", f"sqlite:///{tmp_path}/fresh"
    with open_store(f"sqlite:///{tmp_path}/store") as store:
        store.backup(saved)
    restore(saved, fresh)
    with Site(fresh) as other:
        assert other.me(cookie) == user(ANA)
        assert other.me(other.session()) == user(ANA)
        assert other.invited() == word


@pytest.mark.parametrize("below", ["", "/api", "/api/gms"])
def test_a_client_finds_the_frontend_wherever_it_looks(site: Site, below: str) -> None:
    body = {"username": "nobody", "password": "wrong"}
    answer = site.send("POST", f"{below}/logIn", body)
    assert (answer.status, json.loads(answer.body)["message"]) == (400, "Invalid Credentials")
