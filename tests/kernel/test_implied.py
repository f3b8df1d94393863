"""Statements implied by entities are distinguished from grants by content, not by id."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.facts import rows_of
from lakewarden.kernel.implied import is_implied, is_reserved, membership
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement import Anything, Effect, On, Statement
from tests.kernel.small import LAKE_SYSTEM, user, world

FOLLOWS = membership(Entity("metalake", "lk"))
TABLE = Entity("table", "implied:c.s.t")
GRANT = Statement("implied:r/table:c.s.t/deny", Effect.DENY, frozenset({"READ"}), On(TABLE))


@pytest.mark.parametrize(
    ("statement", "follows"),
    [
        (FOLLOWS, True),
        (GRANT, False),
        (replace(FOLLOWS, id="other"), False),
        (replace(FOLLOWS, scope=Anything()), False),
        (replace(FOLLOWS, scope=On(Entity("metalake", "sea"))), False),
        (replace(FOLLOWS, privileges=GRANT.privileges), False),
    ],
)
def test_a_statement_follows_from_an_entity_if_it_says_what_that_means(
    statement: Statement, follows: bool
) -> None:
    assert is_implied(statement) is follows


@pytest.mark.parametrize(
    ("id", "reserved"),
    [
        ("implied:member:lk", True),
        ("implied:member:a/b", True),
        ("implied:x", True),
        ("implied:r/table:c.s.t/allow", False),
        ("read", False),
    ],
)
def test_the_ids_of_grants_in_a_container_of_that_name_are_free(id: str, reserved: bool) -> None:
    assert is_reserved(id) is reserved


def test_the_rows_of_a_realm_have_the_grants_in_a_container_of_that_name() -> None:
    grant = replace(GRANT, principals=frozenset({user("ana")}))
    facts = world(LAKE_SYSTEM, ["metalake:implied"])
    facts = replace(facts, statements=[*facts.statements, grant])
    found = compile(facts, LAKE_SYSTEM.model, LAKE_SYSTEM.spelling)
    again = rows_of(found.coded, found.table.statements).statements
    assert {s.id for s in again} == {s.id for s in facts.statements}
