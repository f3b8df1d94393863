"""A user's view of a table: permitted callers, the answers, and hidden facts."""

from __future__ import annotations

import pytest

from tests.http.admin.api import Api
from tests.http.admin.conftest import HIDDEN, TABLE

SEE = "/realms/gravitino/see"
COLUMN = "column:lk:sales.raw.orders.iban"


@pytest.fixture
def limited(lake: Api) -> Api:
    """The lake with a filter and two masks."""
    lake.must("PUT", "/realms/gravitino/entity", {"entity": COLUMN})
    of = "/realms/gravitino"
    rows = {"on": "schema:lk:sales.raw", "expression": "a = 1", "except": ["user:ben"]}
    lake.must("PUT", f"{of}/filters/rows", rows)
    lake.must("PUT", f"{of}/masks/last", {"on": COLUMN, "expression": "last4"})
    lake.must("PUT", f"{of}/masks/strict", {"on": TABLE, "expression": "hash", "to": ["user:ana"]})
    return lake


def test_a_reader_learns_what_limits_the_own_reading(limited: Api) -> None:
    found = limited.must("POST", SEE, {"entity": TABLE}, user="ana")
    assert (found["may_read"], found["operation"]) == (True, "table.load")
    assert found["filters"] == [{"id": "rows", "expression": "a = 1", "words": []}]
    assert found["columns"] == [
        {"column": COLUMN, "mask": "strict", "expression": "hash", "masks": ["last", "strict"]}
    ]
    assert found["stored"] == 1


def test_an_administrator_asks_about_others_and_gets_sentences(limited: Api) -> None:
    found = limited.must("POST", SEE, {"entity": TABLE, "principal": "user:ana"})
    said = "".join(word["text"] for word in found["filters"][0]["words"])
    assert said == "everybody may see only rows on schema sales.raw where a = 1, except ben"
    spared = limited.must("POST", SEE, {"entity": TABLE, "principal": "user:ben"})
    assert (spared["may_read"], spared["filters"]) == (False, [])
    assert [one["mask"] for one in spared["columns"]] == ["last"]


EXPLAIN = "/realms/gravitino/explain"


def test_an_allowed_read_is_explained_with_what_limits_it(limited: Api) -> None:
    asking = {"entity": TABLE, "operation": "table.load"}
    found = limited.must("POST", EXPLAIN, asking, user="ana")
    assert found["limits"] == {"filters": ["rows"], "masks": ["last", "strict"]}
    assert found["notes"] == [
        "1 row filter (rows) and 2 column masks (last, strict) bind where it is read:"
        f" `lakewarden see ana {TABLE}`"
    ]
    # For others, an administrator gets the same answer, with additional notes.
    of_other = limited.must("POST", EXPLAIN, {**asking, "principal": "user:ana"})
    assert of_other["limits"] == found["limits"]
    assert found["notes"][0] in of_other["notes"]
    column = {"entity": COLUMN, "operation": "column.read"}
    assert limited.must("POST", EXPLAIN, column, user="ana")["limits"] == found["limits"]
    # A mask on a column that is not stored binds by name.
    new = {"on": "column:lk:sales.raw.orders.new", "expression": "null"}
    limited.must("PUT", "/realms/gravitino/masks/new", new)
    masks = limited.must("POST", EXPLAIN, asking, user="ana")["limits"]["masks"]
    assert masks == ["last", "new", "strict"]


def test_a_denial_and_what_has_no_rows_are_explained_without_limits(limited: Api) -> None:
    for user, entity, operation in (
        ("ben", TABLE, "table.load"),
        ("ana", HIDDEN, "table.load"),
        ("ana", "table:lk:sales.raw.none", "table.load"),
        ("ana", "schema:lk:sales.raw", "schema.load"),
        ("ana", None, "metalake.list"),
    ):
        asking = {"entity": entity, "operation": operation}
        found = limited.must("POST", EXPLAIN, asking, user=user)
        assert found["limits"] is None, (user, entity)
        assert not any("lakewarden see" in note for note in found["notes"])
    for id in ("rows", "last", "strict"):
        limited.must("DELETE", f"/realms/gravitino/statements/{id}")
    asking = {"entity": TABLE, "operation": "table.load"}
    assert limited.must("POST", EXPLAIN, asking, user="ana")["limits"] is None


def test_what_may_not_be_read_is_hidden_with_its_columns(limited: Api) -> None:
    nothing = {
        "may_read": False,
        "operation": "table.load",
        "filters": [],
        "columns": [],
        "stored": 0,
        "notes": [],
        "rendered": None,
    }
    for user, table in (("ben", TABLE), ("ana", HIDDEN), ("ana", "table:lk:sales.raw.none")):
        assert limited.must("POST", SEE, {"entity": table}, user=user) == nothing
    other = limited.ask("POST", SEE, {"entity": TABLE, "principal": "user:ben"}, user="ana")
    assert other.status == 403


@pytest.mark.parametrize(
    ("entity", "problem"),
    [
        ("schema:lk:sales.raw", "a schema has no rows; types that have: table, view"),
        (COLUMN, "a column has no rows"),
        (None, "has no rows"),
    ],
)
def test_only_tables_have_rows(limited: Api, entity: str | None, problem: str) -> None:
    answer = limited.ask("POST", SEE, {"entity": entity})
    assert answer.status == 400
    assert problem in answer.body["detail"]


def test_the_policy_of_the_realm_has_them(limited: Api) -> None:
    policy = limited.must("GET", "/realms/gravitino/policy")
    assert [one["id"] for one in policy["filter"]] == ["rows"]
    assert [(one["id"], one["with"]) for one in policy["mask"]] == [
        ("last", "last4"),
        ("strict", "hash"),
    ]
    files = {"files": [{"name": "policy.json", "policy": policy}], "adopts": True}
    planned = limited.must("POST", "/realms/gravitino/plan", files)
    assert [one for one in planned["statements"] if one["was"] != one["now"]] == []


def test_statements_of_every_kind_say_how_far_they_reach(limited: Api) -> None:
    query = {"fields": "reach"}
    rows = limited.must("GET", "/realms/gravitino/statements", query=query)["statements"]
    reach = {row["id"]: row["reach"] for row in rows}
    assert {"read", "rows", "last", "strict"} <= reach.keys()
    assert all(one["users"] and one["entities"] for one in reach.values()), reach


def test_a_statement_keeps_its_kind(limited: Api) -> None:
    path = "/realms/gravitino"
    grant = {"privileges": ["USE_CATALOG"], "to": ["user:ana"], "on": "catalog:lk:sales"}
    assert limited.ask("PUT", f"{path}/statements/rows", grant).status == 409
    limited.must("PUT", f"{path}/statements/grant", grant)
    mask = {"on": COLUMN, "expression": "null"}
    assert limited.ask("PUT", f"{path}/masks/grant", mask).status == 409
    assert limited.ask("PUT", f"{path}/masks/mine", mask, user="ana").status == 403


def test_who_sees_the_values_of_a_column(limited: Api) -> None:
    def users(column: str, **more: str) -> list[str]:
        body = {"entity": column, **more}
        found = limited.must("POST", "/realms/gravitino/unmasked", body)
        assert found["total"] == len(found["users"])
        return list(found["users"])

    readers = limited.must(
        "POST", "/realms/gravitino/who", {"entity": TABLE, "operation": "table.load"}
    )["users"]
    assert "ana" in readers
    assert users(COLUMN) == []
    other = "column:lk:sales.raw.orders.other"
    assert users(other) == [name for name in readers if name != "ana"]
    limited.must("DELETE", "/realms/gravitino/statements/last")
    assert users(COLUMN) == [name for name in readers if name != "ana"]
    limited.must("DELETE", "/realms/gravitino/statements/strict")
    assert users(COLUMN) == readers


@pytest.mark.parametrize("entity", [TABLE, "schema:lk:sales.raw"])
def test_only_columns_have_values(limited: Api, entity: str) -> None:
    answer = limited.ask("POST", "/realms/gravitino/unmasked", {"entity": entity})
    assert answer.status == 400
    assert "is not a column; types that are: column" in answer.body["detail"]


def test_with_an_engine_the_limits_are_its_sql(limited: Api) -> None:
    question = {"entity": TABLE, "engine": "duckdb", "columns": {"iban": "VARCHAR", "a": "BIGINT"}}
    found = limited.must("POST", SEE, question, user="ana")["rendered"]
    assert (found["filters"], found["missing"]) == (['"a" = 1'], [])
    assert "SHA256" in found["masks"]["iban"]
    hidden = limited.must("POST", SEE, {**question, "entity": HIDDEN}, user="ana")["rendered"]
    assert hidden == {"may_read": False, "filters": [], "masks": {}, "missing": []}
    unknown = limited.ask("POST", SEE, {**question, "engine": "none"}, user="ana")
    assert unknown.status == 400


@pytest.mark.parametrize(
    ("kind", "body", "problem"),
    [
        ("filters", {"on": TABLE, "expression": "ibam = 'x'"}, "did you mean `iban`?"),
        ("filters", {"on": TABLE, "expression": "a = 1"}, "the table has no column `a`"),
        ("masks", {"on": COLUMN, "expression": "sql 'lower(a)'"}, "the table has no column `a`"),
        ("masks", {"on": COLUMN, "expression": "sql 'lower(iban)'"}, ""),
        ("masks", {"on": "column:lk:sales.raw.orders.new", "expression": "last4"}, ""),
        ("filters", {"on": "schema:lk:sales.raw", "expression": "a = 1"}, ""),
    ],
)
def test_columns_that_the_stored_table_lacks_are_refused(
    limited: Api, kind: str, body: dict[str, str], problem: str
) -> None:
    answer = limited.ask("PUT", f"/realms/gravitino/{kind}/new", body)
    assert answer.status == (400 if problem else 200), answer
    assert problem in str(answer.body)
    if problem:
        assert "body.expression" in str(answer.body)


def test_a_plan_refuses_them_and_leaves_what_is_stored(limited: Api) -> None:
    policy = limited.must("GET", "/realms/gravitino/policy")
    policy["filter"].append({"id": "new", "on": TABLE, "where": "gone = 1"})
    files = [{"name": "policy.toml", "policy": policy}]
    refused = limited.ask("POST", "/realms/gravitino/plan", {"files": files})
    assert refused.status == 400
    assert "`new`.expression: the table has no column `gone`" in str(refused.body)
    limited.must("DELETE", "/realms/gravitino/statements/rows")
    limited.must("PUT", "/realms/gravitino/filters/kept", {"on": TABLE, "expression": "iban = 'x'"})
    limited.must("DELETE", f"/realms/gravitino/entity?entity={COLUMN}")
    limited.must("PUT", "/realms/gravitino/entity", {"entity": f"{COLUMN}2"})
    policy = limited.must("GET", "/realms/gravitino/policy")
    files = [{"name": "policy.toml", "policy": policy}]
    assert limited.ask("POST", "/realms/gravitino/plan", {"files": files}).status == 200
