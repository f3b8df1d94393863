"""Roles: their valid contents, their visibility, and what is removed with a deleted one."""

from __future__ import annotations

import pytest

from tests.systems.gravitino.http.court import (
    FORBIDDEN,
    ILLEGAL,
    ILLEGAL_OBJECT,
    ILLEGAL_PRIVILEGE,
    ML,
    PERMISSIONS,
    ROLES,
    SCHEMA,
    TABLE,
    TAGS,
    USERS,
    absent,
    add_table,
    allow,
    deny,
    hand,
    hold,
    objects,
    on,
    role,
)
from tests.systems.gravitino.http.wire import Json, Wire

READS = (
    on("catalog", "c", allow("USE_CATALOG", "USE_SCHEMA")),
    on("table", "c.s.t", allow("SELECT_TABLE")),
)


def test_a_created_role_is_shown_as_written_in_lower_case(court: Wire) -> None:
    body = role("readers", on("TABLE", "c.s.t", allow("select_table") + deny("Modify_Table")))
    made = court.good("POST", ROLES, body, user="boss")["role"]
    assert made["name"] == "readers"
    assert made["properties"] == {"k": "v"}
    assert made["audit"]["creator"] == "boss"
    assert objects(made) == {
        "table c.s.t": [("modify_table", "deny"), ("select_table", "allow")],
    }
    assert court.good("GET", f"{ROLES}/readers", user="boss")["role"] == made


def test_a_role_may_hold_nothing_but_the_list_must_be_there(court: Wire) -> None:
    assert court.good("POST", ROLES, role("empty"), user="boss")["role"]["securableObjects"] == []
    assert court.bad("POST", ROLES, {"name": "x"}, user="boss") == ILLEGAL
    assert court.bad("POST", ROLES, role("x", on("table", "c.s.t", [])), user="boss") == ILLEGAL
    without = {"name": "bare", "securableObjects": []}
    assert court.good("POST", ROLES, without, user="boss")["role"]["properties"] == {}


def test_a_role_is_created_once(court: Wire) -> None:
    court.good("POST", ROLES, role("readers"), user="boss")
    assert court.bad("POST", ROLES, role("readers"), user="boss") == (
        409,
        1004,
        "RoleAlreadyExistsException",
    )


def test_create_role_is_enough_to_write_anything_into_a_role(court: Wire) -> None:
    hold(court, "ana", on("metalake", "lk", allow("CREATE_ROLE")))
    court.good("POST", ROLES, role("hers", *READS), user="ana")
    assert court.bad("GET", TABLE, user="ana") == FORBIDDEN
    assert court.bad("POST", ROLES, role("his"), user="bob") == FORBIDDEN


def test_an_object_that_is_not_there_refuses_the_role(court: Wire) -> None:
    body = role("x", on("table", "c.s.gone", allow("SELECT_TABLE")))
    assert court.bad("POST", ROLES, body, user="boss") == ILLEGAL_OBJECT
    body = role("x", on("metalake", "other", allow("CREATE_CATALOG")))
    assert court.bad("POST", ROLES, body, user="boss") == ILLEGAL_OBJECT
    assert court.good("GET", ROLES, user="boss")["names"] == []


@pytest.mark.parametrize(
    "objects",
    [
        [on("table", "c.s", allow("SELECT_TABLE"))],
        [on("nothing", "c", allow("USE_CATALOG"))],
        [on("catalog", "c", allow("FLY"))],
        [on("catalog", "c", allow("MEMBER"))],
        [on("catalog", "c", [{"name": "USE_CATALOG", "condition": "MAYBE"}])],
        [on("catalog", "c", allow("USE_CATALOG")), on("CATALOG", "c", allow("USE_SCHEMA"))],
    ],
    ids=["parts", "type", "privilege", "derived", "condition", "twice"],
)
def test_what_does_not_hold_together_is_refused(court: Wire, objects: list[Json]) -> None:
    assert court.bad("POST", ROLES, role("x", *objects), user="boss") == ILLEGAL


@pytest.mark.parametrize(
    "one",
    [
        on("table", "c.s.t", allow("USE_CATALOG")),
        on("catalog", "c", allow("CREATE_CATALOG")),
        on("schema", "c.s", allow("CREATE_SCHEMA")),
        on("catalog", "c", allow("MANAGE_GRANTS")),
        on("table", "c.s.t", allow("CREATE_TABLE")),
        on("metalake", "lk", allow("SELECT_TABLE", "SELECT_TABLE")),
        on("table", "c.s.t", allow("SELECT_TABLE") + deny("SELECT_TABLE")),
        on("metalake", "lk", allow("CREATE_MODEL", "REGISTER_MODEL")),
        on("metalake", "lk", allow("LINK_MODEL_VERSION") + deny("CREATE_MODEL_VERSION")),
        on("catalog", "c", allow("READ_FILESET")),
        on("schema", "c.s", deny("CONSUME_TOPIC")),
        on("schema", "c.s", allow("REGISTER_MODEL")),
    ],
)
def test_a_privilege_is_bound_only_where_it_fits_and_in_one_way(court: Wire, one: Json) -> None:
    assert court.bad("POST", ROLES, role("x", one), user="boss") == ILLEGAL_PRIVILEGE


def test_on_a_metalake_every_family_fits_and_older_names_fit_anywhere(court: Wire) -> None:
    every = on("metalake", "lk", allow("SELECT_TABLE", "READ_FILESET", "PRODUCE_TOPIC"))
    older = on("schema", "c.s", allow("CREATE_MODEL", "CREATE_MODEL_VERSION"))
    made = court.good("POST", ROLES, role("x", every, older), user="boss")["role"]
    assert objects(made)["schema c.s"] == [
        ("create_model", "allow"),
        ("create_model_version", "allow"),
    ]


def test_allow_here_and_deny_there_are_one_role(court: Wire) -> None:
    add_table(court, "u")
    hold(
        court,
        "ana",
        on("catalog", "c", allow("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")),
        on("table", "c.s.u", deny("SELECT_TABLE")),
    )
    assert court.good("GET", TABLE, user="ana")
    assert court.bad("GET", f"{SCHEMA}/tables/u", user="ana") == FORBIDDEN
    found = court.good("GET", f"{SCHEMA}/tables", user="ana")["identifiers"]
    assert [one["name"] for one in found] == ["t"]


def test_roles_are_seen_by_holders_owners_and_who_hands_them_out(court: Wire) -> None:
    hold(court, "ana", *READS, name="readers")
    hold(court, "bob", on("metalake", "lk", allow("CREATE_ROLE")), name="makers")
    court.good("POST", ROLES, role("his"), user="bob")
    assert court.good("GET", f"{ROLES}/", user="boss")["names"] == ["his", "makers", "readers"]
    assert court.good("GET", ROLES, user="ana")["names"] == ["readers"]
    assert court.good("GET", ROLES, user="bob")["names"] == ["his", "makers"]
    assert court.good("GET", ROLES, user="cid")["names"] == []
    assert court.bad("GET", f"{ROLES}/readers", user="bob") == FORBIDDEN
    assert court.bad("GET", f"{ROLES}/gone", user="bob") == FORBIDDEN
    assert court.bad("GET", f"{ROLES}/gone", user="boss") == absent("Role")
    hold(court, "cid", on("metalake", "lk", allow("MANAGE_GRANTS")), name="givers")
    assert court.good("GET", f"{ROLES}/readers", user="cid")["role"]["name"] == "readers"


def test_a_role_is_deleted_by_its_owner_and_takes_everything_with_it(court: Wire) -> None:
    hold(court, "bob", on("metalake", "lk", allow("CREATE_ROLE")))
    court.good("POST", ROLES, role("readers", *READS), user="bob")
    hand(court, "readers", "ana")
    hand(court, "readers", "staff", "groups")
    assert court.good("GET", TABLE, user="ana")
    assert court.bad("DELETE", f"{ROLES}/readers", user="ana") == FORBIDDEN
    answer = court.good("DELETE", f"{ROLES}/readers", user="bob")
    assert (answer["dropped"], answer["deleted"]) == (True, True)
    assert court.bad("GET", TABLE, user="ana") == FORBIDDEN
    assert court.good("GET", f"{USERS}/ana", user="ana")["user"]["roles"] == []
    again = court.good("POST", ROLES, role("readers"), user="bob")["role"]
    assert again["securableObjects"] == []
    assert court.bad("GET", TABLE, user="ana") == FORBIDDEN


def test_deleting_a_role_that_is_not_there_drops_nothing(court: Wire) -> None:
    answer = court.good("DELETE", f"{ROLES}/gone", user="boss")
    assert (answer["dropped"], answer["deleted"]) == (False, False)
    assert court.bad("DELETE", f"{ROLES}/gone", user="ana") == FORBIDDEN


def test_a_dropped_object_leaves_its_roles_and_nothing_comes_back(court: Wire) -> None:
    hold(court, "ana", *READS, name="readers")
    court.good("DELETE", TABLE, user="boss")
    left = court.good("GET", f"{ROLES}/readers", user="ana")["role"]
    assert list(objects(left)) == ["catalog c"]
    add_table(court, "t")
    assert court.bad("GET", TABLE, user="ana") == FORBIDDEN


def test_a_renamed_object_is_shown_by_its_new_name(court: Wire) -> None:
    hold(court, "ana", *READS, name="readers")
    renamed = {"updates": [{"@type": "rename", "newName": "u"}]}
    court.good("PUT", TABLE, renamed, user="boss")
    held = objects(court.good("GET", f"{ROLES}/readers", user="ana")["role"])
    assert list(held) == ["catalog c", "table c.s.u"]
    assert court.good("GET", f"{SCHEMA}/tables/u", user="ana")


def test_what_takes_a_freed_name_is_another_object(court: Wire) -> None:
    hold(court, "ana", *READS, name="readers")
    court.good("PUT", TABLE, {"updates": [{"@type": "rename", "newName": "u"}]}, user="boss")
    add_table(court, "t")
    assert court.bad("GET", TABLE, user="ana") == FORBIDDEN
    grant = f"{PERMISSIONS}/roles/readers/table/c.s.t/grant"
    granted = court.good("PUT", grant, {"privileges": allow("MODIFY_TABLE")}, user="boss")
    assert objects(granted["role"])["table c.s.t"] == [("modify_table", "allow")]
    assert objects(granted["role"])["table c.s.u"] == [("select_table", "allow")]
    assert court.good("GET", f"{SCHEMA}/tables/u", user="ana")


def test_roles_on_objects_of_one_name_part_are_shown_too(court: Wire) -> None:
    court.good("POST", TAGS, {"name": "a.b"}, user="boss")
    made = court.good(
        "POST", ROLES, role("taggers", on("tag", "a.b", allow("APPLY_TAG"))), user="boss"
    )
    assert objects(made["role"]) == {"tag a.b": [("apply_tag", "allow")]}


def test_the_roles_of_an_object_are_shown_to_holders_and_owners(court: Wire) -> None:
    hold(court, "ana", *READS, name="readers")
    hold(court, "bob", on("table", "c.s.t", deny("SELECT_TABLE")), name="barred")
    path = f"{ML}/objects/TABLE/c.s.t/roles"
    assert court.good("GET", path, user="boss")["names"] == ["barred", "readers"]
    assert court.good("GET", path, user="ana")["names"] == ["readers"]
    assert court.good("GET", path, user="cid")["names"] == []
    assert court.good("GET", f"{ML}/objects/schema/c.s/roles", user="boss")["names"] == []
    hold(court, "cid", on("metalake", "lk", allow("MANAGE_GRANTS")), name="givers")
    assert court.good("GET", path, user="cid")["names"] == []


def test_roles_of_an_object_are_for_members_and_of_what_is_there(court: Wire) -> None:
    assert court.bad("GET", f"{ML}/objects/table/c.s.t/roles", user="eve") == FORBIDDEN
    gone = f"{ML}/objects/table/c.s.gone/roles"
    assert court.bad("GET", gone, user="boss") == absent("MetadataObject")
    assert court.bad("GET", f"{ML}/objects/star/c/roles", user="boss") == ILLEGAL
    for what in ("roles", "tags", "policies", "statistics", "credentials"):
        other = f"{ML}/objects/metalake/other/{what}"
        assert court.bad("GET", other, user="boss") == ILLEGAL_OBJECT, what
