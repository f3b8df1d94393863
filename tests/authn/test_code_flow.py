"""Logging in to the pages at a real identity provider, and every possible error in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

import pytest

from lakewarden.service.provider_login import SECONDS
from tests.authn.code_provider import Provider, provider
from tests.http.admin.api import Answer, Api

OWN = "http://127.0.0.1:8787"
CALLBACK = "/ui/login/oidc/callback"
ROOT = "root-token-of-the-tests-5Vq8Zt2LxW"
COOKIE, SESSION = "lakewarden_login", "lakewarden_ui"


@pytest.fixture(scope="module")
def idp() -> Iterator[Provider]:
    with provider(OWN + CALLBACK) as running:
        yield running


def settings(idp: Provider, **more: object) -> dict[str, Any]:
    oidc = {
        "issuer": idp.issuer,
        "audience": "lakewarden",
        "jwks_url": f"{idp.issuer}/jwks",
        "client_id": "pages",
        "client_secret": "a secret of the tests",
        "authorization_url": f"{idp.issuer}/auth",
        "token_url": f"{idp.issuer}/token",
        **more,
    }
    return {"auth": "oidc", "oidc": oidc, "root_token": ROOT}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory, idp: Provider) -> Iterator[Api]:
    """A server for all tests, which leave only sessions, rows of the trail and a permission."""
    with Api(tmp_path_factory.mktemp("served"), **settings(idp)) as api:
        yield api


class Login:
    """One browser that logs in: it stores the received cookies."""

    def __init__(self, api: Api, to: str = "/ui/ask") -> None:
        self._api = api
        answer = api.at("GET", "/ui/login/oidc", query={"to": to})
        assert answer.status == 302, answer
        self.url = answer.headers["location"]
        self.cookies: dict[str, str] = {}
        self._keep(answer)

    def _keep(self, answer: Answer) -> None:
        for line in answer.headers.get_list("set-cookie"):  # type: ignore[attr-defined]  # httpx
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value

    @property
    def question(self) -> dict[str, str]:
        """The request to the provider."""
        return {name: value for name, (value,) in parse_qs(urlsplit(self.url).query).items()}

    def come_back(self, address: str) -> Answer:
        """The response to the final redirect."""
        assert address.startswith(OWN + CALLBACK), address
        sent = "; ".join(f"{name}={value}" for name, value in self.cookies.items() if value)
        answer = self._api.at("GET", address.removeprefix(OWN), headers={"cookie": sent})
        self._keep(answer)
        return answer

    def whoami(self) -> Answer:
        headers = {"cookie": f"{SESSION}={self.cookies[SESSION]}"}
        return self._api.ask("GET", "/session", user=None, headers=headers)


def changed(address: str, **parameters: str | None) -> str:
    """The address with other parameters."""
    parts = urlsplit(address)
    query = {name: value for name, (value,) in parse_qs(parts.query).items()} | parameters
    text = urlencode({name: value for name, value in query.items() if value is not None})
    return urlunsplit(parts._replace(query=text))


@pytest.mark.parametrize("client", ["pages", "public"])
def test_whoever_logs_in_there_has_a_session_here(
    tmp_path: Path, idp: Provider, client: str
) -> None:
    secret = {"client_id": client} | ({"client_secret": None} if client == "public" else {})
    with Api(tmp_path, **settings(idp, **secret)) as api:
        login = Login(api, "/ui/ask?who=user:ana")
        answer = login.come_back(idp.log_in(login.url, "ana"))
        assert (answer.status, answer.headers["location"]) == (303, "/ui/ask?who=user:ana")
        assert login.cookies[COOKIE] == ""
        body = login.whoami().body
        assert (body["user"], body["directory"]) == ("ana", "main")
        assert {"oidc", "token", "password"} <= set(body["modes"])


def test_the_provider_is_asked_with_pkce_state_and_nonce(api: Api, idp: Provider) -> None:
    one, other = Login(api), Login(api)
    asked = one.question
    assert asked["client_id"] == "pages"
    assert asked["redirect_uri"] == OWN + CALLBACK
    assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
    for name in ("state", "nonce", "code_challenge"):
        assert len(asked[name]) == 43
        assert asked[name] != other.question[name]
    assert "secret" not in one.url


def test_the_cookie_of_the_way_back_is_lax_and_the_session_strict(api: Api, idp: Provider) -> None:
    started = api.at("GET", "/ui/login/oidc").headers["set-cookie"]
    assert "HttpOnly; SameSite=Lax; Max-Age=600" in started
    login = Login(api)
    answer = login.come_back(idp.log_in(login.url, "ana"))
    session, over = answer.headers.get_list("set-cookie")  # type: ignore[attr-defined]  # httpx
    assert "HttpOnly; SameSite=Strict" in session
    assert "Max-Age=0" in over


def test_groups_that_the_provider_asserts_count_in_the_session(api: Api, idp: Provider) -> None:
    body = {"privileges": ["READ_REALM"], "to": ["group:stewards"], "on": "realm:gravitino"}
    api.must("PUT", "/realms/_server/statements/stewards", body, user=None, token=ROOT)
    statuses = {}
    for user in ("ana", "ben"):
        login = Login(api)
        login.come_back(idp.log_in(login.url, user))
        headers = {"cookie": f"{SESSION}={login.cookies[SESSION]}"}
        path = "/realms/gravitino/statements"
        statuses[user] = api.ask("GET", path, user=None, headers=headers).status
    assert statuses == {"ana": 200, "ben": 403}


def test_an_answer_with_another_state_is_refused_and_the_login_goes_on(
    api: Api, idp: Provider
) -> None:
    login, other = Login(api), Login(api)
    back = idp.log_in(login.url, "ana")
    for address in (
        changed(back, state=other.question["state"]),
        changed(back, state=None),
        changed(back, state="ä"),
    ):
        answer = login.come_back(address)
        assert answer.status == 401
        assert "belongs to another login" in answer.body
        assert SESSION not in login.cookies
    assert login.come_back(back).status == 303


def test_a_code_of_somebody_elses_login_is_refused(api: Api, idp: Provider) -> None:
    mine, theirs = Login(api), Login(api)
    code = parse_qs(urlsplit(idp.log_in(theirs.url, "ana")).query)["code"][0]
    answer = mine.come_back(changed(idp.log_in(mine.url, "ben"), code=code))
    assert answer.status == 401
    assert "rejected the code" in answer.body
    assert SESSION not in mine.cookies


def test_an_id_token_with_another_nonce_is_refused(api: Api, idp: Provider) -> None:
    login = Login(api)
    answer = login.come_back(idp.log_in(changed(login.url, nonce="of another login"), "ana"))
    assert answer.status == 401
    assert SESSION not in login.cookies
    (row,) = api.must("GET", "/audit", query={"last": "1"}, user=None, token=ROOT)["rows"]
    assert row["event"]["operation"] == "session.create"
    assert row["event"]["outcome"] == "deny"
    assert "nonce belongs to another login" in row["event"]["reason"]


def test_an_answer_counts_once(api: Api, idp: Provider) -> None:
    login = Login(api)
    kept = dict(login.cookies)
    back = idp.log_in(login.url, "ana")
    assert login.come_back(back).status == 303
    login.cookies = kept
    answer = login.come_back(back)
    assert (answer.status, "login has expired" in answer.body) == (401, True)


def test_a_login_ends_after_ten_minutes(
    api: Api, idp: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = Login(api)
    back = idp.log_in(login.url, "ana")
    now = api.service.clock()
    monkeypatch.setattr(api.service, "clock", lambda: now + SECONDS + 1.0)
    answer = login.come_back(back)
    assert (answer.status, "took too long" in answer.body) == (401, True)


def test_whoever_gives_up_there_is_told_so(api: Api, idp: Provider) -> None:
    login = Login(api)
    answer = login.come_back(idp.log_in(login.url, "ana", consents=False))
    assert (answer.status, "refused the login" in answer.body) == (401, True)


def test_an_answer_of_another_provider_is_refused(api: Api, idp: Provider) -> None:
    login = Login(api)
    back = idp.log_in(login.url, "ana")
    assert parse_qs(urlsplit(back).query)["iss"] == [idp.issuer]
    answer = login.come_back(changed(back, iss="https://evil.example"))
    assert (answer.status, "another identity provider" in answer.body) == (401, True)


@pytest.mark.parametrize("cookie", ["", "x", "bm90IGpzb24", "W10", "WzEsMiwzXQ", "a" * 5_000])
def test_without_the_cookie_of_the_login_nothing_comes_of_an_answer(
    api: Api, idp: Provider, cookie: str
) -> None:
    login = Login(api)
    back = idp.log_in(login.url, "ana")
    login.cookies[COOKIE] = cookie
    answer = login.come_back(back)
    assert answer.status == 401
    assert SESSION not in login.cookies


def test_the_administrators_name_is_nobodys_at_the_provider(api: Api, idp: Provider) -> None:
    login = Login(api)
    answer = login.come_back(idp.log_in(login.url, "admin"))
    assert (answer.status, "this name is reserved" in answer.body.lower()) == (401, True)


def test_another_secret_of_the_client_is_refused_by_the_provider(
    tmp_path: Path, idp: Provider
) -> None:
    with Api(tmp_path, **settings(idp, client_secret="another one")) as api:
        login = Login(api)
        answer = login.come_back(idp.log_in(login.url, "ana"))
        assert (answer.status, "rejected the code" in answer.body) == (401, True)


@pytest.mark.parametrize("path", ["nowhere", "jwks", "auth"])
def test_what_is_no_token_endpoint_logs_nobody_in(tmp_path: Path, idp: Provider, path: str) -> None:
    with Api(tmp_path, **settings(idp, token_url=f"{idp.issuer}/{path}")) as api:
        login = Login(api)
        answer = login.come_back(idp.log_in(login.url, "ana"))
        assert answer.status == 401
        assert SESSION not in login.cookies


@pytest.mark.parametrize("to", ["//evil.example", "https://evil.example", "/ui/../x", "/api/v1"])
def test_the_way_back_leads_to_our_own_pages_only(api: Api, idp: Provider, to: str) -> None:
    login = Login(api, to)
    answer = login.come_back(idp.log_in(login.url, "ana"))
    assert (answer.status, answer.headers["location"]) == (303, "/ui/")


def test_a_provider_that_is_away_is_said_so(tmp_path: Path) -> None:
    with provider(OWN + CALLBACK) as idp, Api(tmp_path, **settings(idp)) as api:
        login = Login(api)
        back = idp.log_in(login.url, "ana")
        idp.stop()
        answer = login.come_back(back)
        assert (answer.status, "does not answer" in answer.body) == (503, True)


def test_the_login_page_offers_the_provider_where_there_is_one(
    api: Api, tmp_path_factory: pytest.TempPathFactory
) -> None:
    page = api.at("GET", "/ui/login", query={"to": "/ui/ask"}).body
    assert 'href="/ui/login/oidc?to=%2Fui%2Fask"' in page
    with Api(tmp_path_factory.mktemp("without")) as without:
        assert "/ui/login/oidc" not in without.at("GET", "/ui/login").body
        assert without.at("GET", "/ui/login/oidc").status == 404
        assert without.at("GET", CALLBACK).status == 404
