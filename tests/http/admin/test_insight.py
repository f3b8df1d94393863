"""The matrix of a realm, a comparison of principals, one's summary, permitted users by reason."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.service.entities import parse_entity
from tests.http.admin.api import Api
from tests.http.admin.conftest import HIDDEN, TABLE, state

R = "/realms/gravitino"
LOAD = "table.load"


def matrix(api: Api, **body: object) -> Any:
    return api.must("POST", f"{R}/matrix", {"ask": LOAD, **body})


def allowed(api: Api, user: str, entity: str) -> bool:
    found = api.service.state.realm("gravitino")
    target = parse_entity(found, entity)
    now = api.service.clock()
    return found.matrix.decide(Request(Principal(USER, user), LOAD, target, now)).allow


def test_every_cell_is_the_decision(lake: Api) -> None:
    found = matrix(lake)
    assert found["type"] == "table"
    assert sum(row["users"] for row in found["rows"]) == len(
        lake.must("GET", f"{R}/principals", query={"kind": "user"})["principals"]
    )
    assert sum(column["entities"] for column in found["columns"]) == 2
    letters = {True: "a", False: "."}
    for row, cells in zip(found["rows"], found["cells"], strict=True):
        for column, letter in zip(found["columns"], cells, strict=True):
            for user in row["sample"]:
                may = allowed(lake, user, column["sample"])
                assert letter in (letters[may], "o"), (row, column)
    assert found["other"] == {"rows": 0, "users": 0, "columns": 0, "entities": 0}


def test_rows_say_what_their_users_act_as(lake: Api) -> None:
    found = matrix(lake)
    (row,) = [one for one in found["rows"] if "ana" in one["sample"]]
    assert "role:lk:readers" in row["principals"]
    assert {column["within"] for column in found["columns"]} == {"schema:lk:sales.raw"}


def test_a_matrix_is_cut_and_says_what_is_left_out(lake: Api) -> None:
    found = matrix(lake, limit_rows=1, limit_columns=1)
    assert (len(found["rows"]), len(found["columns"]), len(found["cells"])) == (1, 1, 1)
    assert found["other"]["users"] + found["rows"][0]["users"] == sum(
        row["users"] for row in matrix(lake)["rows"]
    )
    assert found["other"]["entities"] == 1
    assert matrix(lake, within="metalake:lk")["columns"] == matrix(lake)["columns"]
    assert matrix(lake, within=TABLE)["columns"][0]["sample"] == TABLE
    assert matrix(lake, within="table:lk:sales.raw.none")["columns"] == []


@pytest.mark.parametrize(
    "body",
    [
        {"ask": "nonsense"},
        {"ask": LOAD, "type": "view"},
        {"ask": LOAD, "limit_rows": 0},
        {"ask": "privilege.grant"},
    ],
)
def test_a_matrix_that_cannot_be_is_refused(lake: Api, body: dict[str, object]) -> None:
    assert lake.ask("POST", f"{R}/matrix", body).status == 400


def cells_of(found: Any, name: str) -> dict[tuple[str, str], str]:
    """The letters of a matrix by user and sample of the column."""
    return {
        (user, column["sample"]): letter
        for row, letters in zip(found["rows"], found[name], strict=True)
        for column, letter in zip(found["columns"], letters, strict=True)
        for user in row["sample"]
    }


def test_a_draft_is_shown_beside_the_policy_that_there_is(lake: Api) -> None:
    draft: dict[str, Any] = {
        "remove": ["secret"],
        "put": [{"id": "ben", "privileges": ["SELECT_TABLE"], "to": ["user:ben"], "on": TABLE}],
        "members": {"add": [{"member": "user:ben", "of": "role:lk:readers"}]},
    }
    found = matrix(lake, against=draft)
    before = cells_of(found, "cells")
    then = cells_of(found, "cells_then")
    assert before["ben", TABLE] != "a" == then["ben", TABLE]
    lake.must("DELETE", f"{R}/statements/secret")
    state(lake, "ben", ["SELECT_TABLE"], TABLE, ["user:ben"])
    lake.must("PUT", f"{R}/memberships", draft["members"]["add"][0])
    for (user, entity), letter in then.items():
        assert (letter == "a") is allowed(lake, user, entity), (user, entity)
    assert matrix(lake)["cells_then"] is None


def test_a_draft_that_changes_nothing_has_the_same_cells(lake: Api) -> None:
    found = matrix(lake, against={})
    assert found["cells_then"] == found["cells"] == matrix(lake)["cells"]


def test_a_draft_against_another_revision_is_refused(lake: Api) -> None:
    old = lake.service.state.revision
    state(lake, "more", ["SELECT_TABLE"], TABLE, ["user:ben"])
    body = {"ask": LOAD, "against": {"at_revision": old}}
    assert lake.ask("POST", f"{R}/matrix", body).status == 409


def test_a_draft_is_for_who_may_plan(lake: Api) -> None:
    right = {"privileges": ["ASK"], "to": ["user:ana"], "on": "realm:gravitino"}
    lake.must("PUT", "/realms/_server/statements/ask", right)
    assert lake.ask("POST", f"{R}/matrix", {"ask": LOAD}, user="ana").status == 200
    body = {"ask": LOAD, "against": {}}
    answer = lake.ask("POST", f"{R}/matrix", body, user="ana")
    assert (answer.status, answer.body["operation"]) == (403, "realm.plan")


def test_an_earlier_revision_is_shown_beside_the_present_one(lake: Api) -> None:
    old, users = lake.service.state.revision, ("ana", "ben", "zoe")
    before = {
        (user, entity): allowed(lake, user, entity) for user in users for entity in (TABLE, HIDDEN)
    }
    lake.must("DELETE", f"{R}/statements/read")
    lake.must("PUT", f"{R}/memberships", {"member": "user:ben", "of": "role:lk:readers"})
    state(lake, "all", ["SELECT_TABLE"], "schema:lk:sales.raw", ["role:lk:readers"])
    fresh = "table:lk:sales.raw.fresh"
    lake.must("PUT", f"{R}/entity", {"entity": fresh})
    found = matrix(lake, against=old)
    then = cells_of(found, "cells_then")
    assert (found["revision"], found["revision_then"]) == (lake.service.state.revision, old)
    assert {key: then[key] == "a" for key in before} == before
    assert cells_of(found, "cells")["ben", HIDDEN] == "a" != then["ben", HIDDEN]
    columns = [one["sample"] for one in found["columns"]]
    row = next(at for at, one in enumerate(found["rows"]) if "ben" in one["sample"])
    # The new table may be in another column's class now, and was not stored before.
    assert found["cells"][row] == "a" * len(columns)
    assert sum(one["entities"] for one in found["columns"]) == 3
    assert then["ben", fresh] == "." if fresh in columns else True
    assert matrix(lake)["revision_then"] is None


def test_an_earlier_moment_is_the_revision_of_that_moment(lake: Api) -> None:
    old = lake.service.state.revision
    at = datetime.fromtimestamp(lake.service.clock(), UTC).isoformat()
    state(lake, "ben", ["SELECT_TABLE"], TABLE, ["user:ben"])
    assert matrix(lake, against=at)["revision_then"] == old
    later = datetime.fromtimestamp(lake.service.clock() + 1, UTC).isoformat()
    assert matrix(lake, against=later)["revision_then"] == lake.service.state.revision


@pytest.mark.parametrize("against", [-1, 10**9, "yesterday", "2001-01-01T00:00:00Z", True, [], "1"])
def test_a_revision_or_time_that_was_not_is_refused(lake: Api, against: object) -> None:
    answer = lake.ask("POST", f"{R}/matrix", {"ask": LOAD, "against": against})
    assert (answer.status, answer.body["errors"][0]["path"]) == (400, "body.against")


def test_an_earlier_revision_is_for_readers_of_the_trail(lake: Api) -> None:
    right = {"privileges": ["ASK"], "to": ["user:ana"], "on": "realm:gravitino"}
    lake.must("PUT", "/realms/_server/statements/ask", right)
    answer = lake.ask("POST", f"{R}/matrix", {"ask": LOAD, "against": 1}, user="ana")
    assert (answer.status, answer.body["operation"]) == (403, "audit.read")


def test_cells_are_explained_on_request(lake: Api) -> None:
    found = matrix(lake)
    cells = [[row, column] for row in range(len(found["rows"])) for column in range(2)]
    for reason in matrix(lake, explain=cells)["reasons"]:
        user = found["rows"][reason["row"]]["sample"][0]
        entity = found["columns"][reason["column"]]["sample"]
        asked = {"operation": LOAD, "principal": user, "entity": entity}
        explained = lake.must("POST", f"{R}/explain", asked)
        assert reason["summary"] == explained["summary"]
        assert reason["statements"] == explained["statements"]
        assert reason["summary_then"] is reason["statements_then"] is None
    old = lake.service.state.revision
    lake.must("DELETE", f"{R}/statements/read")
    again = matrix(lake, against=old, explain=cells)
    both = [one for one in again["reasons"] if one["summary"] != one["summary_then"]]
    assert any("read" in one["statements_then"] for one in both)
    assert not any("read" in one["statements"] for one in again["reasons"])


@pytest.mark.parametrize("cells", [[[0, 99]], [[9, 0]], [[0]], [[-1, 0]], [[0, 0]] * 41, "all"])
def test_cells_that_are_not_shown_are_refused(lake: Api, cells: object) -> None:
    answer = lake.ask("POST", f"{R}/matrix", {"ask": LOAD, "explain": cells})
    assert answer.status == 400
    assert answer.body["errors"][0]["path"].startswith("body.explain")


def test_cells_are_explained_to_who_may_explain(lake: Api) -> None:
    right = {"privileges": ["ASK"], "to": ["user:ana"], "on": "realm:gravitino"}
    lake.must("PUT", "/realms/_server/statements/ask", right)
    answer = lake.ask("POST", f"{R}/matrix", {"ask": LOAD, "explain": [[0, 0]]}, user="ana")
    assert (answer.status, answer.body["operation"]) == (403, "explain.ask")


def test_the_matrix_is_for_who_may_search(lake: Api) -> None:
    assert lake.ask("POST", f"{R}/matrix", {"ask": LOAD}, user="ana").status == 403


def test_two_are_compared(lake: Api) -> None:
    body = {"a": {"principal": "ana"}, "b": {"principal": "zoe"}, "ask": LOAD}
    state(lake, "zoe-sees", ["USE_CATALOG", "USE_SCHEMA"], "catalog:lk:sales", ["user:zoe"])
    lake.must("PUT", f"{R}/memberships", {"member": "user:zoe", "of": "members:lk"})
    found = lake.must("POST", f"{R}/compare", body)
    assert found["only_a"]["entities"] == found["only_b"]["entities"] == 1
    (inside,) = found["only_a"]["inside"]
    assert (inside["within"], inside["sample"]) == ("schema:lk:sales.raw", TABLE)
    assert "".join(word["text"] for word in inside["why"]).startswith("zoe may not")
    assert found["only_b"]["inside"][0]["sample"] == HIDDEN
    assert found["both"] == {"entities": 0, "inside": []}
    same = lake.must("POST", f"{R}/compare", {**body, "b": {"principal": "ana"}})
    assert (same["both"]["entities"], same["only_a"]["entities"]) == (1, 0)
    below = lake.must("POST", f"{R}/compare", {**body, "within": "schema:lk:sales.raw"})
    assert (below["only_a"]["entities"], below["only_b"]["entities"]) == (1, 1)
    assert lake.ask("POST", f"{R}/compare", body, user="ana").status == 403
    assert lake.ask("POST", f"{R}/compare", {**body, "ask": "none"}).status == 400


def summary(api: Api, name: str, **rest: Any) -> Any:
    return api.must("GET", f"{R}/principal", query={"p": name}, **rest)


def test_a_person_in_one_answer(lake: Api) -> None:
    lake.must("PUT", "/directories/main/groups/staff")
    lake.must("PUT", "/directories/main/memberships", {"member": "user:ana", "of": "group:staff"})
    lake.must("PUT", f"{R}/memberships", {"member": "group:staff", "of": "role:lk:readers"})
    lake.must("DELETE", f"{R}/memberships", query={"member": "user:ana", "of": "role:lk:readers"})
    lake.must("PUT", f"{R}/entity", {"entity": HIDDEN, "owners": [{"principal": "user:ana"}]})
    found = summary(lake, "user:ana")
    paths = {tuple(one["path"]): one["from_directory"] for one in found["belongs"]}
    assert paths["group:staff",] is True
    assert paths["group:staff", "role:lk:readers"] is True
    assert paths["members:lk",] is False
    assert (found["owned"], found["owns"]) == ([HIDDEN], 1)
    counts = {(one["way"], one["type"]): one["entities"] for one in found["reached"]}
    assert counts["read", "table"] == 2
    assert {"read", "use"} <= set(found["statements"])
    assert found["last_used"] == ""


def test_a_group_says_what_it_alone_opens(lake: Api) -> None:
    lake.must("PUT", "/directories/main/groups/staff")
    for of in ("role:lk:readers", "members:lk"):
        lake.must("PUT", f"{R}/memberships", {"member": "group:staff", "of": of})
    lake.must("PUT", "/directories/main/memberships", {"member": "user:ben", "of": "group:staff"})
    found = summary(lake, "group:staff")
    assert found["members"] == 1
    assert {
        (one["way"], one["entities"]) for one in found["reached"] if one["type"] == "table"
    } == {
        ("see", 1),
        ("read", 1),
    }


def test_one_looks_at_oneself_and_not_at_others(lake: Api) -> None:
    assert summary(lake, "user:ana", user="ana")["principal"] == "user:ana"
    assert lake.ask("GET", f"{R}/principal", query={"p": "user:ben"}, user="ana").status == 403
    assert lake.ask("GET", f"{R}/principal", query={"p": "user:absent"}).status == 400


def test_who_may_by_reason(lake: Api) -> None:
    lake.must("PUT", f"{R}/memberships", {"member": "user:ben", "of": "role:lk:readers"})
    lake.must("PUT", f"{R}/memberships", {"member": "user:zoe", "of": "members:lk"})
    state(lake, "zoe-sees", ["USE_CATALOG", "USE_SCHEMA"], "catalog:lk:sales", ["user:zoe"])
    lake.must("PUT", f"{R}/entity", {"entity": TABLE, "owners": [{"principal": "user:zoe"}]})
    asked = {"operation": LOAD, "entity": TABLE, "reasons": True}
    found = lake.must("POST", f"{R}/who", asked)
    by_users = {tuple(one["users"]): one for one in found["reasons"]}
    role = by_users["ana", "ben"]
    assert role["through"] == ["role:lk:readers"]
    assert {"read", "use"} <= set(role["statements"])
    owner = by_users["zoe",]
    assert (owner["through"], owner["statements"]) == (["user:zoe"], ["zoe-sees"])
    assert sum(one["total"] for one in found["reasons"]) == found["total"] == 3


def test_operations_say_what_they_are_for(lake: Api) -> None:
    found = {one["name"]: one for one in lake.must("GET", f"{R}/operations")["operations"]}
    load = found[LOAD]
    assert (load["kind"], load["group"], load["types"]) == ("read", "table", ["table"])
    assert "see" in load["ways"]
    assert found["table.drop"]["kind"] == "change"
    assert found["privilege.grant"]["kind"] == "administer"
    words = lake.must("GET", f"{R}/operations")["privileges"]
    assert all(one["display"] for one in words)


def test_fields_of_criteria_say_what_they_are_compared_with(api: Api) -> None:
    told = api.must("GET", "/realms/datahub/operations")["fields"]
    found = {one["name"]: (one["values"], one["types"], one["below"]) for one in told}
    assert found["TYPE"] == ("type", [], False)
    assert found["TAG"] == ("entity", ["tag"], False)
    assert found["GLOSSARY"] == ("entity", ["glossaryNode", "glossaryTerm"], True)
    assert found["OWNER"][0] == found["GROUP_MEMBERSHIP"][0] == "principal"
    assert found["STRUCTURED_PROPERTY"][0] == "text"
    assert "table" not in found["CONTAINER"][1]


def test_settings_of_a_model_say_what_they_decide_and_leave_open(lake: Api) -> None:
    settings = lake.must("GET", "/realms/datahub/operations")["settings"]
    found = {one["name"]: one for one in settings}
    view = found["view_authorization"]
    assert (view["values"], view["default"]) == (["off", "on"], "off")
    assert list(view["weakens"]) == ["off"]
    assert "everybody is shown every page" in view["weakens"]["off"]
    assert (found["view_open"]["values"], found["view_open"]["default"]) == ([], "")
    assert all(one["title"] for one in settings)
