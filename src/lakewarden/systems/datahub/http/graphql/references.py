"""References from an entity to others that are visible to the caller.

A document follows the same references for all entities of a list, so they are resolved for the
whole group at once: one read, one check of visibility (`Call.group`). A referenced entity need not
be stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.fields import without_avro_type
from lakewarden.systems.datahub.aspects.meaning import target
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.aspect_record import Record, RecordPath, aspect
from lakewarden.systems.datahub.http.graphql.call import Call

Types = frozenset[str]
"""Types of entities; empty for any type."""

ANY: Final[Types] = frozenset()

Naming = Callable[[Call, Entity], Iterable[Entity]]
"""The entities that an entity names; the function is created once, so it can identify the group."""


def entities_of_urns(urns: Iterable[object], types: Types = ANY) -> list[Entity]:
    """The entities of URNs, without duplicates, in order; other types are left out."""
    entities: dict[Entity, None] = {}
    for urn in urns:
        if isinstance(urn, str):
            entity, problem = target(urn, types)
            if not problem:
                entities[entity] = None
    return list(entities)


def urns(record: Record, path: tuple[str, ...]) -> list[object]:
    """The URNs at the end of a path, single or in a list; through lists, in each object."""
    values: list[object] = [record.value]
    for key in path:
        reached: list[object] = []
        for holder in values:
            if isinstance(holder, Mapping):
                value = without_avro_type(holder.get(key))
                reached += map(without_avro_type, value) if isinstance(value, list) else (value,)
        values = reached
    return values


def visible_of_group(call: Call, entity: Entity, naming: Naming) -> frozenset[Entity]:
    """The visible entities that the entity and its group name."""
    group = call.group(entity)

    def find() -> frozenset[Entity]:
        call.aspects(group)
        everything = dict.fromkeys(entity for each in group for entity in naming(call, each))
        visible = authorization.visible(call, everything)
        call.add_group(visible)
        return frozenset(visible)

    return call.cached((naming, id(group)), find)


def follow(call: Call, entity: Entity, naming: Naming) -> list[Entity]:
    """The visible entities that the entity names, in order."""
    visible = visible_of_group(call, entity, naming)
    visible_entities = [
        entity for entity in dict.fromkeys(naming(call, entity)) if entity in visible
    ]
    call.count_named(len(visible_entities))
    return visible_entities


def first_visible(call: Call, entity: Entity, naming: Naming) -> Entity | None:
    """The first entity that it names; None if it is hidden from the caller."""
    call.count_named(1)
    visible = visible_of_group(call, entity, naming)
    named_first = next(iter(naming(call, entity)), None)
    return named_first if named_first in visible else None


def naming(place: tuple[str, ...], types: Types = ANY) -> Naming:
    """A reference at a path in an aspect: the aspect's name, and the path."""
    return _naming(place, types)


@cache
def _naming(place: tuple[str, ...], types: Types) -> Naming:
    def name(call: Call, entity: Entity) -> list[Entity]:
        record = aspect(call, entity, place[0])
        return entities_of_urns(urns(record, place[1:]), types) if record.value else []

    return name


@cache
def naming_by_key(part: int, types: Types) -> Naming:
    """A reference in a part of the key of an entity's URN."""
    return lambda _call, entity: entities_of_urns(
        datahub.key_parts(entity.name)[part : part + 1], types
    )


def visible_at(call: Call, record: Record, path: tuple[str, ...], types: Types) -> list[Entity]:
    """The visible entities at a path of a record."""
    entities = entities_of_urns(urns(record, path), types)
    visible = _visible(call, record, path, types, entities)
    return [entity for entity in entities if entity in visible]


def with_visible(
    call: Call, records: Sequence[Record], path: tuple[str, ...], types: Types
) -> list[Record]:
    """The records of one path that name a visible entity at a further path."""
    entities = [entities_of_urns(urns(record, path), types) for record in records]
    everything = [reference for own in entities for reference in own]
    visible = _visible(call, records[0], path, types, everything) if records else frozenset()
    pairs = zip(records, entities, strict=True)
    return [entity for entity, own in pairs if not visible.isdisjoint(own)]


def _visible(
    call: Call, record: Record, path: tuple[str, ...], types: Types, entities: Sequence[Entity]
) -> frozenset[Entity]:
    """The visible ones of the entities at a path of a record."""
    if not entities:
        return frozenset()
    if record.place is None:
        return frozenset(authorization.visible(call, entities))
    return visible_of_group(call, record.entity, _naming_at(record.place, path, types))


@cache
def _naming_at(place: RecordPath, path: tuple[str, ...], types: Types) -> Naming:
    return _naming((*place.path, *path), types)
