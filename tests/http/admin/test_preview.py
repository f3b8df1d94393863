"""The preview of a change: gains and losses, affected usage, new findings."""

from __future__ import annotations

from typing import Any

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.service.usage import Usage
from tests.http.admin.api import Api
from tests.http.admin.conftest import HIDDEN, TABLE, state

P = "/realms/gravitino/preview"
WIDER: dict[str, Any] = {
    "privileges": ["SELECT_TABLE"],
    "to": ["role:lk:readers"],
    "on": "schema:lk:sales.raw",
}


def preview(api: Api, **body: object) -> Any:
    return api.must("POST", P, body)


def put(id: str = "wide", **parts: object) -> dict[str, object]:
    return {"id": id, **WIDER, **parts}


def ways(shown: dict[str, Any]) -> dict[tuple[str, bool], tuple[int, int]]:
    rows = shown["access"]["ways"]
    return {(r["way"], r["gained"]): (r["users"], r["entities"]) for r in rows if r["entities"]}


def may_load(api: Api, user: str, table: str) -> bool:
    asked = {"operation": "table.load", "entity": table, "principal": user}
    return bool(api.must("POST", "/realms/gravitino/check", asked)["allow"])


def test_nothing_is_written(lake: Api) -> None:
    before = lake.service.state.revision
    assert preview(lake, put=[put()])["revision"] == before == lake.service.state.revision
    assert not may_load(lake, "ana", HIDDEN)
    assert lake.ask("GET", "/realms/gravitino/statements/wide").status == 404


def test_what_is_shown_is_what_comes_of_it(lake: Api) -> None:
    shown = preview(lake, put=[put()])
    assert ways(shown) == {("see", True): (1, 1), ("read", True): (1, 1)}
    (edit,) = shown["changes"]
    assert (edit["was"], edit["now"]["id"]) == (None, "wide")
    assert edit["words_was"] == []
    assert "SELECT_TABLE" in {word["text"] for word in edit["words_now"]}
    assert edit["reach_was"] == {"users": 0, "entities": 0}
    assert edit["reach_now"]["users"] == 1
    lake.must("PUT", "/realms/gravitino/statements/wide", WIDER)
    assert may_load(lake, "ana", HIDDEN)
    assert preview(lake, put=[put()])["changes"] == []


def test_a_statement_that_would_go_takes_its_access_along(lake: Api) -> None:
    shown = preview(lake, remove=["read"])
    assert ways(shown)["read", False] == (1, 1)
    assert shown["changes"][0]["now"] is None


def test_members_and_owners_are_tried(lake: Api) -> None:
    row = {"member": "user:ben", "of": "role:lk:readers"}
    assert ways(preview(lake, members={"add": [row]}))["read", True] == (1, 1)
    row = {"member": "user:ana", "of": "role:lk:readers"}
    assert ways(preview(lake, members={"remove": [row]}))["read", False] == (1, 1)
    owner = {"entity": HIDDEN, "principal": "user:ana"}
    assert ways(preview(lake, owners={"set": [owner]}))["read", True] == (1, 1)
    lake.must(
        "PUT", "/realms/gravitino/entity", {"entity": HIDDEN, "owners": [{"principal": "user:ana"}]}
    )
    assert ways(preview(lake, owners={"unset": [owner]}))["read", False] == (1, 1)


def test_somebody_who_would_be_removed(lake: Api) -> None:
    lost = preview(lake, principals_removed=["user:ana"])
    assert ways(lost)["read", False] == (1, 1)
    assert lake.ask("POST", P, {"principals_removed": ["user:absent"]}).status == 400


def test_what_names_somebody_goes_along_as_when_it_is_done(lake: Api) -> None:
    state(lake, "direct", ["SELECT_TABLE"], HIDDEN, ["user:ana"])
    state(lake, "shared", ["SELECT_TABLE"], HIDDEN, ["user:ana", "user:zoe"])
    owned = {"entity": HIDDEN, "owners": [{"principal": "user:ana"}]}
    lake.must("PUT", "/realms/gravitino/entity", owned)
    shown = preview(lake, principals_removed=["user:ana"], remove=["read"], put=[put("read")])
    assert ways(shown)["read", False] == (1, 2)
    assert [(one["id"], one["now"] is None) for one in shown["changes"]] == [
        ("direct", True),
        ("read", False),
        ("shared", False),
    ]
    assert "only owner" in shown["refused"][0]
    again = lake.must("GET", "/realms/gravitino/statements/read")
    same = {key: again[key] for key in ("privileges", "to", "on")}
    assert preview(lake, remove=["read"], put=[{"id": "read", **same}])["changes"] == []


@pytest.mark.parametrize("name", ["team.toml", "team.yaml"])
def test_a_policy_file_is_read_here(lake: Api, name: str) -> None:
    body = {
        "team.toml": """
            [[statement]]
            id = "wide"
            privileges = ["SELECT_TABLE"]
            to = ["role:lk:readers"]
            on = "schema:lk:sales.raw"
        """,
        "team.yaml": """
statement:
  - id: wide
    privileges: [SELECT_TABLE]
    to: ["role:lk:readers"]
    on: schema:lk:sales.raw
        """,
    }[name]
    shown = preview(lake, text={"name": name, "body": body})
    assert [one["id"] for one in shown["changes"]] == ["wide"]
    planned = lake.must("POST", "/realms/gravitino/plan", {"files": [{"name": name, "text": body}]})
    assert [one["id"] for one in planned["statements"]] == ["wide"]


def test_an_error_in_a_file_says_file_and_line(lake: Api) -> None:
    body = "\n\n\n\n\n\nstatement = [\n"
    refused = lake.ask("POST", P, {"text": {"name": "team.toml", "body": body}})
    assert refused.status == 400
    assert refused.body["errors"][0]["path"] == "team.toml"
    assert "line 8" in refused.body["detail"] or "end of document" in refused.body["detail"]
    both = {"files": [{"name": "a.toml", "text": "", "policy": {}}]}
    assert lake.ask("POST", "/realms/gravitino/plan", both).status == 400


def test_what_was_used_lately_and_would_be_lost(lake: Api) -> None:
    today = lake.service.clock()
    usage = Usage()
    entity = Entity(*TABLE.split(":", 1))
    usage.count("gravitino", "ana", "table.load", *entity, today)
    usage.count("gravitino", "ana", "table.load", *entity, today)
    usage.count("gravitino", "ana", "table.load", *entity, today - 30 * 86_400)
    usage.write(lake.service.store)
    used = preview(lake, remove=["read"])["used"]
    assert used == {"acts": 2, "people": ["ana"], "days": 30, "whole": True}
    assert preview(lake, remove=["secret"])["used"]["acts"] == 0


def test_the_advisor_looks_at_the_draft(lake: Api) -> None:
    shown = preview(lake, put=[put("again", on=TABLE)])
    assert {one["name"] for one in shown["lint_new"]} & {"again", "read"}
    assert shown["lint_gone"] == []


def test_what_a_write_would_refuse_is_told(api: Api) -> None:
    api.must(
        "PUT",
        "/realms/_server/statements/all",
        {"privileges": ["MANAGE_SERVER"], "to": ["user:main/admin"]},
    )
    defaults = api.must("GET", "/realms/datahub/statements")["statements"]
    fixed = defaults[0]["id"]
    shown = api.must("POST", "/realms/datahub/preview", {"remove": [one["id"] for one in defaults]})
    assert any(fixed in said for said in shown["refused"])


def test_who_may_not_plan_is_refused_before_anything_is_read(lake: Api) -> None:
    answer = lake.ask("POST", P, {"remove": ["nothing"]}, user="ana")
    assert (answer.status, answer.body["operation"]) == (403, "realm.plan")


def test_a_realm_that_has_changed_is_told(lake: Api) -> None:
    revision = lake.service.state.revision
    assert preview(lake, put=[put()], at_revision=revision)["revision"] == revision
    lake.must("PUT", "/realms/gravitino/statements/other", {**WIDER, "on": TABLE})
    assert lake.ask("POST", P, {"put": [put()], "at_revision": revision}).status == 409


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"remove": ["nothing"]}, 404),
        ({"put": [put(), put()]}, 400),
        ({"put": [put(privileges=["NONSENSE"])]}, 400),
        ({"policies": {"put": [{"name": "urn:li:dataHubPolicy:x", "value": {}}]}}, 400),
    ],
)
def test_what_cannot_be_is_refused(lake: Api, body: dict[str, object], status: int) -> None:
    assert lake.ask("POST", P, body).status == status


def test_a_policy_is_tried_as_its_own_system_writes_it(api: Api) -> None:
    api.must("PUT", "/directories/main/users/ana")
    urn = "urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD)"
    api.must("PUT", "/realms/datahub/entity", {"entity": f"dataset:{urn}"})
    value = {
        "displayName": "Edit docs",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY_DOCS"],
        "actors": {"users": ["urn:li:corpuser:ana"], "resourceOwners": False},
        "resources": {"filter": {"criteria": [{"field": "TYPE", "values": ["dataset"]}]}},
    }
    draft = {"policies": {"put": [{"name": "urn:li:dataHubPolicy:docs", "value": value}]}}
    shown = api.must("POST", "/realms/datahub/preview", draft)
    assert [one["id"] for one in shown["changes"]] == ["urn:li:dataHubPolicy:docs"]
    assert shown["access"]["gained"] >= 1
    bad = {
        "policies": {
            "put": [{"name": "urn:li:dataHubPolicy:docs", "value": {**value, "type": "ODD"}}]
        }
    }
    assert api.ask("POST", "/realms/datahub/preview", bad).status == 400


def test_a_principal_with_control_characters_is_refused(api: Api) -> None:
    body = {"members": {"remove": [{"member": "user:a", "of": "x\x9b"}]}}
    answer = api.ask("POST", "/realms/gravitino/preview", body)
    assert answer.status == 400
    assert "control character" in answer.body["detail"]


FILTER = {"id": "rows", "on": TABLE, "expression": "region = $user.region"}


def limits(api: Api, **body: object) -> list[tuple[str, str, int, int]]:
    rows = preview(api, **body)["limits"]
    return [(row["id"], row["change"], row["users"], row["entities"]) for row in rows]


def test_filters_and_masks_say_who_sees_less(lake: Api) -> None:
    users = len(lake.must("GET", "/directories/main/principals?kind=user")["principals"])
    (row,) = preview(lake, filters=[FILTER])["limits"]
    assert (row["effect"], row["change"], row["users"]) == ("filter", "less", users)
    assert (row["entities"], row["sample"], row["owners"]) == (1, TABLE, False)
    assert len(row["people"]) == min(users, 5)
    wide = {**FILTER, "on": "schema:lk:sales.raw", "to": ["user:ana"]}
    assert limits(lake, filters=[wide]) == [("rows", "less", 1, 2)]
    spared = {**FILTER, "except": ["owners", "user:ana"]}
    (row,) = preview(lake, filters=[spared])["limits"]
    assert (row["users"], row["owners"]) == (users - 1, True)
    mask = {
        "id": "cells",
        "on": f"column:{TABLE.removeprefix('table:')}.iban",
        "expression": "null",
    }
    shown = preview(lake, masks=[mask])
    assert shown["limits"] == []  # the column is not stored
    (edit,) = shown["changes"]
    assert edit["now"]["effect"] == "mask"
    assert "iban" in "".join(word["text"] for word in edit["words_now"])
    assert lake.ask("GET", "/realms/gravitino/statements/rows").status == 404


def test_a_filter_that_is_changed_or_removed_shows_more_or_others(lake: Api) -> None:
    stored = {**FILTER, "to": ["user:ana", "user:ben"]}
    lake.must("PUT", "/realms/gravitino/filters/rows", {k: stored[k] for k in stored if k != "id"})
    assert limits(lake, remove=["rows"]) == [("rows", "more", 2, 1)]
    assert limits(lake, filters=[stored]) == []
    assert limits(lake, filters=[{**stored, "to": ["user:ana"]}]) == [("rows", "more", 1, 1)]
    other = {**stored, "expression": "region = 'eu'"}
    assert limits(lake, filters=[other]) == [("rows", "other", 2, 1)]
    assert limits(lake, filters=[{**stored, "active": False}]) == [("rows", "more", 2, 1)]
    wide = {**stored, "on": "schema:lk:sales.raw"}
    assert limits(lake, filters=[wide]) == [("rows", "less", 2, 1)]
    row = lake.must("GET", "/realms/gravitino/statements/rows?fields=reach")
    assert row["reach"] == {"users": 2, "entities": 1}


@pytest.mark.parametrize(
    ("draft", "problem"),
    [
        ({**FILTER, "expression": "now() > a"}, "body.filters[0].expression: `NOW()`"),
        ({**FILTER, "expression": "a in lookup.b"}, "unknown lookup table `b`"),
        ({**FILTER, "on": "role:lk:readers"}, "nothing in a `role` has rows to filter"),
        ({**FILTER, "expression": "1 = 'a'"}, "got integer and string"),
    ],
)
def test_a_filter_that_could_not_be_stored_is_refused(
    lake: Api, draft: dict[str, object], problem: str
) -> None:
    answer = lake.ask("POST", P, {"filters": [draft]})
    assert answer.status == 400
    assert problem in answer.body["detail"]


def test_a_grant_does_not_become_a_filter(lake: Api) -> None:
    shown = preview(lake, filters=[{**FILTER, "id": "read"}])
    assert shown["refused"] == ["`read` is a statement with the effect allow"]


def test_lint_of_a_draft_knows_the_lookup_tables_of_its_file(lake: Api) -> None:
    body = f"""
        [[filter]]
        id = "rows"
        on = "{TABLE}"
        where = "(region, $user.name) in lookup.mine"
        [lookup.mine]
        columns = [{{ name = "region" }}, {{ name = "user" }}]
        rows = [["eu", "ana"]]
    """
    draft = {"text": {"name": "team.toml", "body": body}}
    new = {finding["rule"] for finding in preview(lake, **draft)["lint_new"]}
    found = lake.must("POST", "/realms/gravitino/lint", draft)["findings"]
    assert "broken-obligation" not in {*new, *(finding["rule"] for finding in found)}
