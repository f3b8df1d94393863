"""Users of a metalake: who may add, remove and see them, and what is removed with one."""

from __future__ import annotations

from tests.systems.gravitino.http.court import (
    CATALOG,
    FORBIDDEN,
    GROUPS,
    ILLEGAL,
    ML,
    PERMISSIONS,
    ROLES,
    SCHEMA,
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

BULK = "bulk/metalakes/lk/users"


def test_an_added_user_is_shown_with_no_roles_and_its_creator(court: Wire) -> None:
    user = court.good("POST", USERS, {"name": "dan"}, user="boss")["user"]
    assert (user["name"], user["roles"], user["audit"]["creator"]) == ("dan", [], "boss")
    assert user["audit"]["createTime"].endswith("Z")
    assert court.good("GET", f"{USERS}/dan", user="boss")["user"] == user


def test_an_added_user_is_let_into_the_metalake(court: Wire) -> None:
    assert court.bad("GET", ML, user="dan") == FORBIDDEN
    court.good("POST", USERS, {"name": "dan"}, user="boss")
    assert court.good("GET", ML, user="dan")["metalake"]["name"] == "lk"


def test_whoever_holds_manage_users_adds_and_removes_users(court: Wire) -> None:
    hold(court, "ana", on("metalake", "lk", allow("MANAGE_USERS")))
    court.good("POST", USERS, {"name": "dan"}, user="ana")
    assert court.good("DELETE", f"{USERS}/dan", user="ana")["removed"] is True
    assert court.bad("POST", USERS, {"name": "dan"}, user="bob") == FORBIDDEN
    assert court.bad("DELETE", f"{USERS}/cid", user="bob") == FORBIDDEN
    assert court.bad("POST", GROUPS, {"name": "them"}, user="ana") == FORBIDDEN


def test_a_user_is_added_once(court: Wire) -> None:
    assert court.bad("POST", USERS, {"name": "ana"}, user="boss") == (
        409,
        1004,
        "UserAlreadyExistsException",
    )


def test_removing_twice_is_true_then_false(court: Wire) -> None:
    assert court.good("DELETE", f"{USERS}/cid", user="boss")["removed"] is True
    assert court.good("DELETE", f"{USERS}/cid", user="boss")["removed"] is False
    assert court.bad("GET", f"{USERS}/cid", user="boss") == absent("User")


def test_a_body_without_a_name_or_with_an_unreadable_one_is_refused(court: Wire) -> None:
    for body in ({}, {"name": None}, {"name": ""}, {"name": " dan"}, {"name": "d\u202ean"}):
        assert court.bad("POST", USERS, body, user="boss") == ILLEGAL
    assert court.good("POST", USERS, {"name": "dan", "externalId": "7"}, user="boss")


def test_a_user_that_is_to_be_disabled_is_refused_rather_than_let_in(court: Wire) -> None:
    disabled = {"name": "dan", "enabled": False}
    unsupported = (405, 1006, "UnsupportedOperationException")
    assert court.bad("POST", USERS, disabled, user="boss") == unsupported
    answer = court.good("POST", f"{BULK}/add", {"users": [disabled]}, user="boss")
    assert answer["errors"][0]["code"] == 1006
    assert court.bad("GET", ML, user="dan") == FORBIDDEN


def test_a_user_of_whom_nothing_more_is_said_is_added(court: Wire) -> None:
    silent = {"name": "dan", "externalId": None, "enabled": None}
    court.good("POST", USERS, silent, user="boss")
    assert court.good("GET", f"{USERS}/dan", user="dan")


def test_users_see_themselves_and_managers_see_all(court: Wire) -> None:
    hold(court, "ana", on("metalake", "lk", allow("MANAGE_USERS")))
    everybody = ["admin", "ana", "bob", "boss", "cid"]
    assert court.good("GET", f"{USERS}/", user="boss")["names"] == everybody
    assert court.good("GET", USERS, user="ana")["names"] == everybody
    assert court.good("GET", USERS, user="bob")["names"] == ["bob"]
    assert court.bad("GET", USERS, user="eve") == FORBIDDEN


def test_details_show_users_with_their_roles(court: Wire) -> None:
    hold(court, "ana", name="readers")
    users = court.good("GET", f"{USERS}/?details=true", user="boss")["users"]
    assert {one["name"]: one["roles"] for one in users}["ana"] == ["readers"]
    only = court.good("GET", f"{USERS}?details=TRUE", user="bob")["users"]
    assert [one["name"] for one in only] == ["bob"]


def test_a_user_is_read_by_itself_and_by_managers(court: Wire) -> None:
    assert court.good("GET", f"{USERS}/bob", user="bob")["user"]["name"] == "bob"
    assert court.good("GET", f"{USERS}/bob", user="boss")["user"]["name"] == "bob"
    assert court.bad("GET", f"{USERS}/bob", user="ana") == FORBIDDEN
    assert court.bad("GET", f"{USERS}/nobody", user="ana") == FORBIDDEN
    assert court.bad("GET", f"{USERS}/nobody", user="boss") == absent("User")


def test_the_owner_of_the_metalake_cannot_be_removed(court: Wire) -> None:
    assert court.bad("DELETE", f"{USERS}/boss", user="boss") == ILLEGAL
    court.good("PUT", f"{ML}/owners/metalake/lk", {"name": "ana", "type": "user"}, user="boss")
    assert court.good("DELETE", f"{USERS}/boss", user="ana")["removed"] is True


def test_a_removed_user_loses_roles_and_ownerships_for_good(court: Wire) -> None:
    hold(
        court,
        "ana",
        on("catalog", "c", allow("USE_CATALOG", "USE_SCHEMA")),
        on("table", "c.s.t", allow("SELECT_TABLE")),
        name="readers",
    )
    court.good("PUT", f"{ML}/owners/schema/c.s", {"name": "ana", "type": "USER"}, user="boss")
    court.good("GET", TABLE, user="ana")
    court.good("DELETE", f"{USERS}/ana", user="boss")
    assert court.bad("GET", TABLE, user="ana") == FORBIDDEN
    assert "owner" not in court.good("GET", f"{ML}/owners/schema/c.s", user="boss")
    again = court.good("POST", USERS, {"name": "ana"}, user="boss")["user"]
    assert again["roles"] == []
    assert court.bad("GET", TABLE, user="ana") == FORBIDDEN
    assert court.bad("DELETE", SCHEMA, user="ana") == FORBIDDEN
    assert court.good("GET", ML, user="ana")


def test_removing_a_user_leaves_other_metalakes_alone(court: Wire) -> None:
    court.good("POST", "metalakes", {"name": "other"})
    court.good("POST", "metalakes/other/users", {"name": "ana"})
    court.good("POST", "metalakes/other/roles", role("readers"))
    granted = "metalakes/other/permissions/users/ana/grant"
    court.good("PUT", granted, {"roleNames": ["readers"]})
    court.good("DELETE", f"{USERS}/ana", user="boss")
    assert court.bad("GET", ML, user="ana") == FORBIDDEN
    kept = court.good("GET", "metalakes/other/users/ana", user="ana")["user"]
    assert kept["roles"] == ["readers"]


def test_roles_of_another_metalake_are_not_shown(court: Wire) -> None:
    court.good("POST", "metalakes", {"name": "other"})
    court.good("POST", "metalakes/other/users", {"name": "ana"})
    hold(court, "ana", name="readers")
    assert court.good("GET", "metalakes/other/users/ana", user="ana")["user"]["roles"] == []


def test_a_metalake_that_is_not_there_is_forbidden(court: Wire) -> None:
    assert court.bad("GET", "metalakes/nowhere/users", user="boss") == FORBIDDEN
    assert court.bad("POST", "metalakes/nowhere/users", {"name": "x"}, user="boss") == FORBIDDEN


def test_a_disabled_metalake_still_shows_a_user(court: Wire) -> None:
    court.good("PATCH", ML, {"inUse": False}, user="boss")
    assert court.good("GET", f"{USERS}/bob", user="bob")["user"]["name"] == "bob"
    in_use = (409, 1009, "MetalakeNotInUseException")
    assert court.bad("POST", USERS, {"name": "dan"}, user="boss") == in_use
    assert court.bad("DELETE", f"{USERS}/cid", user="boss") == in_use


def test_many_users_are_added_each_by_itself(court: Wire) -> None:
    body = {"users": [{"name": "dan"}, {"name": "ana"}, {"name": " x"}, {"name": "fay"}]}
    answer = court.good("POST", f"{BULK}/add", body, user="boss")
    assert [one["name"] for one in answer["users"]] == ["dan", "fay"]
    assert [(e["index"], e["name"], e["code"], e["type"]) for e in answer["errors"]] == [
        (1, "ana", 1004, "UserAlreadyExistsException"),
        (2, " x", 1001, "IllegalArgumentException"),
    ]
    assert answer["summary"] == {"total": 4, "succeeded": 2, "failed": 2}
    assert court.good("GET", ML, user="fay")


def test_many_users_are_removed_each_by_itself(court: Wire) -> None:
    hand(court, hold(court, "ana", name="readers"), "bob")
    body = {"names": ["ana", "boss", "nobody"]}
    answer = court.good("POST", f"{BULK}/remove", body, user="boss")
    assert answer["names"] == ["ana"]
    assert [(e["index"], e["type"]) for e in answer["errors"]] == [
        (1, "IllegalArgumentException"),
        (2, "NoSuchUserException"),
    ]
    assert court.good("GET", USERS, user="boss")["names"] == ["admin", "bob", "boss", "cid"]


def test_bulk_calls_are_for_managers_and_have_limits(court: Wire) -> None:
    assert court.bad("POST", f"{BULK}/add", {"users": [{"name": "x"}]}, user="ana") == FORBIDDEN
    assert court.bad("POST", f"{BULK}/remove", {"names": ["bob"]}, user="ana") == FORBIDDEN
    assert court.bad("POST", f"{BULK}/add", {"users": []}, user="boss") == ILLEGAL
    many = {"users": [{"name": f"u{n}"} for n in range(101)]}
    assert court.bad("POST", f"{BULK}/add", many, user="boss") == ILLEGAL
    assert court.bad("POST", f"{BULK}/remove", {"names": ["a", "a"]}, user="boss") == ILLEGAL


def test_what_a_removed_user_owned_can_be_given_to_another(court: Wire) -> None:
    hold(court, "ana", on("metalake", "lk", allow("CREATE_CATALOG")))
    catalog = {"name": "hers", "type": "relational", "provider": "hive"}
    court.good("POST", f"{ML}/catalogs", catalog, user="ana")
    court.good("DELETE", f"{USERS}/ana", user="boss")
    assert "owner" not in court.good("GET", f"{ML}/owners/catalog/hers", user="boss")
    court.good("PUT", f"{ML}/owners/catalog/hers", {"name": "bob", "type": "USER"}, user="boss")
    assert court.good("GET", f"{ML}/catalogs/hers", user="bob")
    assert court.bad("GET", CATALOG, user="bob") == FORBIDDEN


def test_role_grants_to_a_removed_user_do_not_come_back_with_it(court: Wire) -> None:
    hold(court, "ana", name="readers")
    court.good("DELETE", f"{USERS}/ana", user="boss")
    grant = f"{PERMISSIONS}/users/ana/grant"
    assert court.bad("PUT", grant, {"roleNames": ["readers"]}, user="boss") == absent("User")
    court.good("POST", USERS, {"name": "ana"}, user="boss")
    assert court.good("GET", ROLES, user="ana")["names"] == []


def test_a_metalake_that_is_made_again_lets_nobody_in_and_knows_no_role(court: Wire) -> None:
    hold(court, "ana", on("metalake", "lk", allow("MANAGE_GRANTS", "USE_CATALOG")), name="readers")
    assert court.good("DELETE", f"{ML}?force=true", user="boss")["dropped"] is True
    court.good("POST", "metalakes", {"name": "lk"})
    assert court.good("GET", USERS)["names"] == ["admin"]
    assert court.good("GET", ROLES)["names"] == []
    for user in ("ana", "boss"):
        assert court.bad("GET", ML, user=user) == FORBIDDEN
    court.good("POST", USERS, {"name": "ana"})
    court.good("POST", ROLES, role("readers", on("metalake", "lk", allow("MANAGE_USERS"))))
    assert court.good("GET", f"{USERS}/ana")["user"]["roles"] == []
    assert court.bad("POST", USERS, {"name": "x"}, user="ana") == FORBIDDEN
