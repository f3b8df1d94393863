"""Roles: created with privileges, granted, revoked, deleted with all their rows."""

from __future__ import annotations

import pytest

from lakewarden.kernel.errors import Conflict, Unknown
from lakewarden.kernel.statement import Effect
from lakewarden.service import role
from lakewarden.service.grant import GrantedPrivilege, grants_of
from lakewarden.service.owner import owners_of
from lakewarden.store import SqlStore
from tests.service.lake import REALM, Lake

USE = frozenset({GrantedPrivilege("USE_CATALOG", Effect.ALLOW)})


@pytest.fixture
def lake(either_store: SqlStore) -> Lake:
    made = Lake(either_store)
    made.add("metalake:lk", "catalog:lk:c", "user:lk:ana", "group:lk:staff")
    boss, wanted = made.principal("user:boss"), {made.entity("catalog:lk:c"): USE}
    readers = made.entity("role:lk:readers")
    made.do(lambda transaction: role.create(transaction, REALM, readers, boss, wanted))
    return made


def test_a_role_holds_what_it_was_made_with_and_has_an_owner(lake: Lake) -> None:
    for state in (lake.state, lake.reopened()):
        held = grants_of(state, lake.principal("role:lk:readers"))
        assert held == {lake.entity("catalog:lk:c"): USE}
        rows = owners_of(state, lake.entity("role:lk:readers"))
        assert [row.owner.name for row in rows] == ["boss"]
        assert set(state.matrix.snapshot.table.statements) >= {"lk:readers/catalog:c/allow"}


def test_a_role_is_made_once(lake: Lake) -> None:
    with pytest.raises(Conflict):
        lake.add("role:lk:readers")


def test_a_role_counts_while_it_is_held(lake: Lake) -> None:
    assert not lake.may("ana", "catalog.load", "catalog:lk:c")
    lake.hand("role:lk:readers", "user:ana")
    lake.hand("role:lk:readers", "user:ana")
    assert lake.may("ana", "catalog.load", "catalog:lk:c")
    roles, ana = [lake.entity("role:lk:readers")], lake.principal("user:ana")
    for _ in range(2):
        lake.do(lambda transaction: role.revoke_roles(transaction, REALM, roles, ana))
    assert not lake.may("ana", "catalog.load", "catalog:lk:c")


def test_a_deleted_role_comes_back_empty_and_unheld(lake: Lake) -> None:
    lake.hand("role:lk:readers", "user:ana")
    lake.state_also(
        id="x", privileges=["USE_SCHEMA"], to=["role:lk:readers", "user:ben"], on="catalog:lk:c"
    )
    lake.do(lambda transaction: role.delete(transaction, REALM, lake.entity("role:lk:readers")))
    kept = lake.state.matrix.snapshot.table.statements
    assert kept["x"].principals == {lake.principal("user:ben")}
    lake.add("role:lk:readers")
    for state in (lake.state, lake.reopened()):
        assert grants_of(state, lake.principal("role:lk:readers")) == {}
    assert not lake.may("ana", "catalog.load", "catalog:lk:c")


def test_a_role_that_is_not_there_cannot_be_deleted(lake: Lake) -> None:
    with pytest.raises(Unknown):
        lake.do(lambda transaction: role.delete(transaction, REALM, lake.entity("role:lk:gone")))
