"""Policy as code over the API: a policy is read, planned, and applied according to the plan."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import pytest

from lakewarden.kernel.change import StatementAdded
from lakewarden.service.actor import SYSTEM
from tests.http.admin.api import Api
from tests.http.admin.conftest import HIDDEN

PATH = "/realms/gravitino"
READ = {
    "id": "see-all",
    "privileges": ["SELECT_TABLE"],
    "to": ["role:lk:readers"],
    "on": "schema:lk:sales.raw",
}
POLICY: dict[str, Any] = {"members": {"role:lk:readers": ["user:ben"]}, "statement": [READ]}


def sent(policy: object = POLICY, **rest: object) -> dict[str, object]:
    return {"files": [{"name": "team.toml", "policy": policy}], **rest}


def agreed(plan: dict[str, Any], policy: object = POLICY) -> dict[str, object]:
    return sent(policy, revision=plan["revision"], digest=plan["digest"])


def may_load(api: Api, user: str, table: str) -> bool:
    asked = {"operation": "table.load", "entity": table, "principal": user}
    return bool(api.must("POST", f"{PATH}/check", asked)["allow"])


def test_what_is_planned_is_shown_and_applied_and_then_exported(lake: Api) -> None:
    before = lake.service.state.revision
    plan = lake.must("POST", f"{PATH}/plan", sent())
    assert (plan["revision"], plan["pending"]) == (before, True)
    now = {"effect": "allow", **READ}
    assert plan["statements"] == [{"id": "see-all", "was": None, "now": now}]
    assert plan["members"] == {"new": [["user:ben", "role:lk:readers"]], "gone": []}
    access, hidden = plan["access"], HIDDEN.partition(":")[2]
    (row,) = [r for r in access["privileges"] if r["sample"]["name"] == hidden]
    assert (row["privileges"], row["gained"]) == (["SELECT_TABLE"], True)
    (run,) = access["crowds"][row["users"]]
    assert access["people"][run[0] : run[1] + 1] == ["user:ana", "user:ben"]
    (row,) = [r for r in access["effect"] if r["sample"]["name"] == hidden and r["ways"]]
    assert (row["ways"], row["gained"], row["sample"]["name"]) == (["see", "read"], True, hidden)
    assert lake.service.state.revision == before
    assert not may_load(lake, "ben", HIDDEN)
    answer = lake.ask("POST", f"{PATH}/apply", agreed(plan))
    assert (answer.status, answer.body["applied"]) == (200, before + 1)
    assert answer.body["plan"]["statements"] == plan["statements"]
    assert answer.headers["lakewarden-revision"] == str(before + 1)
    assert may_load(lake, "ben", HIDDEN)
    policy = lake.must("GET", f"{PATH}/policy")
    assert now in policy["statement"]
    assert "user:ben" in policy["members"]["role:lk:readers"]
    again = lake.must("POST", f"{PATH}/plan", sent())
    assert (again["pending"], again["access"]["effect"]) == (False, [])
    (event,) = [
        row["event"]
        for row in lake.must("GET", "/audit", query={"last": "20"})["rows"]
        if row["event"]["operation"] == "realm.apply"
    ]
    assert (event["actor"], event["details"]["plan"]) == ("admin", plan["digest"])


def test_an_exported_policy_is_a_plan_of_nothing_once_it_is_adopted(lake: Api) -> None:
    policy = lake.must("GET", f"{PATH}/policy")
    assert lake.must("POST", f"{PATH}/plan", sent(policy))["pending"] is False
    plan = lake.must("POST", f"{PATH}/plan", sent(policy, adopts=True))
    assert (plan["pending"], plan["access"]["effect"]) == (True, [])
    lake.must("POST", f"{PATH}/apply", {**agreed(plan, policy), "adopts": True})
    assert lake.must("POST", f"{PATH}/plan", sent(policy))["pending"] is False


def test_a_mask_of_a_policy_may_stay_on_a_table_that_was_dropped(lake: Api) -> None:
    table = "table:lk:sales.raw.brief"
    lake.must("PUT", f"{PATH}/entity", {"entity": table})
    policy = {"mask": [{"id": "brief", "on": table, "with": "null"}]}
    plan = lake.must("POST", f"{PATH}/plan", sent(policy))
    lake.must("POST", f"{PATH}/apply", agreed(plan, policy))
    lake.must("DELETE", f"{PATH}/entity", query={"entity": table})
    assert lake.must("POST", f"{PATH}/plan", sent(policy))["pending"] is False
    other = {"mask": [{**policy["mask"][0], "on": "table:lk:sales.raw.other"}]}
    refused = lake.ask("POST", f"{PATH}/plan", sent(other))
    assert "which is not stored" in refused.body["detail"]
    grant = {"statement": [{**READ, "on": table}]}
    refused = lake.ask("POST", f"{PATH}/plan", sent(grant))
    assert "which is not stored" in refused.body["detail"]


def test_a_plan_is_refused_once_the_store_has_moved_on(lake: Api) -> None:
    plan = lake.must("POST", f"{PATH}/plan", sent())
    lake.must("PUT", "/directories/main/users/dan")
    refused = lake.ask("POST", f"{PATH}/apply", agreed(plan))
    assert (refused.status, refused.body["type"]) == (409, "urn:lakewarden:problem:conflict")
    assert "has changed since revision" in refused.body["detail"]
    assert not may_load(lake, "ben", HIDDEN)


def test_nothing_but_what_the_plan_showed_is_applied(lake: Api) -> None:
    plan = lake.must("POST", f"{PATH}/plan", sent())
    wider = {**POLICY, "statement": [{**READ, "on": "catalog:lk:sales"}]}
    for body in (
        agreed(plan, wider),
        {**agreed(plan), "digest": "0" * 64},
        {**agreed(plan), "keeper": "another"},
        {**agreed(plan), "revision": plan["revision"] + 1},
    ):
        assert lake.ask("POST", f"{PATH}/apply", body).status == 409
    assert not may_load(lake, "ben", HIDDEN)


def test_what_somebody_else_keeps_is_left_alone(lake: Api) -> None:
    plan = lake.must("POST", f"{PATH}/plan", sent())
    lake.must("POST", f"{PATH}/apply", agreed(plan))
    refused = lake.ask("POST", f"{PATH}/plan", sent(keeper="others", adopts=True))
    assert refused.status == 409
    assert "has the mark `policy`" in refused.body["detail"]
    nothing = lake.must("POST", f"{PATH}/plan", sent({}, keeper="others"))
    assert nothing["pending"] is False
    gone = lake.must("POST", f"{PATH}/plan", sent({}))
    assert [edit["id"] for edit in gone["statements"]] == ["see-all"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (sent({"states": []}), "team.toml: unknown key `states`"),
        (sent({"statement": [{**READ, "on": "schema:lk:sales.no"}]}), "which is not stored"),
        (sent({"realm": "cdap"}), "team.toml.realm: is for realm `cdap`"),
        ({"files": []}, "length >= 1"),
        (sent(keeper=""), "length >= 1"),
        (sent(keeper="a\nb"), "matching regex"),
        ({"files": [{"name": "x"}]}, "body.files[0]"),
    ],
)
def test_files_that_cannot_be_are_refused_with_their_place(
    lake: Api, body: dict[str, object], said: str
) -> None:
    answer = lake.ask("POST", f"{PATH}/plan", body)
    assert answer.status == 400
    assert said in answer.body["detail"]


def test_only_who_may_see_plans_and_only_who_may_manage_applies(lake: Api) -> None:
    right = {"privileges": ["READ_REALM"], "to": ["user:ana"], "on": "realm:gravitino"}
    lake.must("PUT", "/realms/_server/statements/ana-reads", right)
    plan = lake.must("POST", f"{PATH}/plan", sent(), user="ana")
    assert lake.ask("GET", f"{PATH}/policy", user="ana").status == 200
    refused = lake.ask("POST", f"{PATH}/apply", agreed(plan), user="ana")
    assert (refused.status, refused.body["operation"]) == (403, "realm.apply")
    assert refused.body["missing"] == {"privilege": "MANAGE_REALM", "object": "realm:gravitino"}
    for realm in ("gravitino", "nowhere"):
        assert lake.ask("GET", f"/realms/{realm}/policy", user="ben").status == 403
    assert lake.ask("GET", "/realms/nowhere/policy").status == 404


def test_a_moment_without_end_is_never_sent_as_none(lake: Api) -> None:
    found = lake.service.state.realm("gravitino")
    (statement,) = [s for s in found.matrix.snapshot.table.statements.values() if s.id == "read"]
    never = StatementAdded(replace(statement, valid_from=inf))
    lake.service.write(SYSTEM, lambda transaction: transaction.change("gravitino", never))
    answer = lake.ask("GET", f"{PATH}/policy")
    assert answer.status == 409
    assert "`valid_from` of statement `read` is infinite" in answer.body["detail"]
