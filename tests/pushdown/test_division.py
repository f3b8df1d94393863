"""Division by roles of the realm: the same access for everybody, with fewer memberships."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

import pytest

from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.kernel.relations import Facts, MembershipRow
from lakewarden.pushdown.desired_state import DesiredRoles
from lakewarden.pushdown.division import divide_roles
from lakewarden.pushdown.grants import Grant, Role, Roles, RowPolicy
from lakewarden.service.residue import Residues
from tests.pushdown.estate import state_of

USERS = [f"u{n:02}" for n in range(40)]


def realm_of(members: Mapping[Principal, Iterable[str]]) -> Facts:
    """A realm with these roles and groups."""
    users = [Principal(USER, name) for name in USERS]
    return Facts(
        principals=[*users, *members],
        memberships=[
            MembershipRow(Principal(USER, name), of)
            for of, names in members.items()
            for name in names
        ],
    )


def divide(members: Mapping[Principal, Iterable[str]], *roles: Role) -> tuple[Role, ...]:
    users = {Principal(USER, name): name for name in USERS}
    wish = DesiredRoles(roles, Residues(), users=users)
    return divide_roles(state_of(realm_of(members), "mysql"), wish).roles


def given(number: int) -> frozenset[Grant]:
    return frozenset({Grant(("s", f"t{number}"), "SELECT")})


def holders(roles: Iterable[Role]) -> Mapping[Grant, frozenset[str]]:
    return Roles({str(number): role for number, role in enumerate(roles)}).holders()


READERS, WRITERS = Principal(ROLE, "lk:readers"), Principal(GROUP, "writers")
BOTH = {READERS: USERS[:20], WRITERS: USERS[15:30]}


def test_users_of_several_roles_are_put_together_of_these() -> None:
    roles = [
        Role(frozenset(USERS[:20]), given(1)),
        Role(frozenset(USERS[15:30]), given(2)),
        Role(frozenset(USERS[:30]), given(3)),
    ]
    found = divide(BOTH, *roles)
    assert sorted((sorted(one.members), one.grants) for one in found) == [
        (USERS[:20], given(1) | given(3)),
        (USERS[15:30], given(2) | given(3)),
    ]


def test_who_is_denied_something_is_in_no_role_that_gives_it() -> None:
    """A role of the realm is not used if one of its users lacks a part of it."""
    all_but_one = frozenset(USERS[1:20])
    found = divide(BOTH, Role(frozenset(USERS[:20]), given(1)), Role(all_but_one, given(2)))
    assert {one.members: one.grants for one in found} == {
        frozenset(USERS[:20]): given(1),
        all_but_one: given(2),
    }


def test_single_users_complete_what_roles_of_the_realm_begin() -> None:
    found = divide(BOTH, Role(frozenset({*USERS[:20], "u30"}), given(1)))
    assert {one.members for one in found} == {frozenset(USERS[:20]), frozenset({"u30"})}


def test_what_would_take_too_many_grants_stays_one_role() -> None:
    many = frozenset(Grant(("s", f"t{n}"), "SELECT") for n in range(1_000))
    whole = Role(frozenset(USERS[:30]), many)
    assert divide(BOTH, whole) == (whole,)


def test_filters_and_masks_stay_with_their_roles() -> None:
    filtered = Role(frozenset(USERS[:30]), given(1), frozenset({RowPolicy(("s", "t1"), "a = 1")}))
    assert divide(BOTH, filtered) == (filtered,)


@pytest.mark.parametrize("seed", range(30))
def test_everybody_has_what_they_had(seed: int) -> None:
    rng = random.Random(seed)
    members = {
        Principal(rng.choice((ROLE, GROUP)), f"lk:r{n}"): rng.sample(USERS, rng.randrange(12))
        for n in range(12)
    }
    roles: dict[frozenset[str], Role] = {}
    for n in range(60):
        parts = rng.sample(sorted(members), rng.randrange(4))
        users = frozenset(
            {*rng.sample(USERS, rng.randrange(4)), *(u for p in parts for u in members[p])}
        )
        if users and users not in roles:
            grants = frozenset(
                Grant(("s", f"t{n}"), one) for one in ("SELECT", "INSERT")[: 1 + n % 2]
            )
            roles[users] = Role(users, grants)
    found = divide(members, *roles.values())
    assert holders(found) == holders(roles.values())
    assert len({one.members for one in found}) == len(found)
    assert {*divide(members, *reversed(roles.values()))} == {*found}
