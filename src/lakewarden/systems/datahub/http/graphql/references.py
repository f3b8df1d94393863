"""From an entity to those that it names, of which the caller is shown some.

A document asks the same of all entities of a list. So what one of them names is looked for in
the whole group at once: one read, one question about what is shown (`Call.group`). What is named
need not be stored.
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
"""Types of entities; none: any will do."""

ANY: Final[Types] = frozenset()

Naming = Callable[[Call, Entity], Iterable[Entity]]
"""The entities that one names; a function made once, so that it is the same for the group."""


def named(urns: Iterable[object], types: Types = ANY) -> list[Entity]:
    """The entities of URNs, each once, in order; those of other types are left out."""
    entities: dict[Entity, None] = {}
    for urn in urns:
        if isinstance(urn, str):
            entity, problem = target(urn, types)
            if not problem:
                entities[entity] = None
    return list(entities)


def urns(record: Record, path: tuple[str, ...]) -> list[object]:
    """What stands at the end of a path, alone or in a list; through lists, in each object."""
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
    """What the entity, and those beside it, name, of those that the caller is shown."""
    group = call.group(entity)

    def find() -> frozenset[Entity]:
        call.aspects(group)
        everything = dict.fromkeys(entity for each in group for entity in naming(call, each))
        visible = authorization.visible(call, everything)
        call.together(visible)
        return frozenset(visible)

    return call.cached((naming, id(group)), find)


def follow(call: Call, entity: Entity, naming: Naming) -> list[Entity]:
    """The entities that the entity names, of those that the caller is shown, in order."""
    visible = visible_of_group(call, entity, naming)
    shown = [entity for entity in dict.fromkeys(naming(call, entity)) if entity in visible]
    call.count_named(len(shown))
    return shown


def first(call: Call, entity: Entity, naming: Naming) -> Entity | None:
    """The first entity that it names; None where the caller is not shown it."""
    call.count_named(1)
    visible = visible_of_group(call, entity, naming)
    named_first = next(iter(naming(call, entity)), None)
    return named_first if named_first in visible else None


def naming(place: tuple[str, ...], types: Types = ANY) -> Naming:
    """What stands at a place in an aspect: the aspect's name, and a path in it."""
    return _naming(place, types)


@cache
def _naming(place: tuple[str, ...], types: Types) -> Naming:
    def name(call: Call, entity: Entity) -> list[Entity]:
        record = aspect(call, entity, place[0])
        return named(urns(record, place[1:]), types) if record.value else []

    return name


@cache
def naming_by_key(part: int, types: Types) -> Naming:
    """What stands in a part of the key in an entity's URN."""
    return lambda _call, entity: named(datahub.key_parts(entity.name)[part : part + 1], types)


def at(call: Call, record: Record, path: tuple[str, ...], types: Types) -> list[Entity]:
    """The entities that stand at a path of a record, of those that the caller is shown."""
    entities = named(urns(record, path), types)
    visible = _visible(call, record, path, types, entities)
    return [entity for entity in entities if entity in visible]


def with_visible(
    call: Call, records: Sequence[Record], path: tuple[str, ...], types: Types
) -> list[Record]:
    """Those of records of one place that name, at a path, an entity that the caller is shown."""
    entities = [named(urns(record, path), types) for record in records]
    everything = [reference for own in entities for reference in own]
    visible = _visible(call, records[0], path, types, everything) if records else frozenset()
    pairs = zip(records, entities, strict=True)
    return [entity for entity, own in pairs if not visible.isdisjoint(own)]


def _visible(
    call: Call, record: Record, path: tuple[str, ...], types: Types, entities: Sequence[Entity]
) -> frozenset[Entity]:
    """Of the entities that stand at a path of a record, those that the caller is shown."""
    if not entities:
        return frozenset()
    if record.place is None:
        return frozenset(authorization.visible(call, entities))
    return visible_of_group(call, record.entity, _naming_at(record.place, path, types))


@cache
def _naming_at(place: RecordPath, path: tuple[str, ...], types: Types) -> Naming:
    return _naming((*place.path, *path), types)
