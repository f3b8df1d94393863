"""Users' access by grants of others, however indirect."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from lakewarden.pushdown.adopt import redundant
from lakewarden.pushdown.drift import OWNER, Holdings, foreign
from lakewarden.pushdown.grants import Grant

READ = Grant(("sales", "orders"), "SELECT")
USERS = frozenset({"ana", "bo"})
ALLOWED = {READ: frozenset({"ana"})}


def of_readers(**members: str) -> Holdings:
    """A grant of others to the role `readers`, and the direct members of roles."""
    named = {role: frozenset(names.split()) for role, names in members.items()}
    return Holdings([("readers", READ)], named, "PUBLIC")


@pytest.mark.parametrize(
    ("members", "users", "denied"),
    [
        ({"readers": "bo"}, ("bo",), ("bo",)),
        ({"readers": "analysts", "analysts": "ana bo"}, ("ana", "bo"), ("bo",)),
        ({"readers": "analysts", "analysts": "readers ana"}, ("ana",), ()),
        ({"readers": "PUBLIC"}, ("ana", "bo"), ("bo",)),
        ({"readers": "analysts", "analysts": "PUBLIC"}, ("ana", "bo"), ("bo",)),
    ],
)
def test_grants_to_roles_reach_whoever_has_them(
    members: Mapping[str, str], users: tuple[str, ...], denied: tuple[str, ...]
) -> None:
    (found,) = foreign(of_readers(**members), USERS, ALLOWED, ["SELECT"])
    assert (found.users, found.denied) == (users, denied)


def test_what_nobody_of_the_realm_has_is_no_affair_of_it() -> None:
    assert not list(foreign(of_readers(readers="cy"), USERS, ALLOWED, ["SELECT"]))


def test_owners_are_denied_and_what_the_realm_knows_nothing_of_is_not() -> None:
    grants = [("ana", Grant(READ.path, one)) for one in (OWNER, "TRIGGER")]
    found = list(foreign(Holdings(grants, {}, "PUBLIC"), USERS, ALLOWED, ["SELECT"]))
    assert [one.denied for one in found] == [("ana",), ()]


@pytest.mark.parametrize(
    ("members", "is_needed"),
    [
        ({"readers": "ana"}, False),
        ({"readers": "analysts", "analysts": "ana"}, False),
        ({"readers": "ana cy"}, True),
        ({"readers": "ana PUBLIC"}, True),
        ({"readers": "analysts", "analysts": "PUBLIC"}, True),
    ],
)
def test_a_grant_that_others_need_is_not_redundant(
    members: Mapping[str, str], is_needed: bool
) -> None:
    """`cy` is not a user of the realm."""
    holdings, allowed = of_readers(**members), {READ: USERS}
    found = foreign(holdings, USERS, allowed, ())
    assert list(redundant(holdings, found, allowed)) == ([] if is_needed else [("readers", READ)])
