"""Owners: one at a time, and a user's entities within a container."""

from __future__ import annotations

import pytest

from lakewarden.kernel.errors import Unknown
from lakewarden.service.owner import owned_by, owners_of
from lakewarden.store import SqlStore
from tests.service.lake import Lake


@pytest.fixture
def lake(either_store: SqlStore) -> Lake:
    made = Lake(either_store)
    made.add("metalake:lk", "catalog:lk:c", "schema:lk:c.s", "metalake:other")
    return made


def test_a_new_owner_takes_the_place_of_all_others(lake: Lake) -> None:
    lake.own("catalog:lk:c", "user:ana")
    lake.own("catalog:lk:c", "user:ben")
    lake.own("catalog:lk:c", "user:ben")
    for state in (lake.state, lake.reopened()):
        rows = owners_of(state, lake.entity("catalog:lk:c"))
        assert [row.owner.name for row in rows] == ["ben"]
        assert owners_of(state, lake.entity("schema:lk:c.s")) == []


def test_what_is_not_stored_has_no_owner_and_gets_none(lake: Lake) -> None:
    assert owners_of(lake.state, lake.entity("catalog:lk:d")) == []
    with pytest.raises(Unknown):
        lake.own("catalog:lk:d", "user:ana")


def test_what_somebody_owns_is_found_within_a_container(lake: Lake) -> None:
    for text in ("metalake:lk", "schema:lk:c.s", "metalake:other"):
        lake.own(text, "user:ana")
    ana, lk = lake.principal("user:ana"), lake.entity("metalake:lk")
    found = {row.entity for row in owned_by(lake.state, ana, lk)}
    assert found == {lk, lake.entity("schema:lk:c.s")}
    assert list(owned_by(lake.state, lake.principal("user:ben"), lk)) == []
    assert list(owned_by(lake.state, ana, lake.entity("metalake:gone"))) == []
