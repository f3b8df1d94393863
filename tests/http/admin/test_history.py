"""The trail is searched from its end, an entity's history is shown, and usage is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lakewarden.http.admin.endpoint import token_after
from lakewarden.kernel.entity import Entity
from lakewarden.service.usage import Usage
from tests.http.admin.api import Api
from tests.http.admin.conftest import HIDDEN, TABLE, state

H = "/realms/gravitino/history"


def rows(api: Api, **query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.must("GET", "/audit", query=query)["rows"]
    return found


def test_the_trail_backwards_is_the_trail(lake: Api) -> None:
    forward = [row["seq"] for row in rows(lake, **{"page.limit": "1000"})]
    backwards: list[int] = []
    token = ""
    while True:
        query = {"order": "newest", "page.limit": "3", **({"page.token": token} if token else {})}
        page = lake.must("GET", "/audit", query=query)
        backwards += [row["seq"] for row in page["rows"]]
        token = page["page"]["next_token"]
        if not token:
            break
    assert backwards == forward[::-1]


def test_rows_are_searched(lake: Api) -> None:
    state(lake, "more", ["SELECT_TABLE"], TABLE, ["user:ben"])
    lake.ask(
        "PUT",
        "/realms/gravitino/statements/no",
        {"privileges": ["SELECT_TABLE"], "to": ["user:ben"], "on": TABLE},
        user="ben",
    )
    newest = rows(lake, order="newest")[0]
    assert newest["event"]["actor"] == "ben"
    assert "".join(word["text"] for word in newest["words"]).startswith("ben was denied")
    assert {row["event"]["outcome"] for row in rows(lake, outcome="deny")} == {"deny"}
    assert {row["event"]["actor"] for row in rows(lake, actor="ben")} == {"ben"}
    assert all(
        "statement." in row["event"]["operation"] for row in rows(lake, operation="statement")
    )
    assert len(rows(lake, q='"MORE"')) == 1
    request = newest["event"]["request_id"]
    assert [row["seq"] for row in rows(lake, request_id=request)] == [newest["seq"]]
    assert rows(lake, until="2001-01-01T00:00:00Z") == []
    assert rows(lake, **{"from": "2100-01-01T00:00:00Z"}) == []
    assert rows(lake, realm="datahub", q="more") == []
    assert rows(lake, target="realm:grav", actor="ben")


@pytest.mark.parametrize(
    "query",
    [{"from": "x"}, {"order": "oldest"}, {"outcome": "perhaps"}, {"order": "newest", "last": "3"}],
)
def test_what_cannot_be_asked_is_refused(lake: Api, query: dict[str, str]) -> None:
    assert lake.ask("GET", "/audit", query=query).status == 400


def test_the_trail_is_exported_line_by_line(lake: Api) -> None:
    answer = lake.at(
        "GET",
        "/api/v1/audit",
        query={"realm": "gravitino"},
        headers={"accept": "application/x-ndjson", "authorization": "Basic YWRtaW46"},
    )
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    lines = answer.body.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [
        row["seq"] for row in rows(lake, realm="gravitino", **{"page.limit": "1000"})
    ]


def happened(api: Api, **query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.must("GET", H, query=query)["rows"]
    return found


def text(row: dict[str, Any]) -> str:
    return "".join(word["text"] for word in row["words"])


def test_a_statement_s_history_says_what_it_was(lake: Api) -> None:
    state(lake, "read", ["SELECT_TABLE"], TABLE, ["role:lk:readers", "user:ben"])
    lake.must("DELETE", "/realms/gravitino/statements/read")
    gone, changed, made = happened(lake, statement="read")
    assert (gone["now"], text(gone)) == (None, "removed")
    assert gone["was"] == changed["now"]
    assert changed["now"]["to"] == ["role:lk:readers", "user:ben"]
    assert changed["was"]["to"] == ["role:lk:readers"]
    assert (made["first"], made["was"], made["by"]) == (True, None, "admin")
    assert "SELECT_TABLE" in text(made)
    assert made["at"] is not None


def test_what_was_in_a_dropped_realm_of_the_name_is_not_told(lake: Api) -> None:
    assert len(happened(lake, statement="read")) == 1
    lake.must("DELETE", "/realms/gravitino")
    lake.must("POST", "/realms", {"name": "gravitino", "model": "gravitino"})
    assert happened(lake, statement="read") == []
    assert [text(row) for row in happened(lake, principal="user:ana")] == ["ana is added"]
    body = {"privileges": ["CREATE_CATALOG"], "to": ["user:ben"], "on": "metalake:lk"}
    lake.must("PUT", "/realms/gravitino/statements/read", body)
    (made,) = happened(lake, statement="read")
    assert (made["first"], made["was"]) == (True, None)


def test_an_entity_s_and_a_person_s_history(lake: Api) -> None:
    owners = [{"principal": "user:ana"}]
    lake.must("PUT", "/realms/gravitino/entity", {"entity": TABLE, "owners": owners})
    newest = happened(lake, entity=TABLE)[0]
    assert (newest["kind"], text(newest)) == ("owner", "ana owns sales.raw.orders")
    said = [text(row) for row in happened(lake, principal="user:ana")]
    assert "ana owns sales.raw.orders" in said
    assert any(one.startswith("ana belongs to the role readers") for one in said)
    assert said[-1] == "ana is added"


def test_the_history_of_names_that_entities_left_and_took(lake: Api) -> None:
    tables = "/api/metalakes/lk/catalogs/sales/schemas/raw/tables"
    other = TABLE.replace("orders", "sold")

    def change(method: str, path: str, body: object) -> None:
        admin = {"authorization": "Basic YWRtaW46"}
        assert lake.at(method, path, body, headers=admin).status == 200

    body = {"entity": "metalake:lk", "owners": [{"principal": "user:admin"}]}
    lake.must("PUT", "/realms/gravitino/entity", body)
    member = {"member": "user:admin", "of": "members:lk"}
    lake.must("PUT", "/realms/gravitino/memberships", member)
    rename = {"updates": [{"@type": "rename", "newName": "sold"}]}
    change("PUT", f"{tables}/orders", rename)
    columns = [{"name": "id", "type": "integer"}]
    change("POST", tables, {"name": "orders", "columns": columns})
    change("DELETE", f"{tables}/sold?purge=false", None)
    renamed = "sales.raw.orders is renamed to sales.raw.sold"
    owner, made, left, *_ = happened(lake, entity=TABLE)
    assert [text(row) for row in (made, left)] == ["sales.raw.orders is stored", renamed]
    assert [(row["was"], row["first"]) for row in (owner, made)] == [(None, False)] * 2
    gone, taken = happened(lake, entity=other)
    assert (text(gone), text(taken)) == ("sales.raw.sold is dropped", renamed)
    assert taken["revision"] == left["revision"]


def test_history_comes_in_pages_of_whole_revisions(lake: Api) -> None:
    row = {"member": "user:ana", "of": "members:lk"}
    query = {"member": "user:ana", "of": "members:lk"}
    lake.must("DELETE", "/realms/gravitino/memberships", query=query)
    lake.must("PUT", "/realms/gravitino/memberships", row)
    everything = happened(lake, principal="user:ana")
    seen: list[dict[str, Any]] = []
    token = ""
    while True:
        query = {
            "principal": "user:ana",
            "page.limit": "1",
            **({"page.token": token} if token else {}),
        }
        page = lake.must("GET", H, query=query)
        seen += page["rows"]
        token = page["page"]["next_token"]
        if not token:
            break
    assert seen == everything
    assert [row["first"] for row in seen[:2]] == [False, False]


def test_no_change_of_a_large_revision_is_left_out(lake: Api) -> None:
    users = [f"u{number}" for number in range(7)]
    lake.must(
        "POST",
        "/realms/gravitino/load",
        {
            "model": "gravitino",
            "principals": [["user", user] for user in users],
            "memberships": [["user", user, "role", "lk:readers"] for user in users],
        },
    )
    query = {"principal": "role:lk:readers", "page.limit": "3"}
    seen: list[str] = []
    while True:
        page = lake.must("GET", H, query=query)
        seen += [text(row) for row in page["rows"]]
        token = page["page"]["next_token"]
        if not token:
            break
        query["page.token"] = token
    assert len(seen) == len(set(seen))
    assert {f"{user} belongs to the role readers" for user in users} <= set(seen)


@pytest.mark.parametrize("place", ["", "1", "1/", "1/2/3", "-1/0", "1/x", "1" * 19 + "/0"])
def test_a_place_that_is_none_is_refused(lake: Api, place: str) -> None:
    names = {"statement": "read", "entity": "", "principal": ""}
    token = token_after(place, H, *names.values()).next_token
    answer = lake.ask("GET", H, query={"statement": "read", "page.token": token})
    assert answer.status == 400


def test_history_is_for_auditors_about_one_thing(lake: Api) -> None:
    assert lake.ask("GET", H, query={"statement": "read"}, user="ana").status == 403
    assert lake.ask("GET", H).status == 400
    assert lake.ask("GET", H, query={"statement": "read", "entity": HIDDEN}).status == 400
    assert happened(lake, statement="never") == []


def test_use_is_counted_by_what_is_asked(lake: Api) -> None:
    usage, now = Usage(), lake.service.clock()
    on = Entity(*TABLE.split(":", 1))
    for user in ("ana", "ana", "ben"):
        usage.count("gravitino", user, "table.load", *on, now)
    usage.count("gravitino", "ana", "table.load", *on, now - 40 * 86_400)
    usage.write(lake.service.store)
    path = "/realms/gravitino/usage"
    by_user = lake.must("GET", path, query={"by": "user"})
    assert [(one["key"], one["acts"]) for one in by_user["rows"]] == [("ana", 2), ("ben", 1)]
    assert by_user["total"] == 3
    assert lake.must("GET", path, query={"days": "60"})["total"] == 4
    assert (
        lake.must("GET", path, query={"principal": "ben", "by": "entity"})["rows"][0]["key"]
        == TABLE
    )
    assert lake.must("GET", path, query={"entity": HIDDEN})["total"] == 0
    assert lake.must("GET", path, query={"operation": "table.drop"})["total"] == 0
    assert lake.ask("GET", path, query={"by": "weather"}).status == 400
    assert lake.ask("GET", path, query={"days": "900"}).status == 400
    assert lake.ask("GET", path, query={"principal": "group:staff"}).status == 400
    assert lake.ask("GET", path, user="ana").status == 403
