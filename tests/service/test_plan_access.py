"""The size of a plan: the sum of its lines and people, not the product."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from lakewarden.analysis import tally
from lakewarden.analysis.access import Access, access
from lakewarden.cli.plan_file import pieces
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import ROLE, USER, Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.service.plan_access import access_table, read_access
from lakewarden.service.system import load_system

LAKE = Entity("metalake", "lk")
CATALOG = Entity("catalog", "lk:c")
SCHEMA = Entity("schema", "lk:c.s")
TABLES = [Entity("table", f"lk:c.s.t{number}") for number in range(8)]
ROLES = [Principal(ROLE, f"lk:r{number:02}") for number in range(12)]
USERS = [Principal(USER, f"u{number:03}") for number in range(len(list(combinations(ROLES, 3))))]
"""As many users as combinations of three roles, one for each."""


def facts() -> Facts:
    """Twelve roles may read tables, each by 2 statements; no two users have the same roles."""
    rows = [(LAKE, None), (CATALOG, LAKE), (SCHEMA, CATALOG), *((t, SCHEMA) for t in TABLES)]
    pairs = zip(USERS, combinations(ROLES, 3), strict=True)
    return Facts(
        entities=[EntityRow(*row) for row in rows],
        principals=[*USERS, *ROLES],
        memberships=[
            *(MembershipRow(user, members_of("lk")) for user in USERS),
            *(MembershipRow(user, role) for user, roles in pairs for role in roles),
        ],
        statements=[
            Statement(
                id=f"{role.name}:{step}",
                effect=Effect.ALLOW,
                privileges=frozenset({"SELECT_TABLE"}),
                scope=On(TABLES[(number + step) % len(TABLES)]),
                principals=frozenset({role}),
            )
            for number, role in enumerate(ROLES)
            for step in range(2)
        ],
    )


def lost(whole: Facts) -> Access:
    """The access lost with all statements."""
    system = load_system("gravitino")
    before, after = (
        Matrix(compile(one, system.model, system.spelling, now=0))
        for one in (whole, replace(whole, statements=()))
    )
    return access(before, after, 0)


def size(found: Access) -> int:
    """The bytes of the access in a plan."""
    return sum(map(len, pieces(access_table(found))))


@pytest.fixture(scope="module")
def found() -> Access:
    return lost(facts())


def test_people_with_the_same_change_are_one_line(found: Access) -> None:
    assert len(USERS) == 220
    assert len(found.held) == len(TABLES)  # by reason there were 1,100
    assert sorted(line.sample for line in found.held) == TABLES
    assert {user for line in found.held for user in line.users} == set(USERS)
    first = next(line for line in found.held if line.sample == TABLES[0])
    assert first.pairs == len(first.users) == 136  # users with r00, r07 or r08, all three as reason
    assert {role.name for role in first.through} >= {"lk:r00", "lk:r07", "lk:r08"}


def test_a_plan_is_as_large_as_its_lines_and_its_people(found: Access) -> None:
    lines, people = len(found.held) + len(found.reached), len(USERS) + len(ROLES)
    # A line is short except for its people and its reasons, numbers with few digits each.
    assert size(found) < 400 * lines + 6 * sum(len(line.users) for line in found.held) + 20 * people
    assert size(found) < 10_000  # with a line for each reason it was 341,100


def test_more_people_of_the_same_roles_add_their_names_and_no_lines(found: Access) -> None:
    whole = facts()
    more = [Principal(USER, f"{user.name}b") for user in USERS]
    pairs = [
        MembershipRow(Principal(USER, f"{row.member.name}b"), row.of) for row in whole.memberships
    ]
    twice = lost(
        replace(
            whole,
            principals=(*whole.principals, *more),
            memberships=(*whole.memberships, *pairs),
        )
    )
    assert len(twice.held) == len(found.held)
    assert size(twice) - size(found) <= 20 * len(more)


def test_too_many_lines_are_told_by_type(monkeypatch: pytest.MonkeyPatch, found: Access) -> None:
    for limit in ("PART_LIMIT", "WORK_LIMIT"):
        with monkeypatch.context() as patch:
            patch.setattr(tally, limit, len(TABLES) - 1)
            (line,) = lost(facts()).held
        assert (line.type, line.entities) == ("table", len(TABLES))
        assert line.pairs == sum(one.pairs for one in found.held)


def test_a_plan_is_read_back_as_it_was_written(found: Access) -> None:
    assert read_access(access_table(found)) == found
