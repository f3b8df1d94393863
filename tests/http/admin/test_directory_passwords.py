"""Passwords of a directory's people: set by operators, valid for the pages."""

from __future__ import annotations

import pytest

from lakewarden.service.throttle import FROM_ADDRESS
from tests.http.admin.api import Answer, Api
from tests.http.admin.test_sessions import CHECK, Browser

SECRET = "correct horse 7"
ANA = "/directories/main/users/ana/password"


def set_password(api: Api, user: str = "ana", password: str = SECRET) -> None:
    api.must("PUT", f"/directories/main/users/{user}/password", {"password": password})


def sign_in(api: Api, user: str = "ana", password: str = SECRET, **more: str) -> Answer:
    return api.ask("POST", "/session", {"user": user, "password": password, **more}, user=None)


def test_whoever_has_a_password_signs_in_with_it(lake: Api) -> None:
    assert sign_in(lake).status == 401
    set_password(lake)
    answer = sign_in(lake)
    assert answer.status == 201
    browser = Browser(lake, answer)
    body = browser.ask("GET", "/session").body
    assert (body["user"], body["directory"], body["realm"]) == ("ana", "main", None)
    assert "password" in body["modes"]
    assert browser.ask("POST", "/realms/gravitino/check", CHECK).body["allow"] is True
    assert sign_in(lake, directory="main").status == 201


@pytest.mark.parametrize(
    ("user", "more"),
    [("ben", {}), ("nobody", {}), ("ana", {"directory": "other"})],
    ids=["no password", "nobody", "another directory"],
)
def test_who_has_none_is_refused_as_with_a_wrong_one(
    lake: Api, user: str, more: dict[str, str]
) -> None:
    set_password(lake)
    wrong = sign_in(lake, password="correct horse 8")
    refused = sign_in(lake, user, **more)
    assert (refused.status, refused.body["detail"]) == (wrong.status, wrong.body["detail"])
    assert wrong.status == 401


def test_a_new_password_ends_the_sessions(lake: Api) -> None:
    set_password(lake)
    browser = Browser(lake, sign_in(lake))
    set_password(lake, password="another horse 8")
    assert browser.ask("GET", "/session").status == 401
    assert sign_in(lake).status == 401
    assert sign_in(lake, password="another horse 8").status == 201


def test_without_the_password_nobody_signs_in_and_sessions_end(lake: Api) -> None:
    set_password(lake)
    browser = Browser(lake, sign_in(lake))
    lake.must("DELETE", ANA)
    lake.must("DELETE", ANA)
    assert browser.ask("GET", "/session").status == 401
    assert sign_in(lake).status == 401


def test_a_password_is_deleted_with_the_person_and_not_restored(lake: Api) -> None:
    set_password(lake)
    browser = Browser(lake, sign_in(lake))
    lake.must("DELETE", "/directories/main/users/ana")
    assert browser.ask("GET", "/session").status == 401
    lake.must("PUT", "/directories/main/users/ana")
    assert sign_in(lake).status == 401


def test_tries_are_limited_and_a_new_password_lets_in_again(lake: Api) -> None:
    set_password(lake)
    for _ in range(FROM_ADDRESS):
        assert sign_in(lake, password="wrong").status == 401
    refused = sign_in(lake)
    assert (refused.status, int(refused.headers["retry-after"]) > 0) == (429, True)


@pytest.mark.parametrize("password", ["", "short", "aaaaaaaa", "ana", "password123", "x" * 257])
def test_a_password_that_is_easily_guessed_is_refused(lake: Api, password: str) -> None:
    answer = lake.ask("PUT", ANA, {"password": password})
    assert answer.status == 400
    assert not password or password not in answer.body["detail"]


def test_somebody_who_is_not_there_gets_none(lake: Api) -> None:
    body = {"password": SECRET}
    assert lake.ask("PUT", "/directories/main/users/nobody/password", body).status == 404


def test_passwords_are_set_by_a_manager_of_the_directory(lake: Api) -> None:
    body = {"password": SECRET}
    refused = lake.ask("PUT", ANA, body, user="ben")
    assert (refused.status, refused.body["operation"]) == (403, "password.change")
    right = {"privileges": ["MANAGE_DIRECTORY"], "to": ["user:ben"], "on": "directory:main"}
    lake.must("PUT", "/realms/_server/statements/people", right)
    assert lake.ask("PUT", ANA, body, user="ben").status == 204
    powerful = lake.ask("PUT", "/directories/main/users/admin/password", body, user="ben")
    assert (powerful.status, powerful.body["operation"]) == (403, "password.change_powerful")
    assert lake.ask("DELETE", ANA, user="zoe").status == 403


def test_setting_and_trying_is_audited_without_the_password(lake: Api) -> None:
    set_password(lake)
    sign_in(lake, password="wrong horse 7")
    rows = [row["event"] for row in lake.must("GET", "/audit", query={"last": "2"})["rows"]]
    assert [(row["operation"], row["outcome"]) for row in rows] == [
        ("password.change", "allow"),
        ("session.create", "deny"),
    ]
    assert "horse" not in str(rows)


def test_the_page_offers_directories_and_realms(lake: Api) -> None:
    set_password(lake)
    page = lake.at("GET", "/ui/login").body
    assert 'value="directory:main"' in page
    assert 'value="realm:datahub"' in page
    form = f"user=ana&password={SECRET.replace(' ', '+')}&place=directory%3Amain&to=%2Fui%2Fask"
    headers = {"content-type": "application/x-www-form-urlencoded"}
    answer = lake.at("POST", "/ui/login", form.encode(), headers=headers)
    assert (answer.status, answer.headers["location"]) == (303, "/ui/ask")
    wrong = lake.at("POST", "/ui/login", form.replace("7", "8").encode(), headers=headers)
    assert wrong.status == 401
    assert 'value="directory:main" selected' in wrong.body
