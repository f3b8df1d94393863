"""Logical parents with their columns: both sides authorized, the rest of the mapping cleared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import Realm
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspect_guard import NotAllowed, Switches
from lakewarden.systems.datahub.use_cases.aspects import Write
from lakewarden.systems.datahub.use_cases.logical import link, unlink
from tests.service.opened_services import opened

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
def service(tmp_path: Path) -> Iterator[DecisionService]:
    """A logical dataset and a physical one, with two columns each."""
    columns = {"fields": [{"fieldPath": "a"}, {"fieldPath": "b"}]}
    stated: list[tuple[Entity, str, dict[str, Any]]] = [
        (PLATFORM, "dataPlatformInfo", {"logical": True}),
        (MODEL, "schemaMetadata", columns),
        (CHILD, "schemaMetadata", columns),
    ]
    closed = Realm(HUB, "datahub", settings={"bootstrap": "closed"})
    with opened(tmp_path, beside=closed) as service:
        writes = [Write(*one) for one in stated]
        service.write(
            SYSTEM, lambda transaction: aspects.write(transaction, HUB, writes, ANA_URN.name)
        )
        yield service


def set_parent(
    service: DecisionService,
    columns: Mapping[str, str],
    parent: Entity = MODEL,
    switches: Switches = OPEN,
) -> None:
    service.write(
        ANA, lambda transaction: link(transaction, HUB, CHILD, parent, columns, ANA_URN, switches)
    )


def parents(service: DecisionService) -> dict[str, str]:
    """The parent of each dataset and column."""
    edges = service.state.realm(HUB).matrix.snapshot.coded
    found = {}
    for one in (CHILD, field(CHILD, "a"), field(CHILD, "b")):
        id = edges.tree.find(one)
        for target, _ in () if id is None else edges.relations["logical_parent"].of(id):
            found[one.name] = edges.tree.entity(target).name
    return found


def test_a_parent_is_set_with_its_columns(service: DecisionService) -> None:
    set_parent(service, {"a": "b"})
    assert parents(service) == {
        CHILD.name: MODEL.name,
        field(CHILD, "b").name: field(MODEL, "a").name,
    }
    set_parent(service, {"b": "a"})
    assert parents(service) == {
        CHILD.name: MODEL.name,
        field(CHILD, "a").name: field(MODEL, "b").name,
    }


def test_to_clear_it_clears_the_columns(service: DecisionService) -> None:
    set_parent(service, {"a": "a", "b": "b"})
    service.write(ANA, lambda transaction: unlink(transaction, HUB, CHILD, ANA_URN, OPEN))
    assert parents(service) == {}


def test_who_may_not_changes_nothing(service: DecisionService) -> None:
    set_parent(service, {"a": "a"})
    revision = service.state.revision
    with pytest.raises(NotAllowed):
        set_parent(service, {}, switches=Switches())
    with pytest.raises(NotAllowed):
        service.write(ANA, lambda transaction: unlink(transaction, HUB, CHILD, ANA_URN, Switches()))
    assert service.state.revision == revision


@pytest.mark.parametrize(
    ("columns", "parent"), [({"x": "a"}, MODEL), ({"a": "x"}, MODEL), ({}, CHILD)]
)
def test_what_is_not_logical_or_not_there_is_refused(
    service: DecisionService, columns: dict[str, str], parent: Entity
) -> None:
    with pytest.raises(BadInput):
        set_parent(service, columns, parent)
    assert parents(service) == {}
