"""Granting roles, granting and revoking privileges, and replacing all privileges of a role."""

from __future__ import annotations

import json

from lakewarden.kernel.change import StatementAdded
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.statement import Effect
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.actor import SYSTEM
from lakewarden.service.grant import GrantedPrivilege
from lakewarden.service.statements import stored
from lakewarden.service.system import load_system
from lakewarden.systems.gravitino.http.securable import objects_body
from tests.systems.gravitino.http.court import (
    CATALOG,
    FORBIDDEN,
    ILLEGAL,
    ILLEGAL_OBJECT,
    ILLEGAL_PRIVILEGE,
    ILLEGAL_ROLE,
    ML,
    PERMISSIONS,
    ROLES,
    TABLE,
    USERS,
    absent,
    allow,
    deny,
    hold,
    objects,
    on,
    role,
)
from tests.systems.gravitino.http.wire import REALM, Json, Wire

USES = on("catalog", "c", allow("USE_CATALOG", "USE_SCHEMA"))


def change(court: Wire, verb: str, words: list[Json], path: str, user: str = "boss") -> Json:
    """Grants or revokes privileges on `type/name`; returns the role's objects afterwards."""
    target = f"{PERMISSIONS}/roles/readers/{path}/{verb}"
    answer = court.good("PUT", target, {"privileges": words}, user=user)
    return objects(answer["role"])


def refused(
    court: Wire, verb: str, words: list[Json], path: str, user: str = "boss"
) -> tuple[int, int, str]:
    target = f"{PERMISSIONS}/roles/readers/{path}/{verb}"
    return court.bad("PUT", target, {"privileges": words}, user=user)


# Roles


def test_a_role_that_is_handed_out_counts_at_once_and_twice_is_once(court: Wire) -> None:
    court.good("POST", ROLES, role("users_of_c", USES), user="boss")
    assert court.bad("GET", CATALOG, user="ana") == FORBIDDEN
    grant = f"{PERMISSIONS}/users/ana/grant"
    for _ in range(2):
        user = court.good("PUT", grant, {"roleNames": ["users_of_c"]}, user="boss")["user"]
        assert (user["name"], user["roles"]) == ("ana", ["users_of_c"])
        assert user["audit"]["lastModifier"] == "boss"
    assert court.good("GET", CATALOG, user="ana")


def test_a_role_that_is_taken_back_counts_no_more(court: Wire) -> None:
    name = hold(court, "ana", USES)
    revoke = f"{PERMISSIONS}/users/ana/revoke"
    for _ in range(2):
        user = court.good("PUT", revoke, {"roleNames": [name]}, user="boss")["user"]
        assert user["roles"] == []
    assert court.bad("GET", CATALOG, user="ana") == FORBIDDEN


def test_groups_get_and_lose_roles(court: Wire) -> None:
    court.good("POST", ROLES, role("readers", USES), user="boss")
    body = {"roleNames": ["readers"]}
    granted = court.good("PUT", f"{PERMISSIONS}/groups/staff/grant", body, user="boss")["group"]
    assert granted["roles"] == ["readers"]
    assert court.good("GET", CATALOG, user="ana", groups=("staff",))
    revoked = court.good("PUT", f"{PERMISSIONS}/groups/staff/revoke", body, user="boss")["group"]
    assert revoked["roles"] == []
    assert court.bad("GET", CATALOG, user="ana", groups=("staff",)) == FORBIDDEN


def test_unknown_roles_are_told_before_unknown_users(court: Wire) -> None:
    court.good("POST", ROLES, role("readers"), user="boss")
    for kind, word in (("users", "User"), ("groups", "Group")):
        for verb in ("grant", "revoke"):
            path = f"{PERMISSIONS}/{kind}/nobody/{verb}"
            both = {"roleNames": ["readers", "gone"]}
            assert court.bad("PUT", path, both, user="boss") == ILLEGAL_ROLE
            assert court.bad("PUT", path, {"roleNames": ["readers"]}, user="boss") == absent(word)
            assert court.bad("PUT", path, {"roleNames": []}, user="boss") == ILLEGAL
            assert court.bad("PUT", path, {}, user="boss") == ILLEGAL


def test_one_unknown_role_hands_out_none(court: Wire) -> None:
    court.good("POST", ROLES, role("readers"), user="boss")
    grant = f"{PERMISSIONS}/users/ana/grant"
    assert court.bad("PUT", grant, {"roleNames": ["readers", "gone"]}, user="boss") == ILLEGAL_ROLE
    assert court.good("GET", f"{USERS}/ana", user="boss")["user"]["roles"] == []


def test_manage_grants_hands_out_roles_and_owning_one_does_not(court: Wire) -> None:
    hold(court, "ana", on("metalake", "lk", allow("MANAGE_GRANTS")), name="givers")
    hold(court, "bob", on("metalake", "lk", allow("CREATE_ROLE")), name="makers")
    court.good("POST", ROLES, role("his", USES), user="bob")
    grant = f"{PERMISSIONS}/users/cid/grant"
    assert court.bad("PUT", grant, {"roleNames": ["his"]}, user="bob") == FORBIDDEN
    court.good("PUT", grant, {"roleNames": ["his"]}, user="ana")
    assert court.good("GET", CATALOG, user="cid")


# Privileges


def test_privileges_are_granted_and_revoked_one_by_one(court: Wire) -> None:
    hold(court, "ana", USES, name="readers")
    assert change(court, "grant", allow("SELECT_TABLE"), "table/c.s.t") == {
        "catalog c": [("use_catalog", "allow"), ("use_schema", "allow")],
        "table c.s.t": [("select_table", "allow")],
    }
    assert court.good("GET", TABLE, user="ana")
    left = change(court, "revoke", allow("USE_SCHEMA"), "catalog/c")
    assert left["catalog c"] == [("use_catalog", "allow")]
    assert court.bad("GET", TABLE, user="ana") == FORBIDDEN


def test_granting_twice_and_revoking_what_is_absent_change_nothing(court: Wire) -> None:
    court.good("POST", ROLES, role("readers"), user="boss")
    once = change(court, "grant", allow("SELECT_TABLE", "select_table"), "schema/c.s")
    assert once == {"schema c.s": [("select_table", "allow")]}
    assert change(court, "grant", allow("SELECT_TABLE"), "schema/c.s") == once
    assert change(court, "revoke", allow("MODIFY_TABLE"), "schema/c.s") == once
    assert change(court, "revoke", deny("SELECT_TABLE"), "schema/c.s") == once
    assert change(court, "revoke", allow("SELECT_TABLE"), "table/c.s.t") == once


def test_the_last_privilege_takes_the_object_out_of_the_role(court: Wire) -> None:
    court.good("POST", ROLES, role("readers"), user="boss")
    change(court, "grant", allow("SELECT_TABLE"), "schema/c.s")
    assert change(court, "revoke", allow("SELECT_TABLE"), "schema/c.s") == {}


def test_the_opposite_is_refused_until_the_first_is_revoked(court: Wire) -> None:
    court.good("POST", ROLES, role("readers"), user="boss")
    change(court, "grant", allow("SELECT_TABLE"), "schema/c.s")
    assert refused(court, "grant", deny("SELECT_TABLE"), "schema/c.s") == ILLEGAL_PRIVILEGE
    both = allow("MODIFY_TABLE") + deny("MODIFY_TABLE")
    assert refused(court, "grant", both, "schema/c.s") == ILLEGAL_PRIVILEGE
    change(court, "revoke", allow("SELECT_TABLE"), "schema/c.s")
    denied = change(court, "grant", deny("SELECT_TABLE"), "schema/c.s")
    assert denied == {"schema c.s": [("select_table", "deny")]}


def test_two_roles_may_allow_and_deny_and_deny_wins(court: Wire) -> None:
    hold(court, "ana", USES, on("table", "c.s.t", allow("SELECT_TABLE")), name="readers")
    assert court.good("GET", TABLE, user="ana")
    hold(court, "ana", on("schema", "c.s", deny("SELECT_TABLE")), name="barred")
    assert court.bad("GET", TABLE, user="ana") == FORBIDDEN


def test_older_names_are_kept_as_given_and_either_name_revokes(court: Wire) -> None:
    court.good("POST", ROLES, role("readers"), user="boss")
    kept = change(court, "grant", allow("CREATE_MODEL"), "metalake/lk")
    assert kept == {"metalake lk": [("create_model", "allow")]}
    assert refused(court, "grant", allow("REGISTER_MODEL"), "metalake/lk") == ILLEGAL_PRIVILEGE
    assert change(court, "revoke", allow("REGISTER_MODEL"), "metalake/lk") == {}
    change(court, "grant", allow("LINK_MODEL_VERSION"), "metalake/lk")
    assert change(court, "revoke", allow("CREATE_MODEL_VERSION"), "metalake/lk") == {}


def test_bindings_are_checked_on_a_revoke_as_well(court: Wire) -> None:
    court.good("POST", ROLES, role("readers"), user="boss")
    for verb in ("grant", "revoke"):
        assert refused(court, verb, allow("USE_CATALOG"), "table/c.s.t") == ILLEGAL_PRIVILEGE
        assert refused(court, verb, allow("READ_FILESET"), "catalog/c") == ILLEGAL_PRIVILEGE
        assert refused(court, verb, allow("FLY"), "catalog/c") == ILLEGAL
        assert refused(court, verb, [], "catalog/c") == ILLEGAL


def test_privileges_of_databases_are_neither_taken_nor_shown(court: Wire) -> None:
    for verb in ("grant", "revoke"):
        assert refused(court, verb, allow("INSERT_ROWS"), "table/c.s.t") == ILLEGAL
    table, column = Entity("table", "ml:c.s.t"), Entity("column", "ml:c.s.t.a")
    held = {
        table: {
            GrantedPrivilege("INSERT_ROWS", Effect.ALLOW),
            GrantedPrivilege("SELECT_TABLE", Effect.ALLOW),
        },
        column: {GrantedPrivilege("UPDATE_ROWS", Effect.ALLOW)},
    }
    given = {entity: frozenset(words) for entity, words in held.items()}
    (shown,) = objects_body(given, load_system("gravitino").model)
    assert shown["fullName"] == "c.s.t"
    assert shown["privileges"] == [{"name": "select_table", "condition": "allow"}]


def test_unknown_roles_and_objects_are_404(court: Wire) -> None:
    words = allow("SELECT_TABLE")
    assert refused(court, "grant", words, "table/c.s.t") == absent("Role")
    court.good("POST", ROLES, role("readers"), user="boss")
    assert refused(court, "grant", words, "table/c.s.gone") == absent("MetadataObject")
    assert refused(court, "revoke", words, "table/c.s.gone") == absent("MetadataObject")
    assert refused(court, "grant", words, "table/c.s") == ILLEGAL
    assert refused(court, "grant", words, "metalake/other") == ILLEGAL_OBJECT
    assert refused(court, "grant", allow("MANAGE_USERS"), "user/ana") == ILLEGAL


def test_whoever_owns_the_object_changes_what_roles_hold_on_it(court: Wire) -> None:
    court.good("POST", ROLES, role("readers"), user="boss")
    court.good("PUT", f"{ML}/owners/table/c.s.t", {"name": "ana", "type": "USER"}, user="boss")
    words = allow("SELECT_TABLE")
    assert refused(court, "grant", words, "table/c.s.t", user="ana") == FORBIDDEN
    hold(court, "ana", USES)
    assert change(court, "grant", words, "table/c.s.t", user="ana")
    assert change(court, "revoke", words, "table/c.s.t", user="ana") == {}
    assert refused(court, "grant", words, "schema/c.s", user="ana") == FORBIDDEN
    assert refused(court, "grant", words, "table/c.s.gone", user="bob") == FORBIDDEN


def test_manage_grants_changes_any_role_on_any_object(court: Wire) -> None:
    court.good("POST", ROLES, role("readers"), user="boss")
    hold(court, "ana", on("metalake", "lk", allow("MANAGE_GRANTS")), name="givers")
    assert change(court, "grant", allow("SELECT_TABLE"), "table/c.s.t", user="ana")
    assert change(court, "grant", allow("CREATE_CATALOG"), "metalake/lk", user="ana")


def test_in_mode_next_manage_grants_below_needs_the_use_of_what_is_above(next_court: Wire) -> None:
    next_court.good("POST", ROLES, role("readers"), user="boss")
    hold(next_court, "ana", on("catalog", "c", allow("MANAGE_GRANTS")), name="givers")
    words = allow("SELECT_TABLE")
    assert refused(next_court, "grant", words, "table/c.s.t", user="ana") == FORBIDDEN
    hold(next_court, "ana", USES, name="users_of_c")
    assert change(next_court, "grant", words, "table/c.s.t", user="ana")
    grant = f"{PERMISSIONS}/users/cid/grant"
    assert next_court.bad("PUT", grant, {"roleNames": ["readers"]}, user="ana") == FORBIDDEN


# The audit trail


def audited(court: Wire) -> list[Json]:
    """The events of the trail so far."""
    with court.service.reading() as reading:
        return [json.loads(row.body) for row in reading.audit()]


def test_the_trail_tells_who_gave_what_to_whom(court: Wire) -> None:
    hold(court, "ana", USES, name="readers")
    granted, handed = audited(court)[-2:]
    assert (granted["operation"], granted["details"]["role"]) == ("role.create", "readers")
    assert "ALLOW USE_CATALOG on catalog c" in granted["details"]["objects"]
    assert (handed["actor"], handed["operation"]) == ("boss", "role.grant")
    assert (handed["details"]["user"], handed["details"]["roles"]) == ("ana", ["readers"])
    change(court, "revoke", allow("USE_CATALOG"), "catalog/c")
    revoked = audited(court)[-1]
    assert (revoked["operation"], revoked["target"]) == ("privilege.revoke", "catalog:lk:c")
    assert revoked["details"]["privileges"] == ["ALLOW USE_CATALOG"]
    assert revoked["outcome"] == "allow"


def test_refusals_are_in_the_trail_too_and_change_no_revision(court: Wire) -> None:
    hold(court, "ana", USES, name="readers")
    before = court.service.state.revision
    refused(court, "grant", allow("SELECT_TABLE"), "table/c.s.t", user="ana")
    last = audited(court)[-1]
    assert (last["actor"], last["operation"], last["outcome"]) == ("ana", "privilege.grant", "deny")
    assert court.service.state.revision == before


# Replacing


def test_overrides_replace_all_that_a_role_holds(court: Wire) -> None:
    hold(court, "ana", USES, on("table", "c.s.t", allow("SELECT_TABLE")), name="readers")
    path, body = f"{PERMISSIONS}/roles/readers/", {"overrides": [USES]}
    answer = court.good("PUT", path, body, user="boss")
    assert objects(answer["role"]) == {
        "catalog c": [("use_catalog", "allow"), ("use_schema", "allow")]
    }
    assert court.bad("GET", TABLE, user="ana") == FORBIDDEN
    assert court.good("PUT", path, {"overrides": []}, user="boss")["role"]["securableObjects"] == []


def test_overrides_leave_the_filters_and_masks_of_a_role(court: Wire) -> None:
    court.good("POST", ROLES, role("readers"), user="boss")
    system = court.service.state.realm(REALM).system
    limits = [
        {"id": "mask", "effect": "mask", "on": "table:lk:c.s.t", "to": ["role:lk:readers"]},
        {"id": "filter", "effect": "filter", "on": "table:lk:c.s.t", "except": ["role:lk:readers"]},
    ]
    tables = [{**one, "expression": "null" if "to" in one else "id = 1"} for one in limits]
    read = read_statements(tables, system.model, system.spelling, "test")
    court.service.write(SYSTEM, lambda write: write.change(REALM, *map(StatementAdded, read)))
    before = stored(court.service.state.realm(REALM))
    path = f"{PERMISSIONS}/roles/readers/"
    court.good("PUT", path, {"overrides": [USES]}, user="boss")
    court.good("PUT", path, {"overrides": []}, user="boss")
    assert stored(court.service.state.realm(REALM)) == before


def test_overrides_are_checked_as_a_new_role_is(court: Wire) -> None:
    court.good("POST", ROLES, role("readers"), user="boss")
    path = f"{PERMISSIONS}/roles/readers"
    wrong = {"overrides": [on("table", "c.s.t", allow("USE_CATALOG"))]}
    assert court.bad("PUT", path, wrong, user="boss") == ILLEGAL_PRIVILEGE
    gone = {"overrides": [on("table", "c.s.gone", allow("SELECT_TABLE"))]}
    assert court.bad("PUT", path, gone, user="boss") == ILLEGAL_OBJECT
    assert court.bad("PUT", path, {}, user="boss") == ILLEGAL
    unknown = f"{PERMISSIONS}/roles/gone"
    assert court.bad("PUT", unknown, {"overrides": []}, user="boss") == absent("Role")
    assert court.bad("PUT", path, {"overrides": []}, user="ana") == FORBIDDEN


def test_overrides_are_for_whoever_manages_grants_of_the_metalake(court: Wire) -> None:
    court.good("POST", ROLES, role("readers"), user="boss")
    hold(court, "ana", on("metalake", "lk", allow("MANAGE_GRANTS")), name="givers")
    path = f"{PERMISSIONS}/roles/readers"
    assert court.good("PUT", path, {"overrides": [USES]}, user="ana")
