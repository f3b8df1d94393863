"""`X-Gravitino-Active-Roles`: ALLOWs of the named roles, DENYs of all roles, and errors."""

from __future__ import annotations

import pytest

from tests.systems.gravitino.http.court import (
    FORBIDDEN,
    ML,
    ROLES,
    SCHEMA,
    TABLE,
    allow,
    deny,
    hold,
    on,
)
from tests.systems.gravitino.http.wire import Wire

HEADER = "x-gravitino-active-roles"
ILLEGAL_ROLES = (400, 1001, "IllegalActiveRolesException")


@pytest.fixture
def busy(court: Wire) -> Wire:
    """Ana holds only `uses` (the way to the table) and `reads` (the table)."""
    hold(court, "ana", on("catalog", "c", allow("USE_CATALOG", "USE_SCHEMA")), name="uses")
    hold(court, "ana", on("table", "c.s.t", allow("SELECT_TABLE")), name="reads")
    return court


def active(roles: str) -> dict[str, str]:
    return {HEADER: roles}


@pytest.mark.parametrize("roles", ["", " ", "ALL", "all", "uses,reads", " reads , uses "])
def test_all_roles_count_unless_some_are_chosen(busy: Wire, roles: str) -> None:
    assert busy.good("GET", TABLE, user="ana", headers=active(roles))


@pytest.mark.parametrize("roles", ["NONE", "uses", "reads"])
def test_only_the_chosen_roles_allow(busy: Wire, roles: str) -> None:
    assert busy.bad("GET", TABLE, user="ana", headers=active(roles)) == FORBIDDEN


def test_lists_are_narrowed_too(busy: Wire) -> None:
    tables = f"{SCHEMA}/tables"
    found = busy.good("GET", tables, user="ana", headers=active("uses"))["identifiers"]
    assert found == []
    assert busy.good("GET", tables, user="ana")["identifiers"] != []


def test_denies_of_every_role_count(busy: Wire) -> None:
    hold(busy, "ana", on("schema", "c.s", deny("SELECT_TABLE")), name="barred")
    assert busy.bad("GET", TABLE, user="ana", headers=active("uses,reads")) == FORBIDDEN


def test_ownership_counts_whatever_is_active(busy: Wire) -> None:
    busy.good("PUT", f"{ML}/owners/catalog/c", {"name": "ana", "type": "USER"}, user="boss")
    assert busy.good("GET", TABLE, user="ana", headers=active("NONE"))
    assert busy.good("DELETE", TABLE, user="ana", headers=active("NONE"))["dropped"] is True


def test_membership_counts_whatever_is_active(busy: Wire) -> None:
    assert busy.good("GET", ML, user="ana", headers=active("NONE"))


def test_a_role_that_is_not_held_cannot_be_active(busy: Wire) -> None:
    hold(busy, "bob", name="his")
    status, answer = busy.ask("GET", TABLE, user="ana", headers=active("uses,his"))
    assert (status, answer["type"]) == (403, "ForbiddenException")
    assert "cannot assume active role(s)" in answer["message"]
    assert busy.bad("GET", TABLE, user="ana", headers=active("gone")) == FORBIDDEN
    assert busy.bad("GET", ROLES, user="ana", headers=active("his")) == FORBIDDEN


@pytest.mark.parametrize("roles", ["uses,,reads", ",", "ALL,uses", "NONE,uses", "none,all"])
def test_what_says_nothing_sensible_is_refused(busy: Wire, roles: str) -> None:
    assert busy.bad("GET", TABLE, user="ana", headers=active(roles)) == ILLEGAL_ROLES


def test_a_hundred_roles_are_read_and_no_more(busy: Wire) -> None:
    names = [f"r{number}" for number in range(101)]
    assert busy.bad("GET", TABLE, user="ana", headers=active(",".join(names[:100]))) == FORBIDDEN
    assert busy.bad("GET", TABLE, user="ana", headers=active(",".join(names))) == ILLEGAL_ROLES


def test_writes_are_narrowed_too(busy: Wire) -> None:
    hold(busy, "ana", on("metalake", "lk", allow("CREATE_CATALOG")), name="makes")
    body = {"name": "d", "type": "relational", "provider": "hive"}
    path = f"{ML}/catalogs"
    assert busy.bad("POST", path, body, user="ana", headers=active("uses")) == FORBIDDEN
    assert busy.good("POST", path, body, user="ana", headers=active("makes"))
