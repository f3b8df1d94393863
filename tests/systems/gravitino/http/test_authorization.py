"""The order of the checks, the audit of the decisions, and the switches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lakewarden.http.exchange import Services
from lakewarden.service.audit import first_fault
from lakewarden.service.decision_service import DecisionService
from lakewarden.systems.gravitino.settings import GravitinoAuthorization, GravitinoSettings
from tests.systems.gravitino.http.small_lake import COLUMNS, ML, REL, S, T, fill
from tests.systems.gravitino.http.wire import Json, Wire

FORBIDDEN = (403, 1008, "ForbiddenException")


@pytest.fixture
def off(tmp_path: Path) -> Iterator[Wire]:
    """A server without authorization."""
    with Wire(
        tmp_path, options=GravitinoSettings(authorization=GravitinoAuthorization(enable=False))
    ) as one:
        yield one


def grant(wire: Wire, user: str, on: str, *privileges: str, condition: str = "ALLOW") -> None:
    """Grants the user, by a separate role, privileges on `type full.name`."""
    type, _, name = on.partition(" ")
    role = f"of_{user}"
    if wire.ask("GET", f"{ML}/roles/{role}")[0] == 404:
        wire.good("POST", f"{ML}/roles", {"name": role, "securableObjects": []})
        wire.good("PUT", f"{ML}/permissions/users/{user}/grant", {"roleNames": [role]})
    body = {"privileges": [{"name": one, "condition": condition} for one in privileges]}
    wire.good("PUT", f"{ML}/permissions/roles/{role}/{type}/{name}/grant", body)


def audit(wire: Wire) -> list[Json]:
    with wire.store.reading() as reading:
        return [json.loads(row.body) for row in reading.audit()]


def test_membership_comes_before_everything(lake: Wire) -> None:
    for path in (T, f"{T}x", "metalakes/none", "metalakes/none/catalogs/c"):
        assert lake.bad("GET", path, user="zed") == FORBIDDEN


def test_what_is_absent_and_what_is_hidden_look_alike(lake: Wire) -> None:
    there = lake.ask("GET", T, user="eve")
    absent = lake.ask("GET", f"{T}x", user="eve")
    assert there[0] == absent[0] == 403
    assert there[1]["message"].replace("rel.s.t'", "rel.s.tx'") == absent[1]["message"]


def test_whoever_passes_the_rule_is_told_what_is_missing(lake: Wire) -> None:
    grant(lake, "eve", "catalog rel", "USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")
    assert lake.good("GET", T, user="eve")["table"]["name"] == "t"
    assert lake.bad("GET", f"{T}x", user="eve") == (404, 1003, "NoSuchTableException")
    schema = f"{REL}/schemas/none/tables/t"
    assert lake.bad("GET", schema, user="eve") == (404, 1003, "NoSuchSchemaException")


def test_a_grant_on_the_table_alone_tells_nothing_about_others(lake: Wire) -> None:
    grant(lake, "eve", "catalog rel", "USE_CATALOG", "USE_SCHEMA")
    grant(lake, "eve", "table rel.s.t", "SELECT_TABLE")
    assert lake.ask("GET", T, user="eve")[0] == 200
    assert lake.bad("GET", f"{T}x", user="eve") == FORBIDDEN


def test_a_deny_above_wins(lake: Wire) -> None:
    grant(lake, "eve", "table rel.s.t", "SELECT_TABLE")
    grant(lake, "eve", "catalog rel", "USE_CATALOG", "USE_SCHEMA")
    grant(lake, "eve", "schema rel.s", "SELECT_TABLE", condition="DENY")
    assert lake.bad("GET", T, user="eve") == FORBIDDEN


def test_a_list_shows_what_can_be_loaded(lake: Wire) -> None:
    for name in ("a", "b", "c"):
        lake.good("POST", f"{S}/tables", {"name": name, "columns": COLUMNS})
    grant(lake, "eve", "catalog rel", "USE_CATALOG", "USE_SCHEMA")
    assert lake.good("GET", f"{S}/tables", user="eve")["identifiers"] == []
    grant(lake, "eve", "table rel.s.b", "MODIFY_TABLE")
    shown = lake.good("GET", f"{S}/tables", user="eve")["identifiers"]
    assert shown == [{"namespace": ["lk", "rel", "s"], "name": "b"}]
    grant(lake, "eve", "schema rel.s", "SELECT_TABLE")
    grant(lake, "eve", "table rel.s.c", "SELECT_TABLE", condition="DENY")
    shown = lake.good("GET", f"{S}/tables", user="eve")["identifiers"]
    assert [one["name"] for one in shown] == ["a", "b", "t"]


def test_the_creator_owns_what_was_created(lake: Wire) -> None:
    grant(lake, "eve", "catalog rel", "USE_CATALOG", "USE_SCHEMA", "CREATE_TABLE")
    lake.good("POST", f"{S}/tables", {"name": "mine", "columns": COLUMNS}, user="eve")
    assert lake.good("GET", f"{S}/tables/mine", user="eve")["table"]["audit"]["creator"] == "eve"
    assert lake.bad("DELETE", T, user="eve") == FORBIDDEN
    assert lake.good("DELETE", f"{S}/tables/mine", user="eve")["dropped"] is True


def test_what_is_made_again_starts_without_grants_and_owners(lake: Wire) -> None:
    grant(lake, "eve", "catalog rel", "USE_CATALOG", "USE_SCHEMA")
    grant(lake, "eve", "table rel.s.t", "SELECT_TABLE")
    lake.good("DELETE", T)
    lake.good("POST", f"{S}/tables", {"name": "t", "columns": COLUMNS})
    assert lake.bad("GET", T, user="eve") == FORBIDDEN


def test_a_rename_keeps_grants_owners_and_what_is_below(lake: Wire) -> None:
    grant(lake, "eve", "catalog rel", "USE_CATALOG", "USE_SCHEMA")
    grant(lake, "eve", "table rel.s.t", "SELECT_TABLE")
    rename = {"updates": [{"@type": "rename", "newName": "rel2"}]}
    lake.good("PUT", REL, rename)
    table = f"{ML}/catalogs/rel2/schemas/s/tables/t"
    assert lake.good("GET", table, user="eve")["table"]["comment"] == "a table"
    assert lake.bad("GET", T) == (404, 1003, "NoSuchCatalogException")
    assert _afresh(lake, table, "eve")[0] == 200


def test_a_metalake_is_renamed_with_its_users_and_roles(lake: Wire) -> None:
    grant(lake, "eve", "catalog rel", "USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")
    lake.good("PUT", ML, {"updates": [{"@type": "rename", "newName": "sea"}]})
    table = T.replace("lk", "sea")
    assert lake.ask("GET", table, user="eve")[0] == 200
    assert lake.good("GET", "metalakes/sea/users/eve")["user"]["roles"] == ["of_eve"]
    assert lake.bad("GET", T) == FORBIDDEN
    assert _afresh(lake, table, "eve")[0] == 200
    lake.good("POST", "metalakes", {"name": "lk"})
    assert lake.bad("GET", T, user="eve") == FORBIDDEN


def test_a_metalake_named_implied_is_renamed_with_its_grants(lake: Wire) -> None:
    lake.good("PUT", ML, {"updates": [{"@type": "rename", "newName": "implied"}]})
    role = {"name": "r", "securableObjects": []}
    lake.good("POST", "metalakes/implied/roles", role)
    lake.good("PUT", "metalakes/implied/permissions/users/eve/grant", {"roleNames": ["r"]})
    names = ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")
    body = {"privileges": [{"name": name, "condition": "ALLOW"} for name in names]}
    lake.good("PUT", "metalakes/implied/permissions/roles/r/catalog/rel/grant", body)
    table = T.replace("lk", "implied")
    assert lake.ask("GET", table, user="eve")[0] == 200
    rename = {"updates": [{"@type": "rename", "newName": "sea"}]}
    lake.good("PUT", "metalakes/implied", rename)
    table = T.replace("lk", "sea")
    assert lake.ask("GET", table, user="eve")[0] == 200
    assert _afresh(lake, table, "eve")[0] == 200


def _afresh(wire: Wire, path: str, user: str) -> tuple[int, Json]:
    """The response of another process, which loads everything from the store."""
    wire.service = DecisionService(wire.store)
    wire.service.open()
    return wire.ask("GET", path, user=user)


def test_dropping_a_metalake_takes_its_people_along(lake: Wire) -> None:
    grant(lake, "eve", "catalog rel", "USE_CATALOG")
    lake.good("DELETE", f"{ML}?force=true")
    lake.good("POST", "metalakes", {"name": "lk"})
    assert lake.good("GET", f"{ML}/users")["names"] == ["admin"]
    assert lake.bad("GET", ML, user="eve") == FORBIDDEN


def test_every_write_is_audited_the_refused_ones_too(lake: Wire) -> None:
    lake.bad("DELETE", T, user="eve")
    lake.good("DELETE", T)
    refused, dropped = audit(lake)[-2:]
    assert (refused["actor"], refused["outcome"]) == ("eve", "deny")
    assert (dropped["actor"], dropped["outcome"]) == ("admin", "allow")
    assert {one["operation"] for one in (refused, dropped)} == {"table.drop"}
    assert {one["target"] for one in (refused, dropped)} == {"table:lk:rel.s.t"}
    with lake.store.reading() as reading:
        assert first_fault(reading.audit(), reading.audit_head) is None


def test_a_write_that_fails_leaves_nothing_behind(lake: Wire) -> None:
    before = lake.service.state.revision, len(audit(lake))
    lake.bad("POST", f"{S}/tables", {"name": "t", "columns": COLUMNS})
    assert (lake.service.state.revision, len(audit(lake))) == before


def test_a_refused_write_makes_no_revision(lake: Wire) -> None:
    before = lake.service.state.revision
    lake.bad("DELETE", T, user="eve")
    assert lake.service.state.revision == before


def test_without_authorization_nothing_is_asked_and_lists_are_whole(off: Wire) -> None:
    off.good("POST", "metalakes", {"name": "lk"}, user="zed")
    off.good("POST", f"{ML}/catalogs", {"name": "c", "type": "model"}, user="eve")
    names = [one["name"] for one in off.good("GET", "metalakes", user="bob")["metalakes"]]
    assert names == ["lk"]
    shown = off.good("GET", f"{ML}/catalogs", user="bob")["identifiers"]
    assert [one["name"] for one in shown] == ["c"]
    assert off.bad("GET", "metalakes/none", user="bob") == (404, 1003, "NoSuchMetalakeException")


def test_without_authorization_people_and_grants_are_not_managed(off: Wire) -> None:
    off.good("POST", "metalakes", {"name": "lk"})
    unsupported = (405, 1006, "UnsupportedOperationException")
    paths = ("users", "groups", "roles", "owners/metalake/lk", "objects/metalake/lk/roles")
    for path in paths:
        assert off.bad("GET", f"{ML}/{path}") == unsupported, path
    body = {"roleNames": ["r"]}
    assert off.bad("PUT", f"{ML}/permissions/users/admin/grant", body) == unsupported


@pytest.mark.parametrize(("mode", "stranger"), [("seed", 403), ("next", 200)])
def test_the_pass_through_authorizer_asks_for_membership_only(
    mode: str, stranger: int, tmp_path: Path
) -> None:
    with Wire(tmp_path, mode=mode) as wire:
        fill(wire)
        wire.services = _passing(wire)
        assert wire.ask("GET", T, user="eve")[0] == 200
        assert wire.good("GET", f"{S}/tables", user="eve")["identifiers"] != []
        assert wire.ask("GET", T, user="zed")[0] == stranger
        assert wire.ask("POST", "metalakes", {"name": "x"}, user="zed")[0] == 200


def _passing(wire: Wire) -> Services:
    return replace(wire.services, systems={"gravitino": GravitinoSettings(pass_through=True)})


def test_active_roles_narrow_what_may_be_done(lake: Wire) -> None:
    grant(lake, "eve", "catalog rel", "USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")
    header = "x-gravitino-active-roles"
    assert lake.ask("GET", T, user="eve", headers={header: "of_eve"})[0] == 200
    assert lake.bad("GET", T, user="eve", headers={header: "NONE"}) == FORBIDDEN
    assert lake.bad("GET", T, user="eve", headers={header: "other"}) == FORBIDDEN
    shown = lake.good("GET", f"{ML}/catalogs", user="eve", headers={header: "NONE"})
    assert shown["identifiers"] == []


def test_groups_of_the_identity_provider_count(lake: Wire) -> None:
    lake.good("POST", f"{ML}/groups", {"name": "staff"})
    body = {"privileges": [{"name": "USE_CATALOG", "condition": "allow"}]}
    lake.good("POST", f"{ML}/roles", {"name": "r", "securableObjects": []})
    lake.good("PUT", f"{ML}/permissions/roles/r/catalog/rel/grant", body)
    lake.good("PUT", f"{ML}/permissions/groups/staff/grant", {"roleNames": ["r"]})
    assert lake.bad("GET", REL, user="eve") == FORBIDDEN
    assert lake.ask("GET", REL, user="eve", groups=("staff",))[0] == 200
