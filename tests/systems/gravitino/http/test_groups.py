"""Groups of a metalake: who may add, remove and see them, and their members' inheritance."""

from __future__ import annotations

from tests.systems.gravitino.http.court import (
    FORBIDDEN,
    GROUPS,
    ILLEGAL,
    ML,
    PERMISSIONS,
    ROLES,
    TABLE,
    USERS,
    absent,
    allow,
    hand,
    hold,
    on,
    role,
)
from tests.systems.gravitino.http.wire import Wire

STAFF = ("staff",)
READS = (
    on("catalog", "c", allow("USE_CATALOG", "USE_SCHEMA")),
    on("table", "c.s.t", allow("SELECT_TABLE")),
)


def test_a_group_is_added_shown_and_removed(court: Wire) -> None:
    group = court.good("POST", GROUPS, {"name": "team"}, user="boss")["group"]
    assert (group["name"], group["roles"], group["audit"]["creator"]) == ("team", [], "boss")
    assert court.good("GET", f"{GROUPS}/team", user="boss")["group"] == group
    assert court.bad("POST", GROUPS, {"name": "team"}, user="boss") == (
        409,
        1004,
        "GroupAlreadyExistsException",
    )
    assert court.good("DELETE", f"{GROUPS}/team", user="boss")["removed"] is True
    assert court.good("DELETE", f"{GROUPS}/team", user="boss")["removed"] is False
    assert court.bad("GET", f"{GROUPS}/team", user="boss") == absent("Group")


def test_whoever_holds_manage_groups_adds_and_removes_groups(court: Wire) -> None:
    hold(court, "ana", on("metalake", "lk", allow("MANAGE_GROUPS")))
    court.good("POST", GROUPS, {"name": "team"}, user="ana")
    court.good("DELETE", f"{GROUPS}/team", user="ana")
    assert court.bad("POST", GROUPS, {"name": "team"}, user="bob") == FORBIDDEN
    assert court.bad("DELETE", f"{GROUPS}/staff", user="bob") == FORBIDDEN
    assert court.bad("POST", USERS, {"name": "dan"}, user="ana") == FORBIDDEN


def test_members_see_their_groups_and_managers_all(court: Wire) -> None:
    court.good("POST", GROUPS, {"name": "team"}, user="boss")
    hold(court, "bob", on("metalake", "lk", allow("MANAGE_GROUPS")))
    assert court.good("GET", f"{GROUPS}/", user="bob")["names"] == ["staff", "team"]
    assert court.good("GET", GROUPS, user="ana")["names"] == []
    assert court.good("GET", GROUPS, user="ana", groups=STAFF)["names"] == ["staff"]
    details = court.good("GET", f"{GROUPS}/?details=true", user="ana", groups=STAFF)["groups"]
    assert [one["name"] for one in details] == ["staff"]


def test_a_group_is_read_by_its_members_and_by_managers(court: Wire) -> None:
    assert court.good("GET", f"{GROUPS}/staff", user="ana", groups=STAFF)["group"]
    assert court.bad("GET", f"{GROUPS}/staff", user="ana") == FORBIDDEN
    assert court.bad("GET", f"{GROUPS}/nobody", user="ana") == FORBIDDEN


def test_roles_of_a_group_count_for_those_who_come_as_its_members(court: Wire) -> None:
    court.good("POST", ROLES, role("readers", *READS), user="boss")
    hand(court, "readers", "staff", "groups")
    assert court.good("GET", f"{GROUPS}/staff", user="boss")["group"]["roles"] == ["readers"]
    assert court.good("GET", TABLE, user="ana", groups=STAFF)
    assert court.bad("GET", TABLE, user="ana") == FORBIDDEN
    assert court.good("GET", ROLES, user="ana", groups=STAFF)["names"] == ["readers"]


def test_claims_alone_make_nobody_a_user_of_the_metalake(court: Wire) -> None:
    court.good("POST", ROLES, role("readers", *READS), user="boss")
    hand(court, "readers", "staff", "groups")
    assert court.bad("GET", TABLE, user="eve", groups=STAFF) == FORBIDDEN


def test_a_removed_group_loses_its_roles_for_good(court: Wire) -> None:
    court.good("POST", ROLES, role("readers", *READS), user="boss")
    hand(court, "readers", "staff", "groups")
    court.good("DELETE", f"{GROUPS}/staff", user="boss")
    assert court.bad("GET", TABLE, user="ana", groups=STAFF) == FORBIDDEN
    again = court.good("POST", GROUPS, {"name": "staff"}, user="boss")["group"]
    assert again["roles"] == []
    assert court.bad("GET", TABLE, user="ana", groups=STAFF) == FORBIDDEN


def test_a_user_and_a_group_of_one_name_are_two(court: Wire) -> None:
    court.good("POST", GROUPS, {"name": "ana"}, user="boss")
    court.good("POST", ROLES, role("readers", *READS), user="boss")
    hand(court, "readers", "ana", "groups")
    assert court.bad("GET", TABLE, user="ana") == FORBIDDEN
    assert court.good("GET", TABLE, user="bob", groups=("ana",))
    court.good("DELETE", f"{USERS}/ana", user="boss")
    assert court.good("GET", f"{GROUPS}/ana", user="boss")["group"]["roles"] == ["readers"]


def test_a_group_needs_a_name(court: Wire) -> None:
    assert court.bad("POST", GROUPS, {}, user="boss") == ILLEGAL
    assert court.bad("POST", GROUPS, {"name": " "}, user="boss") == ILLEGAL


def test_a_group_that_owns_the_metalake_stays(next_court: Wire) -> None:
    owner = f"{ML}/owners/metalake/lk"
    next_court.good("PUT", owner, {"name": "staff", "type": "GROUP"}, user="boss")
    assert next_court.bad("DELETE", f"{GROUPS}/staff", user="ana", groups=STAFF) == ILLEGAL
    assert next_court.good("DELETE", f"{USERS}/boss", user="ana", groups=STAFF)["removed"] is True


def test_holding_a_role_through_a_group_does_not_hand_it_out(court: Wire) -> None:
    hold(court, "ana", *READS, name="readers")
    grant = f"{PERMISSIONS}/groups/staff/grant"
    assert court.bad("PUT", grant, {"roleNames": ["readers"]}, user="ana") == FORBIDDEN
