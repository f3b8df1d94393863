"""A DENY on a column: no document grants the table, and the residue reports it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lakewarden.engines import engine, mapping, ranger_service
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.ranger.document import Documents, documents
from lakewarden.service.ranger.places import Naming
from lakewarden.service.realm import Realm
from lakewarden.service.state import People, RealmState
from lakewarden.service.system import load_system
from tests.http.opa.test_served import SETTINGS, facts_of
from tests.http.ranger.judge import judged

RIGHTS = ("INSERT_ROWS", "UPDATE_ROWS", "DELETE_ROWS")
WHY = "it is denied on a column, and a policy names all columns of the table"
PLACES = {
    "trino": {"catalog": "memory", "schema": "sales", "table": "orders"},
    "hive": {"database": "sales", "table": "orders"},
}


def made(
    type: str, *denied: str, on: str = "lk:lake.sales.orders.iban", creates: str = "olga"
) -> Documents:
    """`ana` may read sales; `bo` may also add, change and delete rows, except for what is denied.

    `olga` owns everything; others may create tables and views.
    """
    system = load_system("gravitino", SETTINGS)
    stated = [
        {"id": "rows", "privileges": [*RIGHTS], "on": "schema:lk:lake.sales", "to": ["user:bo"]},
        {"id": "create", "privileges": ["CREATE_TABLE", "CREATE_VIEW"], "to": [f"user:{creates}"],
         "on": "schema:lk:lake.sales"},
        *(
            {"id": f"no-{one}", "effect": "deny", "privileges": [one], "on": f"column:{on}",
             "to": ["user:bo"]}
            for one in denied
        ),
    ]  # fmt: skip
    more = read_statements(stated, system.model, system.spelling, "test")
    facts = facts_of()
    facts = replace(facts, statements=[*facts.statements, *more])
    matrix = Matrix(compile(facts, system.model, system.spelling))
    state = RealmState(Realm("lake", "gravitino", settings=SETTINGS), system, matrix, People())
    naming = Naming("prod", "lk", {"memory": "lake"}, governs="lake" if type == "hive" else "")
    acts = mapping.of_model("gravitino")[type]
    return documents(state, acts, ranger_service.load(type), naming, 0.0)


def given(found: Documents, type: str, access: str) -> set[str]:
    """The users with an access on orders."""
    holders: set[str] = set()
    roles = {one["name"]: one for one in found.roles["rangerRoles"]}
    for policy in found.policies["policies"]:
        named = {name: one["values"] for name, one in policy["resources"].items()}
        if any(value not in named.get(part, ()) for part, value in PLACES[type].items()):
            continue
        for item in policy.get("policyItems", ()):
            if access in {one["type"] for one in item["accesses"]}:
                todo = list(item["roles"])
                while todo:
                    role = roles[todo.pop()]
                    holders |= {one["name"] for one in role["users"]}
                    todo += [one["name"] for one in role["roles"]]
    return holders


@pytest.mark.parametrize(
    ("type", "access", "right"),
    [
        ("trino", "insert", "INSERT_ROWS"),
        ("trino", "insert", "UPDATE_ROWS"),
        ("trino", "select", "SELECT_COLUMN"),
        ("hive", "update", "INSERT_ROWS"),
        ("hive", "update", "UPDATE_ROWS"),
        ("hive", "select", "SELECT_COLUMN"),
    ],
)
def test_whom_a_deny_on_a_column_binds_is_not_given_the_table(
    type: str, access: str, right: str
) -> None:
    before, after = made(type), made(type, right)
    assert "bo" in given(before, type, access)
    assert given(after, type, access) == given(before, type, access) - {"bo"}
    told = {(one.entity, one.principal, one.access) for one in after.residues if one.why == WHY}
    assert told == {("table:lk:lake.sales.orders", "user:bo", access)}
    others = {"select", "delete", "insert", "update"} - {access}
    for one in others:
        assert given(after, type, one) == given(before, type, one)


def test_a_column_that_is_not_stored_closes_the_table_too() -> None:
    found = made("trino", "INSERT_ROWS", on="lk:lake.sales.orders.later")
    assert "bo" not in given(found, "trino", "insert")
    found = made("trino", "INSERT_ROWS", on="lk:lake.sales.clients.iban")
    assert "bo" in given(found, "trino", "insert")


def test_ranger_denies_it(tmp_path: Path) -> None:
    asked = {"groups": [], "roles": [], "access": "insert", "resource": PLACES["trino"]}
    requests = [{**asked, "user": user} for user in ("bo", "olga")]
    found = made("trino", "INSERT_ROWS")
    answers = judged(found.policies, found.roles, requests, tmp_path)
    assert [one["allowed"] for one in answers] == [False, True]


def test_nobody_is_given_a_session_property_by_which_an_insert_deletes(tmp_path: Path) -> None:
    (guarded,) = engine.load("trino").guarded["session_properties"]
    assert ranger_service.load("trino").levels["session"].excludes == (guarded,)
    asked = {"groups": [], "roles": [], "access": "alter", "user": "olga"}
    requests = [
        {**asked, "resource": {"catalog": "memory", "sessionproperty": name}}
        for name in (guarded, "other")
    ]
    found = made("trino")
    answers = judged(found.policies, found.roles, requests, tmp_path)
    assert [one["allowed"] for one in answers] == [False, True]
    assert any(guarded in one.why for one in found.residues)


@pytest.mark.parametrize("type", ["trino", "hive"])
def test_what_is_there_is_created_anew_by_who_may_drop_it(type: str) -> None:
    """`CREATE OR REPLACE` requires the same access as `CREATE`."""
    found = made(type, creates="bo")
    assert given(found, type, "create") == given(found, type, "drop") == {"olga"}
