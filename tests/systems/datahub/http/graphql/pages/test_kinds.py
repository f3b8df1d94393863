"""The page of every entity type shows the written values, field by field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.service.actor import SYSTEM
from lakewarden.systems.datahub.aspects.meaning import READERS
from lakewarden.systems.datahub.http.graphql.kinds import NAMES
from lakewarden.systems.datahub.http.graphql.schema import schema
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspects import Write
from tests.systems.datahub.http.graphql.pages.kinds import KINDS, Kind
from tests.systems.datahub.http.graphql.pages.world import ASPECTS, ORDERS, Json
from tests.systems.datahub.http.graphql.wire import REALM, Wire, document

NO_EDGES = {"types": [], "direction": "INCOMING"}


def put(wire: Wire, urn: str, written: dict[str, Json]) -> None:
    for name, value in written.items():
        wire.put(urn.split(":")[2], urn, name, value)


def agreed(found: Any, wanted: Any) -> Any:
    """The found value, without members of objects that are not wanted."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return {name: agreed(found[name], wanted[name]) for name in wanted if name in found}
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        return [agreed(one, other) for one, other in zip(found, wanted, strict=True)]
    return found


@pytest.mark.parametrize("kind", KINDS, ids=[kind.urn.split(":")[2] for kind in KINDS])
def test_a_page_shows_what_was_written(wire: Wire, kind: Kind) -> None:
    put(wire, kind.urn, kind.aspects)
    found = wire.good(document(kind.document), urn=kind.urn, edges=NO_EDGES)
    # Not every document selects every member that another one selects.
    wanted = agreed(kind.shown, found)
    assert set(wanted) == set(kind.shown)
    assert agreed(found, wanted) == wanted
    assert found["exists"] is True


def test_every_field_of_every_page_has_a_resolver() -> None:
    """Otherwise an entity's own member would be shown instead of a field's value."""
    for name in NAMES:
        type: Any = schema().type_map[name]
        assert [field for field, told in type.fields.items() if told.resolve is None] == []


def malformed_values(value: Any, wrong: object) -> Iterator[Any]:
    """The value with the members of one object or list in it replaced."""
    match value:
        case dict():
            yield dict.fromkeys(value, wrong)
            for name, member in value.items():
                yield from ({**value, name: other} for other in malformed_values(member, wrong))
        case list():
            yield [wrong]
            for index, member in enumerate(value):
                for other in malformed_values(member, wrong):
                    yield [*value[:index], other, *value[index + 1 :]]


WRONG: tuple[object, ...] = (
    None,
    "x",
    1.5,
    True,
    [],
    {},
    [{"a": 1}],
    {"time": "x"},
    "urn:li:corpuser:",
    [None],
)
ODD = [
    ("page_dataset", ORDERS, ASPECTS),
    *((kind.document, kind.urn, kind.aspects) for kind in KINDS),
]


@pytest.mark.parametrize(
    ("name", "urn", "written"), ODD, ids=[urn.split(":")[2] for _, urn, _ in ODD]
)
def test_what_is_written_oddly_is_shown_as_if_it_were_not_there(
    wire: Wire, name: str, urn: str, written: dict[str, Json]
) -> None:
    """The type of a member may differ from the schema's."""
    wire.put(urn.split(":")[2], urn, "status", {"removed": False})
    for turn, wrong in enumerate(WRONG):
        variants = {
            aspect: list(malformed_values(value, wrong)) for aspect, value in written.items()
        }
        deepest = max(len(each) for each in variants.values())
        for index in (0, *range(turn + 1, deepest, 6 * len(WRONG))):
            odd = {aspect: each[index] for aspect, each in variants.items() if index < len(each)}
            write_unchecked(wire, urn, odd)
            answer = wire.ask(document(name), urn=urn, edges=NO_EDGES)
            assert "errors" not in answer, json.dumps([answer["errors"], odd])


def write_unchecked(wire: Wire, urn: str, odd: dict[str, Json]) -> None:
    """Writes the aspects unchecked, except those with a meaning, which are refused."""
    entity = Entity(urn.split(":")[2], urn)
    told = [Write(entity, name, value) for name, value in odd.items() if name not in READERS]
    wire.service.write(SYSTEM, lambda transaction: aspects.write(transaction, REALM, told, urn))
