"""Users and groups of a container: adding them, and removing them with all their rows."""

from __future__ import annotations

import pytest

from lakewarden.kernel.errors import BadInput, Conflict, Unknown
from lakewarden.kernel.principal import Principal
from lakewarden.service import container_removal, member
from lakewarden.service.owner import owners_of
from lakewarden.store import SqlStore
from tests.service.lake import REALM, Lake

ANA = Principal("user", "ana")
STAFF = Principal("group", "staff")


@pytest.fixture
def lake(either_store: SqlStore) -> Lake:
    made = Lake(either_store)
    made.add("metalake:lk", "metalake:other", "catalog:lk:c", "user:lk:ana", "user:other:ana")
    made.add("group:lk:staff", "role:lk:readers", "role:other:readers")
    return made


def remove(lake: Lake, text: str) -> None:
    lake.do(lambda transaction: member.remove(transaction, REALM, lake.entity(text)))


def test_a_user_that_is_entered_is_a_member(lake: Lake) -> None:
    assert lake.may("ana", "metalake.load", "metalake:lk")
    assert not lake.may("ben", "metalake.load", "metalake:lk")
    assert ANA in lake.reopened().own.principals


def test_a_group_that_is_entered_makes_nobody_a_member(lake: Lake) -> None:
    assert STAFF in lake.state.own.principals
    assert not lake.may("group:staff", "metalake.load", "metalake:lk")


def test_nobody_is_entered_twice(lake: Lake) -> None:
    with pytest.raises(Conflict):
        lake.add("user:lk:ana")


def test_what_is_nobody_cannot_be_entered(lake: Lake) -> None:
    with pytest.raises(BadInput, match="not a user, group or role"):
        lake.do(lambda transaction: member.add(transaction, REALM, lake.entity("catalog:lk:d")))


def test_removing_takes_membership_roles_and_ownerships_of_that_container_alone(
    lake: Lake,
) -> None:
    lake.hand("role:lk:readers", "user:ana")
    lake.hand("role:other:readers", "user:ana")
    lake.own("catalog:lk:c", "user:ana")
    lake.own("metalake:other", "user:ana")
    remove(lake, "user:lk:ana")
    for state in (lake.state, lake.reopened()):
        assert owners_of(state, lake.entity("catalog:lk:c")) == []
        assert [row.owner for row in owners_of(state, lake.entity("metalake:other"))] == [ANA]
        other = member.roles_of(state, ANA, lake.entity("metalake:other"))
        assert other == [lake.entity("role:other:readers")]
        assert member.roles_of(state, ANA, lake.entity("metalake:lk")) == []
        assert ANA in state.own.principals
    assert not lake.may("ana", "metalake.load", "metalake:lk")
    assert lake.may("ana", "metalake.load", "metalake:other")


def test_whoever_is_nowhere_any_more_is_no_longer_stored(lake: Lake) -> None:
    remove(lake, "user:lk:ana")
    remove(lake, "user:other:ana")
    remove(lake, "group:lk:staff")
    assert not {ANA, STAFF} & lake.reopened().own.principals


def test_removing_who_is_not_there_is_unknown(lake: Lake) -> None:
    with pytest.raises(Unknown):
        remove(lake, "user:lk:ben")


def test_a_dropped_container_leaves_nobody_behind(lake: Lake) -> None:
    lake.hand("role:lk:readers", "user:ana")
    lake.state_also(id="x", privileges=["USE_CATALOG"], to=["role:lk:readers", "user:ben"])
    lake.do(
        lambda transaction: container_removal.drop(transaction, REALM, lake.entity("metalake:lk"))
    )
    for state in (lake.state, lake.reopened()):
        assert state.own.principals >= {ANA}
        assert Principal("role", "lk:readers") not in state.own.principals
        assert STAFF not in state.own.principals
        statement = state.matrix.snapshot.table.statements["x"]
        assert statement.principals == {Principal("user", "ben")}
    lake.add("metalake:lk", "role:lk:readers")
    assert not lake.may("ana", "metalake.load", "metalake:lk")
    assert member.roles_of(lake.state, ANA, lake.entity("metalake:lk")) == []
    assert lake.may("ana", "metalake.load", "metalake:other")
