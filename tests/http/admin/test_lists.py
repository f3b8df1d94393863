"""Lists are paged, filtered and sorted by the server."""

from __future__ import annotations

from typing import Any

import pytest

from lakewarden.service.history import last_changes
from tests.http.admin.api import Api
from tests.http.admin.conftest import HIDDEN, TABLE, state

R = "/realms/gravitino"
S = f"{R}/statements"


def ids(api: Api, **query: str) -> list[str]:
    answer = api.must("GET", S, query=query)
    assert answer["total"] >= len(answer["statements"])
    return [one["id"] for one in answer["statements"]]


def test_any_part_of_a_list_is_read(lake: Api) -> None:
    assert ids(lake, **{"page.skip": "1", "page.limit": "1"}) == [ids(lake)[1]]
    page = lake.must("GET", S, query={"page.skip": "1", "page.limit": "1"})["page"]
    assert ids(lake, **{"page.token": page["next_token"]}) == ids(lake)[2:]
    names = lake.must("GET", f"{R}/entities", query={"page.skip": "3"})["entities"]
    assert names[0]["name"] == TABLE.partition(":")[2]
    asked = {"operation": "table.load", "principal": "zoe", "page": {"skip": 1}}
    assert lake.must("POST", f"{R}/list", asked)["entities"] == []


def test_entities_by_name(lake: Api) -> None:
    answer = lake.must("GET", f"{R}/entities", query={"q": "ORD"})
    assert [one["name"] for one in answer["entities"]] == [TABLE.partition(":")[2]]
    assert answer["total"] == 1


def test_people_and_memberships_are_narrowed(lake: Api) -> None:
    people = lake.must("GET", "/directories/main/principals", query={"q": "AN"})
    assert people["principals"] == ["user:ana"]
    rows = lake.must("GET", f"{R}/memberships", query={"member": "user:ana"})
    assert {one["of"] for one in rows["memberships"]} == {"members:lk", "role:lk:readers"}
    rows = lake.must("GET", f"{R}/memberships", query={"of": "members:lk", "q": "ben"})
    assert [one["member"] for one in rows["memberships"]] == ["user:ben"]


def test_statements_are_narrowed(lake: Api) -> None:
    body: dict[str, Any] = {"privileges": ["SELECT_TABLE"], "to": ["user:ben"], "on": TABLE}
    off = {**body, "effect": "deny", "active": False, "title": "Aside"}
    lake.must("PUT", f"{S}/off", off)
    ends = {**body, "valid_until": "2030-01-01T00:00:00Z", "mark": "git"}
    lake.must("PUT", f"{S}/ends", ends)
    assert set(ids(lake, on=TABLE)) == {"ends", "off", "read"}
    assert ids(lake, effect="deny") == ids(lake, active="false") == ["off"]
    assert ids(lake, ends_before="2031-01-01T00:00:00+01:00") == ["ends"]
    assert ids(lake, ends_before="2029-01-01T00:00:00Z") == []
    assert ids(lake, mark="git") == ["ends"]
    assert "ends" not in ids(lake, mark="")
    assert set(ids(lake, editable="true")) == set(ids(lake))
    assert ids(lake, sort="title")[0] == "off"
    assert ids(lake, sort="-title") == ids(lake, sort="title")[::-1]
    assert ids(lake, sort="-id") == ids(lake)[::-1]


@pytest.mark.parametrize("sort", ["id", "-id", "title", "-title"])
def test_pages_of_statements_go_on_where_they_ended_whatever_came_and_went(
    lake: Api, sort: str
) -> None:
    body: dict[str, Any] = {"privileges": ["SELECT_TABLE"], "to": ["user:ben"], "on": TABLE}
    for number in range(4):
        lake.must("PUT", f"{S}/s{number}", {**body, "title": f"S{number}"})
    asked = {"sort": sort, "id_prefix": "s", "q": "s", "page.limit": "2"}
    first = lake.must("GET", S, query=asked)
    ids = [one["id"] for one in first["statements"]]
    lake.must("DELETE", f"{S}/{ids[0]}")
    lake.must("DELETE", f"{S}/{ids[1]}")
    token = first["page"]["next_token"]
    rest = lake.must("GET", S, query={**asked, "page.limit": "9", "page.token": token})
    ids += [one["id"] for one in rest["statements"]]
    expected = ["s0", "s1", "s2", "s3", "secret"]
    if sort.endswith("title"):
        expected = sorted(expected, key=str.casefold)
    assert ids == (expected[::-1] if sort.startswith("-") else expected)


@pytest.mark.parametrize(
    "query",
    [
        {"ends_before": "tomorrow"},
        {"ends_before": "2030-01-01T00:00:00"},
        {"sort": "age"},
        {"fields": "colour"},
        {"effect": "maybe"},
    ],
)
def test_what_cannot_be_asked_names_the_parameter(lake: Api, query: dict[str, str]) -> None:
    answer = lake.ask("GET", S, query=query)
    assert answer.status == 400
    assert [one["path"] for one in answer.body["errors"]] == list(query)


def test_rows_say_how_far_they_reach_and_who_changed_them(lake: Api) -> None:
    rows = lake.must("GET", S, query={"fields": "reach,changed"})["statements"]
    by_id = {row["id"]: row for row in rows}
    assert by_id["read"]["reach"] == {"users": 1, "entities": 1}
    assert by_id["use"]["reach"] == {"users": 1, "entities": 4}
    assert by_id["read"]["changed"]["by"] == "admin"
    revision = lake.service.state.revision
    state(lake, "read", ["SELECT_TABLE"], TABLE, ["role:lk:readers", "user:ben"])
    row = lake.must("GET", f"{S}/read", query={"fields": "reach,changed"})
    assert row["reach"]["users"] == 2
    assert row["changed"]["revision"] == revision + 1
    assert "changed" not in lake.must("GET", f"{S}/read")


def test_last_changes_of_more_than_a_query_can_name(lake: Api) -> None:
    names = [f"none-{number}" for number in range(40_000)]
    with lake.service.reading() as reading:
        found = last_changes(reading, "gravitino", [*names, "read"])
    assert set(found) == {"read"}


def test_what_bears_on_an_entity(lake: Api) -> None:
    no = {"privileges": ["SELECT_TABLE"], "to": ["user:ana"], "on": HIDDEN, "effect": "deny"}
    lake.must("PUT", f"{S}/no", no)
    wide = {"privileges": ["SELECT_TABLE"], "to": ["role:lk:readers"], "on": "catalog:lk:sales"}
    lake.must("PUT", f"{S}/wide", wide)
    rows = lake.must("GET", S, query={"reaching": HIDDEN})["statements"]
    by_id = {
        row["id"]: (row["source"], row.get("direct", False), row.get("beaten_by", []))
        for row in rows
    }
    assert by_id["secret"] == (HIDDEN, True, [])
    assert by_id["wide"] == ("catalog:lk:sales", False, ["no"])
    assert by_id["no"] == (HIDDEN, True, [])
    assert "read" not in by_id


def test_others_see_what_bears_on_them_alone(lake: Api) -> None:
    rows = lake.must("GET", S, query={"reaching": TABLE}, user="ana")["statements"]
    assert {row["id"] for row in rows} == {"read", "use"}
    shared = {"privileges": ["SELECT_TABLE"], "to": ["user:ana", "user:zoe"], "on": TABLE}
    lake.must("PUT", f"{S}/shared", {**shared, "mark": "git"})
    owned = {"privileges": ["SELECT_TABLE"], "to": ["owners"], "on": TABLE}
    lake.must("PUT", f"{S}/owned", owned)
    query = {"reaching": TABLE, "fields": "reach,changed"}
    rows = lake.must("GET", S, query=query, user="ana")["statements"]
    by_id = {row["id"]: row for row in rows}
    assert set(by_id) == {"read", "use", "shared"}
    assert by_id["shared"]["to"] == ["user:ana"]
    assert "zoe" not in str(by_id["shared"])
    assert not {"mark", "reach", "changed"} & set(by_id["shared"])
    query = {"reaching": TABLE, "mark": "git"}
    assert lake.must("GET", S, query=query, user="ana")["statements"] == []
    lake.must("PUT", f"{R}/entity", {"entity": TABLE, "owners": [{"principal": "user:ana"}]})
    rows = lake.must("GET", S, query={"reaching": TABLE}, user="ana")["statements"]
    assert "owned" in {row["id"] for row in rows}
    hidden = lake.ask("GET", S, query={"reaching": HIDDEN}, user="ana")
    absent = lake.ask("GET", S, query={"reaching": "table:lk:sales.raw.none"}, user="ana")
    assert (hidden.status, absent.status) == (404, 404)
    assert lake.ask("GET", S, query={"reaching": TABLE}, user="stranger").status == 404
    assert lake.ask("GET", S, user="ana").status == 403


def test_statements_by_id_and_by_what_they_are_about(api: Api) -> None:
    policies = "/realms/datahub/statements"
    query = {"id_prefix": "urn:li:dataHubPolicy:root-"}
    (root,) = api.must("GET", policies, query=query)["statements"]
    assert root["id"].startswith("urn:li:dataHubPolicy:root-")
    every = api.must("GET", policies)["total"]
    parts = [
        api.must("GET", policies, query={"scope": scope, "page.limit": "1"})["total"]
        for scope in ("entities", "system")
    ]
    assert sum(parts) == every
    assert all(parts)
