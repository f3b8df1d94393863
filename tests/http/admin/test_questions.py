"""Questions over our own API: about oneself, about others, and how much of the reasons is shown."""

from __future__ import annotations

import json

import pytest

from tests.http.admin.api import Api
from tests.http.admin.conftest import HIDDEN, TABLE

Q = "/realms/gravitino"


def test_everybody_asks_about_themselves(lake: Api) -> None:
    body = {"operation": "table.load", "entity": TABLE}
    assert lake.must("POST", f"{Q}/check", body, user="ana")["allow"] is True
    assert lake.must("POST", f"{Q}/check", body, user="ben")["allow"] is False
    named = {**body, "principal": "user:ana"}
    assert lake.must("POST", f"{Q}/check", named, user="ana")["allow"] is True


@pytest.mark.parametrize(
    ("verb", "operation"),
    [
        ("check", "decision.ask"),
        ("list", "decision.ask"),
        ("privileges", "decision.ask"),
        ("explain", "explain.ask"),
        ("who", "subject.search"),
        ("access", "entity.access"),
    ],
)
def test_asking_about_others_is_a_right(lake: Api, verb: str, operation: str) -> None:
    body: dict[str, object] = {"entity": TABLE}
    if verb not in ("privileges", "access"):
        body["operation"] = "table.load"
    if verb not in ("who", "access"):
        body["principal"] = "ana"
    answer = lake.ask("POST", f"{Q}/{verb}", body, user="ben")
    assert (answer.status, answer.body["operation"]) == (403, operation)
    assert lake.ask("POST", f"{Q}/{verb}", body).status == 200


def test_an_enforcement_point_asks_about_anybody_and_sees_nothing_else(lake: Api) -> None:
    right = {"privileges": ["ASK"], "to": ["user:ben"], "on": "realm:gravitino"}
    lake.must("PUT", "/realms/_server/statements/pep", right)
    body = {"operation": "table.load", "entity": TABLE, "principal": "ana"}
    assert lake.must("POST", f"{Q}/check", body, user="ben")["allow"] is True
    assert lake.ask("GET", f"{Q}/statements", user="ben").status == 403
    assert lake.ask("POST", "/realms/cdap/check", body, user="ben").status == 403


def test_naming_groups_of_one_s_own_is_asking_about_somebody_else(lake: Api) -> None:
    body = {"operation": "table.load", "entity": HIDDEN, "groups": ["admins"]}
    assert lake.ask("POST", f"{Q}/check", body, user="ana").status == 403


def test_several_questions_are_answered_in_order_and_a_bad_one_is_a_no(lake: Api) -> None:
    rows = [
        {"operation": "table.load", "entity": TABLE, "principal": "ana"},
        {"operation": "table.lload", "entity": TABLE, "principal": "ana"},
        {"operation": "table.load", "entity": HIDDEN, "principal": "ana"},
    ]
    found = lake.must("POST", f"{Q}/batch", {"questions": rows})["answers"]
    assert [one["allow"] for one in found] == [True, False, False]
    assert "did you mean `table.load`?" in found[1]["error"]
    assert lake.ask("POST", f"{Q}/batch", {"questions": []}).status == 400
    many = [rows[0]] * 1_001
    assert lake.ask("POST", f"{Q}/batch", {"questions": many}).status == 400
    assert lake.ask("POST", f"{Q}/batch", {"questions": many[1:]}).status == 200


def test_a_list_goes_on_where_its_token_says(lake: Api) -> None:
    body: dict[str, object] = {"operation": "table.load", "principal": "admin"}
    lake.must("PUT", f"{Q}/memberships", {"member": "user:admin", "of": "members:lk"})
    lake.must("PUT", f"{Q}/memberships", {"member": "user:admin", "of": "role:lk:readers"})
    owners = {"entity": "metalake:lk", "owners": [{"principal": "user:admin"}]}
    lake.must("PUT", f"{Q}/entity", owners)
    first = lake.must("POST", f"{Q}/list", {**body, "page": {"limit": 1}})
    assert (first["total"], len(first["entities"])) == (2, 1)
    token = first["page"]["next_token"]
    second = lake.must("POST", f"{Q}/list", {**body, "page": {"limit": 1, "token": token}})
    assert first["entities"] != second["entities"]
    assert second["page"]["next_token"] == ""
    other = {"operation": "table.drop", "page": {"token": token}}
    assert lake.ask("POST", f"{Q}/list", other).status == 400
    assert lake.ask("POST", f"{Q}/list", {**body, "page": {"token": "x"}}).status == 400
    assert lake.ask("POST", f"{Q}/list", {**body, "page": {"limit": 1001}}).status == 400


def test_who_may_and_who_may_do_what(lake: Api) -> None:
    body = {"operation": "table.load", "entity": TABLE}
    assert lake.must("POST", f"{Q}/who", body)["users"] == ["ana"]
    found = lake.must("POST", f"{Q}/access", {"entity": TABLE})["access"]
    assert {"operation": "table.load", "users": ["ana"]} in found


def test_an_explanation_names_the_statements_and_how_they_reach_the_asker(lake: Api) -> None:
    body = {"operation": "table.load", "entity": TABLE}
    found = lake.must("POST", f"{Q}/explain", body, user="ana")
    assert found["allow"] is True
    assert {"read", "use"} <= {one["id"] for one in found["named"]}
    assert {"statement": "read", "over": ["role:lk:readers"]} in found["reaching"]


def label_of(name: str) -> str:
    return name.rpartition(":")[2]


def test_a_hidden_entity_is_explained_like_one_that_is_not_there(lake: Api) -> None:
    for verb in ("check", "explain"):
        answers = []
        for name in (HIDDEN, "table:lk:sales.raw.nothing"):
            body = {"operation": "table.load", "entity": name}
            answer = lake.must("POST", f"{Q}/{verb}", body, user="eve")
            said = json.dumps(answer).replace(name, "NAME").replace(label_of(name), "LABEL")
            answers.append(json.loads(said))
        assert answers[0] == answers[1]
        assert answers[0]["reason"] == "denied"


def test_who_sees_the_realm_is_told_what_is_not_stored(lake: Api) -> None:
    body = {"operation": "table.load", "entity": "table:lk:sales.raw.nothing", "principal": "eve"}
    found = lake.must("POST", f"{Q}/check", body)
    assert found["reason"] == "not stored"
    assert len(found["notes"]) == 2


def test_the_vocabulary_of_a_realm_is_read_by_its_people(lake: Api) -> None:
    found = lake.must("GET", f"{Q}/operations", user="ana")
    assert found["model"] == "gravitino"
    assert "table.load" in {one["name"] for one in found["operations"]}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "body"),
        ({"operation": 1}, "body.operation"),
        ({"operation": "table.load", "targets": {"x": 1}}, "body.targets[...]"),
        ({"operation": "table.load", "isAdmin": True}, "body"),
        ({"operation": "table.load", "targets": {"x": TABLE}}, "targets"),
        ({"operation": "table.load", "attributes": {"a.b": 1}}, "attributes"),
    ],
)
def test_a_malformed_question_is_refused_with_its_place(
    lake: Api, body: dict[str, object], path: str
) -> None:
    answer = lake.ask("POST", f"{Q}/check", body)
    assert answer.status == 400
    assert [one["path"] for one in answer.body["errors"]] == [path]
