"""Entities through the service: listed in order, stored where they belong, owned, dropped."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.listing import Page
from lakewarden.service import entities, realms
from lakewarden.service.control import Denied
from lakewarden.service.entities import Stored
from lakewarden.service.plane import Plane
from lakewarden.service.realm import CONTROL, Realm
from lakewarden.testing.draft import NOW
from tests.service.planes import ADMIN, EVE, LAKE, furnish, opened

T = "table:lk:c.s.t"
ORDER = ["lk", "lk:c", "lk:c.p", "lk:c.p.secret", "lk:c.s", "lk:c.s.t", "lk:c.s.u"]


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Plane]:
    with opened(tmp_path) as plane:
        furnish(plane)
        yield plane


def listed(plane: Plane, **how: object) -> list[str]:
    found = entities.listed(plane.state, ADMIN, LAKE, NOW, **how)  # type: ignore[arg-type]
    assert isinstance(found, Page)
    return [entity.name for entity in found.entities]


def loaded(plane: Plane, text: str) -> Stored:
    found = entities.load(plane.state, ADMIN, LAKE, text, NOW)
    assert isinstance(found, Stored)
    return found


def test_entities_are_listed_in_the_order_of_their_places(plane: Plane) -> None:
    assert listed(plane) == ORDER
    assert listed(plane, size=3) == ORDER[:3]
    assert listed(plane, after="catalog:lk:c") == ORDER[2:]
    assert listed(plane, type="table") == ["lk:c.p.secret", "lk:c.s.t", "lk:c.s.u"]
    assert listed(plane, type="table", within="schema:lk:c.s") == ["lk:c.s.t", "lk:c.s.u"]
    assert listed(plane, within="schema:lk:c.none") == []
    with pytest.raises(Unknown):
        listed(plane, type="shelf")
    assert listed(plane, size=1_000) == ORDER
    for size in (0, 1_001):
        with pytest.raises(BadInput):
            listed(plane, size=size)


def test_what_lies_within_leaves_the_container_out(plane: Plane) -> None:
    assert listed(plane, within="schema:lk:c.s") == ["lk:c.s.t", "lk:c.s.u"]


def test_an_entity_is_stored_where_its_name_says(plane: Plane) -> None:
    made = plane.write(ADMIN, lambda d: entities.put(d, LAKE, "table:lk:c.s.new"))
    assert isinstance(made, Stored)
    assert made.parent == Entity("schema", "lk:c.s")
    assert loaded(plane, "table:lk:c.s.new") == made
    with pytest.raises(Unknown):
        plane.write(ADMIN, lambda d: entities.put(d, LAKE, "table:lk:c.none.new"))


def test_storing_the_same_again_changes_nothing(plane: Plane) -> None:
    owners = [("user:ana", "")]
    plane.write(ADMIN, lambda d: entities.put(d, LAKE, T, owners=owners))
    revision = plane.state.revision
    plane.write(ADMIN, lambda d: entities.put(d, LAKE, T, owners=owners))
    assert plane.state.revision == revision
    plane.write(ADMIN, lambda d: entities.put(d, LAKE, T, owners=[("user:ben", "")]))
    assert [row.owner.name for row in loaded(plane, T).owners] == ["ben"]
    plane.write(ADMIN, lambda d: entities.put(d, LAKE, T, owners=[]))
    assert loaded(plane, T).owners == ()


def test_what_cannot_be_owned_has_no_owners(plane: Plane) -> None:
    with pytest.raises(BadInput, match="a column has no owners"):
        plane.write(
            ADMIN, lambda d: entities.put(d, LAKE, "column:lk:c.s.t.x", owners=[("ana", "")])
        )


def test_an_entity_whose_place_is_data_is_moved(plane: Plane) -> None:
    plane.write(ADMIN, lambda d: realms.create(d, Realm("hub", "datahub")))
    domains = ["urn:li:domain:a", "urn:li:domain:b"]
    for urn in domains:
        plane.write(ADMIN, partial(entities.put, realm="hub", text=urn))
    moved = plane.write(ADMIN, lambda d: entities.put(d, "hub", domains[1], domains[0]))
    assert isinstance(moved, Stored)
    assert moved.parent == Entity("domain", domains[0])


def test_a_dropped_entity_is_gone_and_dropping_it_again_is_nothing(plane: Plane) -> None:
    assert plane.write(ADMIN, lambda d: entities.drop(d, LAKE, T)) is None
    revision = plane.state.revision
    assert plane.write(ADMIN, lambda d: entities.drop(d, LAKE, T)) is None
    assert plane.state.revision == revision
    with pytest.raises(Unknown):
        loaded(plane, T)


@pytest.mark.parametrize("text", ["table:", "", "table", "shelf:x"])
def test_what_names_no_entity_is_refused(plane: Plane, text: str) -> None:
    with pytest.raises((BadInput, Unknown)):
        loaded(plane, text)


def test_the_control_realm_s_entities_are_its_realms(plane: Plane) -> None:
    for task in (
        partial(entities.put, realm=CONTROL, text="realm:x"),
        partial(entities.drop, realm=CONTROL, text=f"realm:{LAKE}"),
    ):
        with pytest.raises(BadInput, match="create and drop these"):
            plane.write(ADMIN, task)


def test_who_has_no_right_sees_and_changes_nothing(plane: Plane) -> None:
    assert isinstance(entities.listed(plane.state, EVE, LAKE, NOW), Denied)
    assert isinstance(entities.load(plane.state, EVE, LAKE, T, NOW), Denied)
    assert isinstance(plane.write(EVE, lambda d: entities.put(d, LAKE, T)), Denied)
    assert isinstance(plane.write(EVE, lambda d: entities.drop(d, LAKE, T)), Denied)
    assert loaded(plane, T).entity.name == "lk:c.s.t"
