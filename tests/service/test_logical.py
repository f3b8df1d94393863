"""Logical parents with their columns: both sides asked, the rest of the mapping cleared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.service import aspects
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.aspect_guard import NotAllowed, Switches
from lakewarden.service.aspects import Write
from lakewarden.service.logical import link, unlink
from lakewarden.service.plane import Plane
from lakewarden.service.realm import Realm
from lakewarden.service.realms import establish
from tests.service.planes import opened

HUB = "datahub"
ANA = Actor("ana", credential="test")
ANA_URN = Entity("corpuser", "urn:li:corpuser:ana")
CHILD = Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)")
MODEL = Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:model,orders,PROD)")
PLATFORM = Entity("dataPlatform", "urn:li:dataPlatform:model")
OPEN = Switches(rest=False)


def field(dataset: Entity, name: str) -> Entity:
    return Entity("schemaField", f"urn:li:schemaField:({dataset.name},{name})")


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Plane]:
    """A logical dataset and a physical one, with two columns each."""
    columns = {"fields": [{"fieldPath": "a"}, {"fieldPath": "b"}]}
    stated: list[tuple[Entity, str, dict[str, Any]]] = [
        (PLATFORM, "dataPlatformInfo", {"logical": True}),
        (MODEL, "schemaMetadata", columns),
        (CHILD, "schemaMetadata", columns),
    ]
    with opened(tmp_path) as plane:
        closed = Realm(HUB, "datahub", settings={"bootstrap": "closed"})
        plane.write(SYSTEM, lambda desk: establish(desk, closed))
        writes = [Write(*one) for one in stated]
        plane.write(SYSTEM, lambda desk: aspects.write(desk, HUB, writes, ANA_URN.name))
        yield plane


def set_parent(
    plane: Plane, columns: Mapping[str, str], parent: Entity = MODEL, switches: Switches = OPEN
) -> None:
    plane.write(ANA, lambda desk: link(desk, HUB, CHILD, parent, columns, ANA_URN, switches))


def parents(plane: Plane) -> dict[str, str]:
    """Which dataset or column has which parent."""
    edges = plane.state.realm(HUB).matrix.snapshot.coded
    found = {}
    for one in (CHILD, field(CHILD, "a"), field(CHILD, "b")):
        id = edges.tree.find(one)
        for target, _ in () if id is None else edges.relations["logical_parent"].of(id):
            found[one.name] = edges.tree.entity(target).name
    return found


def test_a_parent_is_set_with_its_columns(plane: Plane) -> None:
    set_parent(plane, {"a": "b"})
    assert parents(plane) == {
        CHILD.name: MODEL.name,
        field(CHILD, "b").name: field(MODEL, "a").name,
    }
    set_parent(plane, {"b": "a"})
    assert parents(plane) == {
        CHILD.name: MODEL.name,
        field(CHILD, "a").name: field(MODEL, "b").name,
    }


def test_to_clear_it_clears_the_columns(plane: Plane) -> None:
    set_parent(plane, {"a": "a", "b": "b"})
    plane.write(ANA, lambda desk: unlink(desk, HUB, CHILD, ANA_URN, OPEN))
    assert parents(plane) == {}


def test_who_may_not_changes_nothing(plane: Plane) -> None:
    set_parent(plane, {"a": "a"})
    revision = plane.state.revision
    with pytest.raises(NotAllowed):
        set_parent(plane, {}, switches=Switches())
    with pytest.raises(NotAllowed):
        plane.write(ANA, lambda desk: unlink(desk, HUB, CHILD, ANA_URN, Switches()))
    assert plane.state.revision == revision


@pytest.mark.parametrize(
    ("columns", "parent"), [({"x": "a"}, MODEL), ({"a": "x"}, MODEL), ({}, CHILD)]
)
def test_what_is_not_logical_or_not_there_is_refused(
    plane: Plane, columns: dict[str, str], parent: Entity
) -> None:
    with pytest.raises(BadInput):
        set_parent(plane, columns, parent)
    assert parents(plane) == {}
