"""Sessions of the pages over our own API: who gets one, its permissions, and its end."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import pytest

from lakewarden.service import session
from tests.http.admin.api import Answer, Api
from tests.http.admin.conftest import TABLE

S = "/session"
CHECK = {"operation": "table.load", "entity": TABLE}


class Browser:
    """Stores the cookie and the token that requests need, like the pages."""

    def __init__(self, api: Api, answer: Answer) -> None:
        self._api = api
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        self.csrf = answer.body["csrf"]

    def ask(self, method: str, path: str, body: object = None, **more: Any) -> Answer:
        headers = {"cookie": self.cookie, "lakewarden-csrf": self.csrf, **more.pop("headers", {})}
        sent = {name: value for name, value in headers.items() if value is not None}
        return self._api.ask(method, path, body, user=None, headers=sent, **more)


def signed_in(api: Api, user: str = "ana") -> Browser:
    answer = api.ask("POST", S, {"user": user}, user=None)
    assert answer.status == 201
    return Browser(api, answer)


def test_a_name_is_enough_where_names_are_believed(lake: Api) -> None:
    answer = lake.ask("POST", S, {"user": "ana"}, user=None)
    assert answer.status == 201
    kept = answer.headers["set-cookie"]
    assert kept.startswith("lakewarden_ui=lw_")
    assert "HttpOnly" in kept
    assert "SameSite=Strict" in kept
    browser = Browser(lake, answer)
    told = browser.ask("GET", S).body
    assert (told["user"], told["administrator"], told["csrf"]) == ("ana", False, browser.csrf)
    assert browser.ask("POST", "/realms/gravitino/check", CHECK).body["allow"] is True


def test_behind_https_the_cookie_is_bound_to_the_host(tmp_path: Path) -> None:
    with Api(tmp_path, public_url="https://lake.example", allowed_hosts=["127.0.0.1"]) as api:
        answer = api.ask("POST", S, {"user": "ana"}, user=None)
        kept = answer.headers["set-cookie"]
        assert kept.startswith("__Host-lakewarden=lw_")
        assert "; Secure" in kept
        assert Browser(api, answer).ask("GET", S).body["user"] == "ana"


def test_a_name_is_not_enough_elsewhere(tmp_path: Path) -> None:
    with Api(tmp_path, auth="token") as api:
        assert api.ask("POST", S, {"user": "admin"}, user=None).status == 401
        assert api.ask("POST", S, {"token": "lw_wrong"}, user=None).status == 401


def test_in_simple_mode_a_token_is_exchanged(lake: Api) -> None:
    token = lake.must("POST", "/tokens", {"title": "t"}, user="ana")["token"]
    answer = lake.ask("POST", S, {"token": token}, user=None)
    assert (answer.status, answer.body["user"]) == (201, "ana")
    assert lake.ask("POST", S, {"token": f"{token}x"}, user=None).status == 401
    assert lake.ask("POST", S, {}, user=None).status == 401


@pytest.mark.parametrize("csrf", [None, "", "wrong"])
def test_whatever_changes_or_asks_says_the_token_of_the_session(
    lake: Api, csrf: str | None
) -> None:
    browser = signed_in(lake)
    headers = {"lakewarden-csrf": csrf}
    assert browser.ask("POST", "/realms/gravitino/check", CHECK, headers=headers).status == 403
    assert browser.ask("DELETE", S, headers=headers).status == 403
    assert browser.ask("GET", S, headers=headers).status == 200


def test_a_foreign_page_has_no_session(lake: Api) -> None:
    browser = signed_in(lake)
    assert browser.ask("GET", S, headers={"sec-fetch-site": "cross-site"}).status == 401
    foreign = {"origin": "http://evil.example"}
    assert browser.ask("POST", "/realms/gravitino/check", CHECK, headers=foreign).status == 403


def test_a_session_is_no_token(lake: Api) -> None:
    text = signed_in(lake).cookie.partition("=")[2]
    bearer = {"authorization": f"Bearer {text}"}
    assert lake.ask("GET", S, user=None, headers=bearer).status == 401


def test_a_session_is_valid_below_a_realm_but_not_for_enforcement_points(lake: Api) -> None:
    browser = signed_in(lake)
    headers = {"cookie": browser.cookie, "lakewarden-csrf": browser.csrf}
    below = lake.at("GET", "/r/gravitino/api/metalakes", headers=headers)
    assert below.status == 200
    assert (
        lake.at("GET", "/r/gravitino/api/metalakes", headers={"cookie": browser.cookie}).status
        == 403
    )
    question = {
        "subject": {"type": "user", "id": "ana"},
        "action": {"name": "table.load"},
        "resource": {"type": "table", "id": "lk:sales.raw.orders"},
    }
    assert lake.at("POST", "/access/v1/evaluation", question, headers=headers).status == 401


def test_signing_out_ends_it(lake: Api) -> None:
    browser = signed_in(lake)
    gone = browser.ask("DELETE", S)
    assert gone.status == 204
    assert "Max-Age=0" in gone.headers["set-cookie"]
    assert browser.ask("GET", S).status == 401


def test_signing_in_again_ends_the_session_before(lake: Api) -> None:
    first = signed_in(lake)
    answer = lake.ask("POST", S, {"user": "ana"}, user=None, headers={"cookie": first.cookie})
    assert answer.status == 201
    assert first.ask("GET", S).status == 401
    assert Browser(lake, answer).ask("GET", S).status == 200


def test_a_session_ends_with_its_person(lake: Api) -> None:
    browser = signed_in(lake)
    lake.must("DELETE", "/directories/main/users/ana")
    assert browser.ask("GET", S).status == 401


def test_an_idle_session_ends(lake: Api) -> None:
    browser = signed_in(lake)
    now = lake.service.clock()
    lake.service.clock = lambda: now + session.IDLE + 1.0
    assert browser.ask("GET", S).status == 401


def test_requests_put_the_end_off(lake: Api) -> None:
    browser = signed_in(lake)
    now = lake.service.clock()
    lake.service.clock = lambda: now + session.IDLE - 60.0
    assert browser.ask("GET", S).status == 200
    lake.service.clock = lambda: now + session.IDLE + 60.0
    assert browser.ask("GET", S).status == 200
    lake.service.clock = lambda: now + session.LENGTH + 1.0
    assert browser.ask("GET", S).status == 401


def test_one_sees_and_ends_ones_own_sessions(lake: Api) -> None:
    here, there = signed_in(lake), signed_in(lake)
    rows = here.ask("GET", "/sessions").body["sessions"]
    assert [row["own"] for row in rows] == [True, False]
    assert here.ask("DELETE", f"/sessions/{rows[1]['id']}").status == 204
    assert there.ask("GET", S).status == 401
    assert len(here.ask("GET", "/sessions").body["sessions"]) == 1


def test_only_administrators_end_sessions_of_others(lake: Api) -> None:
    ana, ben = signed_in(lake), signed_in(lake, "ben")
    (row,) = lake.must("GET", "/sessions", query={"user": "ana"})["sessions"]
    assert ben.ask("GET", "/sessions", query={"user": "ana"}).status == 403
    assert ben.ask("DELETE", f"/sessions/{row['id']}").status == 403
    assert lake.ask("DELETE", f"/sessions/{row['id']}").status == 204
    assert ana.ask("GET", S).status == 401


def test_too_many_tries_have_to_wait(lake: Api) -> None:
    for _ in range(50):
        assert lake.ask("POST", S, {"token": "lw_guess"}, user=None).status == 401
    refused = lake.ask("POST", S, {"token": "lw_guess"}, user=None)
    assert refused.status == 429
    assert int(refused.headers["retry-after"]) > 0


def test_a_password_needs_a_realm_that_keeps_them(lake: Api) -> None:
    refused = lake.ask("POST", S, {"user": "ana", "password": "x", "realm": "gravitino"}, user=None)
    assert refused.status == 400
    assert refused.body["errors"][0]["path"] == "realm"
    body = {"user": "ana", "password": "x", "realm": "datahub"}
    assert lake.ask("POST", S, body, user=None).status == 401


def test_signing_in_and_out_is_audited(lake: Api) -> None:
    signed_in(lake).ask("DELETE", S)
    rows = [row["event"] for row in lake.must("GET", "/audit", query={"last": 2})["rows"]]
    assert [row["operation"] for row in rows] == ["session.create", "session.end"]
    assert {row["actor"] for row in rows} == {"ana"}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"user": "ana", "directory": "Not A Name"}, "directory"),
        ({"directory": "../main"}, "directory"),
        ({"user": "ana", "directory": "main"}, "password"),
        ({"user": "ana", "realm": "datahub"}, "password"),
        ({"user": "ana", "password": "any one", "directory": "Not A Name"}, "directory"),
    ],
)
def test_a_malformed_place_or_one_without_a_password_is_refused(
    lake: Api, body: dict[str, str], path: str
) -> None:
    answer = lake.ask("POST", S, body, user=None)
    assert answer.status == 400
    assert path in answer.body["detail"]
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("how", ["body", "header"])
def test_a_session_ends_with_the_token_that_opened_it(lake: Api, how: str) -> None:
    made = lake.must("POST", "/tokens", {"title": "t"}, user="ana")
    text = made["token"]
    if how == "body":
        answer = lake.ask("POST", S, {"token": text}, user=None)
    else:
        answer = lake.ask("POST", S, {}, user=None, headers={"authorization": f"Bearer {text}"})
    browser = Browser(lake, answer)
    assert browser.ask("GET", S).status == 200
    lake.must("DELETE", f"/tokens/{made['id']}", user="ana")
    refused = browser.ask("GET", S)
    assert refused.status == 401
    assert "no longer valid" in str(refused.body)
    assert lake.must("GET", "/sessions", user="ana")["sessions"] == []


def test_a_token_of_the_root_that_is_replaced_ends_its_sessions(tmp_path: Path) -> None:
    roots = [secrets.token_hex(32) for _ in range(2)]
    with Api(tmp_path, auth="token", root_token=roots[0]) as api:
        browser = Browser(api, api.ask("POST", S, {"token": roots[0]}, user=None))
        assert browser.ask("GET", S).body["administrator"] is True
    for root, status in ((roots[0], 200), (roots[1], 401)):
        with Api(tmp_path, auth="token", root_token=root) as api:
            browser._api = api
            assert browser.ask("GET", S).status == status
