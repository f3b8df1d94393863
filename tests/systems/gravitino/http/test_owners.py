"""Owners: who may see and set them, and who may own."""

from __future__ import annotations

from pathlib import Path

from lakewarden.http.exchange import Services
from lakewarden.kernel.facts import rows_of
from lakewarden.systems.gravitino.settings import GravitinoAuthorization, GravitinoSettings
from tests.systems.gravitino.http.court import (
    FORBIDDEN,
    ILLEGAL,
    ILLEGAL_OBJECT,
    ML,
    ROLES,
    SCHEMA,
    TABLE,
    TAGS,
    USERS,
    absent,
    add_table,
    allow,
    deny,
    hold,
    on,
    role,
)
from tests.systems.gravitino.http.wire import REALM, Json, Wire

USES = on("catalog", "c", allow("USE_CATALOG", "USE_SCHEMA"))


def owner(court: Wire, path: str, user: str = "boss") -> Json | None:
    found: Json | None = court.good("GET", f"{ML}/owners/{path}", user=user).get("owner")
    return found


def own(court: Wire, path: str, name: str, user: str = "boss") -> None:
    body = {"name": name, "type": "USER"}
    assert court.good("PUT", f"{ML}/owners/{path}", body, user=user)["set"] is True


def refused(court: Wire, path: str, body: Json, user: str = "boss") -> tuple[int, int, str]:
    return court.bad("PUT", f"{ML}/owners/{path}", body, user=user)


TO_ANA = {"name": "ana", "type": "USER"}


def test_whoever_creates_something_owns_it(court: Wire) -> None:
    court.good("POST", ROLES, role("readers"), user="boss")
    for path in ("catalog/c", "schema/c.s", "TABLE/c.s.t", "role/readers", "metalake/lk"):
        assert owner(court, path) == {"name": "boss", "type": "user"}


def test_a_new_owner_takes_the_place_of_the_old_one(court: Wire) -> None:
    own(court, "table/c.s.t", "ana")
    assert owner(court, "table/c.s.t") == {"name": "ana", "type": "user"}
    own(court, "table/c.s.t", "bob")
    assert owner(court, "table/c.s.t") == {"name": "bob", "type": "user"}
    hold(court, "ana", USES)
    assert court.bad("DELETE", TABLE, user="ana") == FORBIDDEN
    hold(court, "bob", USES)
    assert court.good("DELETE", TABLE, user="bob")["dropped"] is True


def test_reading_the_owner_takes_what_loading_the_object_takes(court: Wire) -> None:
    path = f"{ML}/owners/table/c.s.t"
    assert court.bad("GET", path, user="ana") == FORBIDDEN
    hold(court, "ana", USES, on("table", "c.s.t", allow("SELECT_TABLE")))
    assert owner(court, "table/c.s.t", user="ana") == {"name": "boss", "type": "user"}
    assert court.good("GET", f"{ML}/owners/metalake/lk", user="cid")["owner"]["name"] == "boss"
    assert court.bad("GET", f"{ML}/owners/metalake/lk", user="eve") == FORBIDDEN


def test_the_owner_of_an_object_passes_it_on_if_it_may_use_what_is_above(court: Wire) -> None:
    own(court, "table/c.s.t", "ana")
    assert refused(court, "table/c.s.t", {"name": "bob", "type": "user"}, user="ana") == FORBIDDEN
    hold(court, "ana", USES)
    own(court, "table/c.s.t", "bob", user="ana")
    assert refused(court, "table/c.s.t", TO_ANA, user="ana") == FORBIDDEN


def test_a_deny_of_use_catalog_keeps_the_owner_from_passing_it_on(court: Wire) -> None:
    own(court, "table/c.s.t", "ana")
    hold(court, "ana", USES, name="one")
    hold(court, "ana", on("metalake", "lk", deny("USE_CATALOG")), name="two")
    assert refused(court, "table/c.s.t", {"name": "bob", "type": "USER"}, user="ana") == FORBIDDEN


def test_any_owned_ancestor_will_do(court: Wire) -> None:
    own(court, "catalog/c", "ana")
    own(court, "table/c.s.t", "ana")
    own(court, "table/c.s.t", "bob", user="ana")
    assert owner(court, "table/c.s.t") == {"name": "bob", "type": "user"}


def test_unknown_users_and_objects_are_404(court: Wire) -> None:
    nobody = {"name": "nobody", "type": "USER"}
    assert refused(court, "table/c.s.t", nobody) == (404, 1003, "NotFoundException")
    gone = absent("MetadataObject")
    assert refused(court, "table/c.s.gone", TO_ANA) == gone
    assert court.bad("GET", f"{ML}/owners/table/c.s.gone", user="boss") == gone
    assert refused(court, "table/c.s.gone", TO_ANA, user="ana") == FORBIDDEN


def test_a_group_owns_nothing_as_the_page_has_it(court: Wire) -> None:
    assert refused(court, "table/c.s.t", {"name": "staff", "type": "GROUP"}) == ILLEGAL
    assert owner(court, "table/c.s.t") == {"name": "boss", "type": "user"}


def test_in_mode_next_a_group_may_own_and_its_members_do(next_court: Wire) -> None:
    body = {"name": "staff", "type": "GROUP"}
    next_court.good("PUT", f"{ML}/owners/catalog/c", body, user="boss")
    assert owner(next_court, "catalog/c") == {"name": "staff", "type": "group"}
    assert next_court.good("GET", TABLE, user="ana", groups=("staff",))
    assert next_court.bad("GET", TABLE, user="ana") == FORBIDDEN
    unknown = {"name": "nobody", "type": "group"}
    assert refused(next_court, "catalog/c", unknown) == (404, 1003, "NotFoundException")


def test_bad_bodies_and_paths_are_refused(court: Wire) -> None:
    for body in ({}, {"name": "ana"}, {"type": "USER"}, {"name": "ana", "type": "ROLE"}):
        assert refused(court, "table/c.s.t", body) == ILLEGAL
    assert refused(court, "table/c.s", TO_ANA) == ILLEGAL
    assert refused(court, "star/c", TO_ANA) == ILLEGAL
    assert refused(court, "metalake/other", TO_ANA) == ILLEGAL_OBJECT
    assert refused(court, "column/c.s.t.id", TO_ANA) == ILLEGAL


def test_a_column_is_known_to_whoever_may_load_its_table_and_owned_by_nobody(court: Wire) -> None:
    assert owner(court, "column/c.s.t.id") is None
    assert court.bad("GET", f"{ML}/owners/column/c.s.t.id", user="ana") == FORBIDDEN


def test_the_old_owner_of_the_metalake_has_no_say_any_more(court: Wire) -> None:
    own(court, "metalake/lk", "ana")
    assert court.bad("POST", USERS, {"name": "dan"}, user="boss") == FORBIDDEN
    assert court.good("POST", USERS, {"name": "dan"}, user="ana")


def test_ownership_ends_with_the_object(court: Wire) -> None:
    own(court, "table/c.s.t", "ana")
    court.good("DELETE", TABLE, user="boss")
    add_table(court, "t")
    assert owner(court, "table/c.s.t") == {"name": "boss", "type": "user"}
    hold(court, "ana", USES)
    assert court.bad("DELETE", TABLE, user="ana") == FORBIDDEN


def test_a_rename_keeps_the_owner(court: Wire) -> None:
    own(court, "table/c.s.t", "ana")
    court.good("PUT", TABLE, {"updates": [{"@type": "rename", "newName": "u"}]}, user="boss")
    assert owner(court, "table/c.s.u") == {"name": "ana", "type": "user"}
    hold(court, "ana", USES)
    assert court.good("DELETE", f"{SCHEMA}/tables/u", user="ana")["dropped"] is True


def test_where_authorization_is_off_nobody_becomes_an_owner(tmp_path: Path) -> None:
    with Wire(
        tmp_path, options=GravitinoSettings(authorization=GravitinoAuthorization(enable=False))
    ) as wire:
        wire.good("POST", "metalakes", {"name": "lk"}, user="eve")
        wire.good("POST", TAGS, {"name": "pii"}, user="eve")
        wire.services = Services()
        wire.good("POST", "metalakes", {"name": "other"})
        snapshot = wire.service.state.realm(REALM).matrix.snapshot
        facts = rows_of(snapshot.coded, snapshot.table.statements)
        assert [row.entity.name for row in facts.owners] == ["other"]
