"""The audit trail over our own API."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.admin.api import Api


def rows(api: Api, **query: str) -> list[dict[str, object]]:
    return [row["event"] for row in api.must("GET", "/audit", query=query)["rows"]]


def test_writes_and_denied_writes_leave_a_row_with_who_what_and_why(api: Api) -> None:
    answer = api.ask("POST", "/realms", {"name": "x", "model": "gravitino"}, user="ana")
    assert answer.status == 403
    api.must("POST", "/realms", {"name": "x", "model": "gravitino"})
    denied, allowed = rows(api, last="2")
    assert (denied["actor"], denied["outcome"]) == ("ana", "deny")
    assert denied["request_id"] == answer.body["request_id"]
    assert (allowed["actor"], allowed["outcome"]) == ("admin", "allow")
    assert allowed["operation"] == denied["operation"] == "realm.create"


@pytest.mark.parametrize(
    ("kind", "on", "before", "after"),
    [
        ("filter", "table:lk:c.s.t", "region = $user.name", "region = 'eu'"),
        ("mask", "column:lk:c.s.t.iban", "last4", "null"),
    ],
)
def test_a_filter_or_mask_that_is_stored_changed_or_removed_leaves_rows_that_name_it(
    api: Api, kind: str, on: str, before: str, after: str
) -> None:
    path = f"/realms/gravitino/{kind}s/limit"
    removing = "/realms/gravitino/statements/limit"
    right = {"privileges": ["MANAGE_REALM"], "to": ["user:sue"], "on": "realm:gravitino"}
    api.must("PUT", "/realms/_server/statements/sue", right)
    start = len(rows(api))
    api.must("PUT", path, {"on": on, "expression": before}, user="sue")
    api.must("PUT", path, {"on": on, "expression": after})
    for method, at, body in (
        ("PUT", path, {"on": on, "expression": before}),
        ("DELETE", removing, None),
    ):
        assert api.ask(method, at, body, user="ana").status == 403
    api.must("DELETE", removing, user="sue")
    found: list[Any] = rows(api)[start:]
    told = [
        (
            row["actor"],
            row["outcome"],
            row["operation"],
            row["target"],
            row["details"]["statement"],
            row["details"]["effect"],
            row["details"]["expression"],
        )
        for row in found
    ]
    put, remove, of = "statement.put", "statement.remove", ("realm:gravitino", "limit", kind)
    assert told == [
        ("sue", "allow", put, *of, before),
        ("admin", "allow", put, *of, after),
        ("ana", "deny", put, *of, before),
        ("ana", "deny", remove, *of, after),
        ("sue", "allow", remove, *of, after),
    ]


def test_a_grant_leaves_its_id_alone(api: Api) -> None:
    grant = {"privileges": ["MANAGE_USERS"], "to": ["user:ana"], "on": "metalake:lk"}
    api.must("PUT", "/realms/gravitino/statements/grant", grant)
    api.must("DELETE", "/realms/gravitino/statements/grant")
    api.must("DELETE", "/realms/gravitino/statements/absent")
    found: list[Any] = rows(api)[-3:]
    ids = [row["details"]["statement"] for row in found]
    assert ids == ["grant", "grant", "absent"]
    assert not any("effect" in row["details"] for row in found)


def test_no_token_s_text_is_in_the_trail(api: Api) -> None:
    text = api.must("POST", "/tokens", {"user": "ana"})["token"]
    assert text not in str(api.must("GET", "/audit"))


def test_the_trail_comes_in_pages_and_is_whole(api: Api) -> None:
    for name in ("a", "b", "c"):
        api.must("PUT", f"/directories/main/users/{name}")
    first = api.must("GET", "/audit", query={"page.limit": "2"})
    query = {"page.limit": "1000", "page.token": first["page"]["next_token"]}
    rest = api.must("GET", "/audit", query=query)
    numbers = [row["seq"] for row in first["rows"] + rest["rows"]]
    assert numbers == list(range(1, len(numbers) + 1))
    assert rest["page"]["next_token"] == ""
    found = api.must("POST", "/audit/verify")
    assert (found["whole"], found["rows"]) == (True, len(numbers))


def test_an_auditor_of_one_realm_reads_what_concerns_it_and_no_more(api: Api) -> None:
    right = {"privileges": ["READ_AUDIT"], "to": ["user:aud"], "on": "realm:gravitino"}
    api.must("PUT", "/realms/_server/statements/aud", right)
    api.must("PUT", "/realms/gravitino/entity", {"entity": "metalake:lk"})
    api.must("PUT", "/realms/cdap/entity", {"entity": "namespace:n"})
    answer = api.ask("GET", "/audit", user="aud", query={"realm": "gravitino"})
    assert {row["event"]["target"] for row in answer.body["rows"]} == {"realm:gravitino"}
    for query in ({}, {"realm": "cdap"}):
        assert api.ask("GET", "/audit", user="aud", query=query).status == 403
    assert api.ask("POST", "/audit/verify", user="aud").status == 403


def test_a_row_says_what_was_done_as_the_model_calls_it(api: Api) -> None:
    api.must("PUT", "/realms/gravitino/entity", {"entity": "metalake:lk"})
    answer = api.ask("POST", "//r/gravitino/api/metalakes", {"name": "mine"}, user="ana")
    assert answer.status == 403
    written = api.must("GET", "/audit", query={"order": "newest"})["rows"]
    titles = {row["event"]["operation"]: row["title"] for row in written}
    assert titles["server.start"] == "start the server"
    assert titles["entity.put"] == "create or move an entity, or change its metadata"
    assert titles["metalake.create"] == "create a metalake"
    said = {row["event"]["operation"]: row["words"] for row in written}
    texts = {name: "".join(word["text"] for word in words) for name, words in said.items()}
    assert texts["metalake.create"].startswith("ana was denied: create a metalake")
    assert texts["entity.put"].startswith("admin: create or move an entity")
