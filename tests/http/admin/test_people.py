"""People, memberships and tokens over our own API."""

from __future__ import annotations

import pytest

from tests.http.admin.api import Api
from tests.http.admin.conftest import TABLE

M = "/directories/main"
G = "/realms/gravitino"
CHECK = {"operation": "table.load", "entity": TABLE}


def test_people_come_and_go(api: Api) -> None:
    for _ in range(2):
        assert api.ask("PUT", f"{M}/users/ana").status == 204
        assert api.ask("PUT", f"{M}/groups/staff").status == 204
    found = api.must("GET", f"{M}/principals")
    assert found["principals"] == ["group:staff", "user:admin", "user:ana"]
    assert api.must("GET", f"{M}/principals", query={"kind": "group"})["total"] == 1
    for _ in range(2):
        assert api.ask("DELETE", f"{M}/users/ana").status == 204
    assert api.must("GET", f"{M}/principals", query={"kind": "user"})["total"] == 1


@pytest.mark.parametrize("name", ["a%20", "%E2%80%AEa", "%2E%2E", "a" * 257])
def test_a_name_that_nobody_may_have_is_refused(api: Api, name: str) -> None:
    assert api.ask("PUT", f"{M}/users/{name}").status == 400


def test_a_membership_gives_and_its_end_takes(lake: Api) -> None:
    group = {"member": "group:staff", "of": "role:lk:readers"}
    lake.must("PUT", f"{G}/memberships", group)
    body = {"member": "user:ben", "of": "group:staff"}
    lake.must("PUT", f"{M}/memberships", body)
    lake.must("PUT", f"{M}/memberships", body)
    assert lake.must("POST", f"{G}/check", CHECK, user="ben")["allow"] is True
    rows = lake.must("GET", f"{G}/memberships")["memberships"]
    assert body in rows
    assert group in rows
    assert lake.ask("DELETE", f"{M}/memberships", query=body).status == 204
    assert lake.ask("DELETE", f"{M}/memberships", query=body).status == 204
    assert lake.must("POST", f"{G}/check", CHECK, user="ben")["allow"] is False


def test_what_cannot_be_a_member_is_refused(api: Api) -> None:
    api.must("PUT", f"{M}/memberships", {"member": "group:b", "of": "group:a"})
    for member, of in (
        ("group:a", "group:b"),
        ("group:a", "group:a"),
        ("user:x", "user:y"),
        ("user:x", "role:r"),
        ("user:x", "all-users"),
    ):
        answer = api.ask("PUT", f"{M}/memberships", {"member": member, "of": of})
        assert answer.status == 400, (member, of)
    body = {"member": "role:lk:r", "of": "group:staff"}
    assert api.ask("PUT", f"{G}/memberships", body).status == 400


def test_a_person_who_is_gone_leaves_nothing_behind(lake: Api) -> None:
    token = lake.must("POST", "/tokens", {"user": "zoe"})["token"]
    assert lake.ask("GET", "/whoami", token=token).status == 200
    assert lake.ask("DELETE", f"{M}/users/zoe").status == 204
    assert lake.ask("GET", "/whoami", token=token).status == 401
    ids = {one["id"] for one in lake.must("GET", f"{G}/statements")["statements"]}
    assert ids == {"read", "use"}


def test_the_only_owner_of_something_stays(lake: Api) -> None:
    owners = {"entity": TABLE, "owners": [{"principal": "user:ana"}]}
    lake.must("PUT", f"{G}/entity", owners)
    answer = lake.ask("DELETE", f"{M}/users/ana")
    assert answer.status == 409
    assert TABLE in answer.body["detail"]
    assert lake.must("POST", f"{G}/check", CHECK, user="ana")["allow"] is True


def test_the_last_administrator_stays(api: Api) -> None:
    assert api.ask("DELETE", f"{M}/users/admin").status == 409
    row = {"member": "user:admin", "of": "service-admins"}
    assert api.ask("DELETE", "/realms/_server/memberships", query=row).status == 409
    api.must("PUT", "/realms/_server/memberships", {**row, "member": "user:ana"})
    api.must("PUT", f"{M}/users/ana")
    assert api.ask("DELETE", "/realms/_server/memberships", query=row).status == 204
    assert api.must("GET", "/whoami")["administrator"] is False
    assert api.must("GET", "/whoami", user="ana")["administrator"] is True


def test_who_manages_people_cannot_become_more_than_that(api: Api) -> None:
    rights = "/realms/_server/statements"
    people = {"privileges": ["MANAGE_DIRECTORY", "READ_DIRECTORY"], "on": "directory:main"}
    api.must("PUT", f"{rights}/people", {**people, "to": ["user:pam"]})
    server = {"privileges": ["MANAGE_SERVER"], "to": ["group:root"], "on": "server:lakewarden"}
    api.must("PUT", f"{rights}/root", server)
    api.must("PUT", f"{M}/memberships", {"member": "group:ops", "of": "group:root"})
    assert api.ask("PUT", f"{M}/users/ana", user="pam").status == 204
    assert api.ask("POST", "/tokens", {"user": "ana"}, user="pam").status == 201
    for method, path, body, operation in (
        ("POST", "/tokens", {"user": "admin"}, "token.create_powerful"),
        (
            "PUT",
            f"{M}/memberships",
            {"member": "user:pam", "of": "group:ops"},
            "membership.change_powerful",
        ),
        ("DELETE", f"{M}/users/admin", None, "person.remove_powerful"),
    ):
        answer = api.ask(method, path, body, user="pam")
        assert (answer.status, answer.body["operation"]) == (403, operation)


def test_a_token_is_one_s_own_shown_once_and_good_until_revoked(api: Api) -> None:
    made = api.ask("POST", "/tokens", {"title": "laptop", "seconds": 60}, user="ana")
    assert made.status == 201
    text = made.body["token"]
    assert api.must("GET", "/whoami", token=text)["user"] == "ana"
    listed = api.must("GET", "/tokens", user="ana")["tokens"]
    assert [one["title"] for one in listed] == ["laptop"]
    assert text not in str(listed)
    stolen = api.ask("DELETE", f"/tokens/{made.body['id']}", user="ben")
    absent = api.ask("DELETE", "/tokens/t0", user="ben")
    assert stolen.status == absent.status == 403
    assert api.ask("DELETE", f"/tokens/{made.body['id']}", token=text).status == 204
    assert api.ask("GET", "/whoami", token=text).status == 401


def test_a_token_for_one_realm_is_refused_everywhere_else(lake: Api) -> None:
    body = {"user": "admin", "realm": "gravitino"}
    text = lake.must("POST", "/tokens", body)["token"]
    assert lake.ask("POST", f"{G}/check", CHECK, token=text).status == 200
    assert lake.ask("POST", "/realms/cdap/check", CHECK, token=text).status == 403
    assert lake.ask("GET", f"{G}/statements", token=text).status == 403
    assert lake.ask("POST", "/tokens", {}, token=text).status == 403
    assert lake.must("GET", "/whoami", token=text)["administrator"] is False


@pytest.mark.parametrize(
    "body", [{"seconds": 0}, {"seconds": -1}, {"seconds": 1e9}, {"user": ".."}, {"realm": "x"}]
)
def test_a_token_without_an_end_or_a_place_is_refused(api: Api, body: dict[str, object]) -> None:
    assert api.ask("POST", "/tokens", body).status in (400, 404)


def test_the_same_name_in_another_directory_is_somebody_else(api: Api) -> None:
    api.must("POST", "/realms", {"name": "far", "model": "gravitino", "directory": "other"})
    body = {"user": "admin", "directory": "other"}
    text = api.must("POST", "/tokens", body)["token"]
    me = api.must("GET", "/whoami", token=text)
    assert (me["user"], me["directory"], me["administrator"]) == ("admin", "other", False)
    realms = [one["name"] for one in api.must("GET", "/realms", token=text)["realms"]]
    assert realms == ["far"]
    check = {"operation": "metalake.create"}
    assert api.ask("POST", "/realms/far/check", check, token=text).status == 200
    assert api.ask("POST", f"{G}/check", check, token=text).status == 403


def test_a_plain_user_may_revoke_its_own_token_again_and_learns_nothing_of_others(
    lake: Api,
) -> None:
    own = lake.must("POST", "/tokens", {"user": "ana"}, user="ana")["id"]
    other = lake.must("POST", "/tokens", {"user": "ben"}, user="ben")["id"]
    again = [lake.ask("DELETE", f"/tokens/{own}", user="ana") for _ in range(3)]
    assert [answer.status for answer in again] == [204] * 3
    there = lake.ask("DELETE", f"/tokens/{other}", user="ana")
    lake.must("DELETE", f"/tokens/{other}", user="ben")
    gone = lake.ask("DELETE", f"/tokens/{other}", user="ana")
    never = lake.ask("DELETE", "/tokens/t0123456789abcdef01234567", user="ana")
    told = [{**one.body, "request_id": ""} for one in (there, gone, never)]
    assert there.status == 403
    assert told == [told[0]] * 3
