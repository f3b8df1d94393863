"""Statements, entities and rules in readable form."""

from __future__ import annotations

import pytest

from lakewarden.analysis.access import Access
from lakewarden.cli.formatting import decisive, entity_text, principal_name, some, statement_text
from lakewarden.cli.plan_view import plan_lines
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.explain import Step
from lakewarden.kernel.principal import ALL_USERS, Principal, members_of
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.plan_result import Edit, Plan
from lakewarden.service.system import load_system


def text(model: str, *decided: str, **table: object) -> str:
    system = load_system(model)
    (found,) = read_statements([{"id": "x", **table}], system.model, system.spelling, "")
    return statement_text(found, decided)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            {"privileges": "VIEW_ENTITY_PAGE", "to": "all-users"},
            "ALLOW VIEW_ENTITY_PAGE everywhere to all-users",
        ),
        (
            {"privileges": "EDIT_ENTITY", "to": "owners", "where": []},
            "ALLOW EDIT_ENTITY on every entity to its owners",
        ),
        (
            {"privileges": [], "to": [], "title": "A policy", "active": False},
            "ALLOW nothing everywhere to nobody, not active (A policy)",
        ),
        (
            {
                "privileges": "EDIT_ENTITY_TAGS",
                "to": ["user:urn:li:corpuser:ana", "owners:urn:li:ownershipType:a"],
                "where": [
                    {"field": "DOMAIN", "values": ["urn:li:domain:a", "urn:li:domain:b"]},
                    {"field": "TAG", "condition": "NOT_EQUALS", "values": ["urn:li:tag:c"]},
                    {"field": "URN", "condition": "STARTS_WITH", "values": []},
                ],
                "constraint": [{"field": "URN", "values": ["urn:li:tag:d"]}],
            },
            "ALLOW EDIT_ENTITY_TAGS where DOMAIN = urn:li:domain:a, urn:li:domain:b and"
            " TAG ≠ urn:li:tag:c and URN starts with nothing, touching only what has"
            " URN = urn:li:tag:d to ana, its owners of type urn:li:ownershipType:a",
        ),
    ],
)
def test_a_statement_of_criteria_is_one_line(table: dict[str, object], expected: str) -> None:
    assert text("datahub", **table) == expected


def test_a_deny_on_an_entity_is_one_line() -> None:
    deny = {"effect": "deny", "privileges": "USE_SCHEMA", "to": "role:lk:r", "on": "schema:lk:c.s"}
    assert text("gravitino", **deny) == "DENY USE_SCHEMA on schema:lk:c.s to role:lk:r"


def test_of_the_privileges_those_that_decided_are_named() -> None:
    table = {"privileges": ["READ", "WRITE", "ADMIN"], "to": "user:ana", "on": "namespace:a"}
    assert text("cdap", "READ", **table).startswith("ALLOW READ (and 2 more) on")
    assert text("cdap", "ADMIN", "READ", "WRITE", **table).startswith("ALLOW ADMIN, READ, WRITE on")
    assert text("cdap", "VISIBLE", **table).startswith("ALLOW ADMIN, READ, WRITE on")


def test_many_words_are_cut() -> None:
    assert some([]) == ""
    assert some(list("abcdef")) == "a, b, c, d, e, f"
    assert some(list("abcdefgh")) == "a, b, c, d, e, f and 2 more"


def test_entities_and_principals_are_written_as_any_verb_takes_them() -> None:
    assert entity_text(NO_RESOURCE) == "the platform"
    assert entity_text(Entity("table", "lk:a.b.c")) == "table:lk:a.b.c"
    assert entity_text(Entity("tag", "urn:li:tag:x")) == "urn:li:tag:x"
    assert principal_name(Principal("user", "ana")) == "ana"
    assert principal_name(Principal("user", "urn:li:corpuser:ana")) == "ana"
    assert principal_name(Principal("group", "staff")) == "group:staff"
    assert principal_name(Principal("group", "urn:li:corpGroup:s")) == "urn:li:corpGroup:s"
    assert principal_name(ALL_USERS) == "all-users"
    assert principal_name(members_of("lk")) == "members:lk"


def step(says: str, holds: bool, *inner: Step) -> Step:
    return Step(says, holds, None, steps=inner)


def test_only_what_decided_is_kept() -> None:
    rule = step(
        "any of",
        True,
        step("all of", False, step("A", True), step("B", False)),
        step(
            "all of", True, step("C", True), step("any of", True, step("D", True), step("E", False))
        ),
    )
    assert decisive(rule) == step("all of", True, step("C", True), step("D", True))


def test_what_is_missing_is_kept_of_a_denial() -> None:
    rule = step(
        "all of",
        False,
        step("A", True),
        step(
            "any of",
            False,
            step("all of", False, step("B", True), step("C", False)),
            step("D", False),
        ),
    )
    assert decisive(rule) == step("any of", False, step("C", False), step("D", False))


def test_a_step_that_looks_elsewhere_stays() -> None:
    rule = step("at parent", True, step("any of", True, step("A", True), step("B", False)))
    assert decisive(rule) == step("at parent", True, step("A", True))


def statement(**table: object) -> Statement:
    system = load_system("cdap")
    given = {"id": "x", "privileges": ["READ"], "to": ["user:ana"], "on": "namespace:a", **table}
    (found,) = read_statements([given], system.model, system.spelling, "")
    return found


def test_what_a_plan_changes_in_a_window_or_in_a_long_list_is_shown() -> None:
    people = [f"user:u{number}" for number in range(10)]
    was = statement(to=people, valid_until=1795392000.0)
    now = statement(to=[*people[:8], "user:eve", people[9]])
    plan = Plan(
        *("lake", "policy", False, 7, (Edit("x", was, now),), (), (), (), (), 0, False),
        access=Access((), (), (), 0, 0, True),
    )
    assert [*plan_lines(plan)][2:7] == [
        "statements",
        "  ~ x",
        "      was ALLOW READ on namespace:a to u0, u1, u2, u3, u4, u5 and 4 more,"
        " until 2026-11-23T00:00:00Z",
        "      now ALLOW READ on namespace:a to eve, u0, u1, u2, u3, u4 and 4 more",
        "      to: + user:eve, - user:u8",
    ]
