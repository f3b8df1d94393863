"""A database only receives what lasts: no expiring access, and every restriction in advance."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakewarden.engines import ranger_service
from lakewarden.engines.mapping import of_model
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import USER, Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.pushdown.desired_state import DesiredRoles, desired_roles
from lakewarden.pushdown.grants import Grant, RowPolicy
from lakewarden.pushdown.target_objects import Scope, TargetObjects
from lakewarden.service.ranger.document import documents
from lakewarden.service.ranger.places import Naming
from lakewarden.service.state import RealmState
from lakewarden.testing.world_draft import NOW
from tests.pushdown.estate import state_of
from tests.pushdown.postgresql_estate import MAPPING

LAKE, CATALOG = Entity("metalake", "m"), Entity("catalog", "m:c")
SCHEMA, TABLE = Entity("schema", "m:c.s"), Entity("table", "m:c.s.t")
ANA, BO = (Principal(USER, name) for name in ("ana", "bo"))
PATH = ("s", "t")
THERE = TargetObjects(frozenset({"ana", "bo"}), frozenset({"s"}), {PATH: {"region": "text"}})
EVERY = frozenset({"USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"})
READS = Statement("reads", Effect.ALLOW, EVERY, On(CATALOG), frozenset({ANA}))
BARS = {
    "deny": Statement(
        "deny", Effect.DENY, frozenset({"SELECT_TABLE"}), On(TABLE), frozenset({ANA})
    ),
    "filter": Statement(
        "filter", Effect.FILTER, frozenset(), On(TABLE), frozenset(), expression="region = 'eu'"
    ),
    "mask": Statement(
        *("mask", Effect.MASK, frozenset(), On(Entity("column", f"{TABLE.name}.region"))),
        frozenset(),
        expression="null",
    ),
}
ALWAYS, NOT_YET, OVER = (None, None), (NOW + 5, None), (NOW - 9, NOW - 5)
UNTIL, WHILE = (None, NOW + 5), (NOW + 5, NOW + 9)


def realm_of(kind: str, *statements: Statement) -> RealmState:
    rows = [(LAKE, None), (CATALOG, LAKE), (SCHEMA, CATALOG), (TABLE, SCHEMA)]
    column = EntityRow(Entity("column", f"{TABLE.name}.region"), TABLE)
    facts = Facts(
        entities=[*(EntityRow(one, above) for one, above in rows), column],
        principals=[ANA, BO],
        memberships=[MembershipRow(one, members_of("m")) for one in (ANA, BO)],
        statements=statements,
    )
    return state_of(facts, kind)


def told(*statements: Statement) -> DesiredRoles:
    realm = realm_of("postgresql", *statements)
    return desired_roles(realm, MAPPING, Scope("m", "c"), THERE, NOW)


def within(statement: Statement, window: tuple[float | None, float | None]) -> Statement:
    return replace(statement, valid_from=window[0], valid_until=window[1])


def is_read(of: DesiredRoles) -> bool:
    return any(Grant(PATH, "SELECT") in role.grants for role in of.roles)


@pytest.mark.parametrize("window", [ALWAYS, NOT_YET, UNTIL, WHILE, OVER])
@pytest.mark.parametrize("bar", BARS)
def test_a_bar_that_is_still_to_begin_or_to_end_holds(
    bar: str, window: tuple[float | None, float | None]
) -> None:
    """No push is required at that time."""
    made = told(READS, within(BARS[bar], window))
    policies = {one for role in made.roles for one in role.policies}
    views = [one for role in made.roles for one in role.views]
    if window == OVER or bar == "filter":
        assert is_read(made)
        conditions = {one.condition for one in policies}
        assert (policies == set()) == (window == OVER), conditions
        assert RowPolicy(PATH, "true") not in policies
    else:
        assert not is_read(made)
        assert len(views) == (bar == "mask")


@pytest.mark.parametrize("window", [ALWAYS, NOT_YET, UNTIL, WHILE, OVER])
@pytest.mark.parametrize("bar", ["filter", "mask"])
def test_rows_and_values_that_are_hidden_before_their_time_are_listed(
    bar: str, window: tuple[float | None, float | None]
) -> None:
    left = [
        one
        for one in told(READS, within(BARS[bar], window)).residues
        if one.principal == "user:ana"
    ]
    early = [one.access for one in left if "starts later" in one.why]
    assert early == ["SELECT"] * (window in (NOT_YET, WHILE))


@pytest.mark.parametrize("window", [ALWAYS, NOT_YET, UNTIL, WHILE, OVER])
def test_access_that_begins_or_ends_is_not_granted(
    window: tuple[float | None, float | None],
) -> None:
    made = told(within(READS, window))
    assert is_read(made) == (window == ALWAYS)
    ending = {one.access for one in made.residues if one.why.startswith("it expires")}
    assert ("SELECT" in ending) == (window == UNTIL)


@pytest.mark.parametrize("whose", [ANA, BO], ids=["ana", "bo"])
def test_access_that_ends_is_left_out_for_the_people_concerned(whose: Principal) -> None:
    """Even if nothing else distinguishes the users."""
    made = told(within(replace(READS, principals=frozenset({whose})), UNTIL))
    left = {(one.principal, one.access) for one in made.residues}
    assert left == {(f"user:{whose.name}", act) for act in ("CONNECT", "USAGE", "SELECT")}


@pytest.mark.parametrize("whose", [ANA, BO], ids=["ana", "bo"])
def test_policies_of_ranger_without_an_end_are_for_whom_no_bar_is_to_come(whose: Principal) -> None:
    """Only the DENY that begins later distinguishes the two users."""
    both = replace(READS, principals=frozenset({members_of("m")}))
    deny = within(replace(BARS["deny"], principals=frozenset({whose})), NOT_YET)
    realm, hive = realm_of("hive", both, deny), ranger_service.load("hive")
    made = documents(realm, of_model("gravitino")["hive"], hive, Naming("hv", "m", {}, "c"), NOW)
    names = {role["name"]: {one["name"] for one in role["users"]}
             for role in made.roles["rangerRoles"]}  # fmt: skip
    always = [one for one in made.policies["policies"] if not one.get("validitySchedules")]
    items = [item for one in always for item in one["policyItems"]]
    having = {user for item in items for user in item["users"]}.union(
        *(names[role] for item in items for role in item["roles"])
    )
    assert having == {"ana", "bo"} - {whose.name}
