"""From an entity to those that it names, of which the caller is shown some.

A document asks the same of all entities of a list. So what one of them names is looked for in
the whole group at once: one read, one question about what is shown (`Call.group`). What is named
need not be stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.aspects.meaning import target
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.pages.part import Part
from lakewarden.systems.datahub.http.graphql.resolving import Info

Naming = Callable[[Call, Entity], Iterable[Entity]]
"""The entities that one names; a function of a module, so that it is the same for the group."""

_ANY: Final[frozenset[str]] = frozenset()


def named(urns: Iterable[object], types: frozenset[str] = _ANY) -> list[Entity]:
    """The entities of URNs, each once, in order; those of other types are left out."""
    found = (target(urn, types) for urn in urns if isinstance(urn, str))
    return list(dict.fromkeys(entity for entity, problem in found if not problem))


def shown(call: Call, entity: Entity, naming: Naming) -> frozenset[Entity]:
    """What the entity, and those beside it, name, of those that the caller is shown."""
    group = call.group(entity)

    def find() -> frozenset[Entity]:
        call.aspects(group)
        found = dict.fromkeys(one for each in group for one in naming(call, each))
        visible = authorization.visible(call, found)
        call.together(visible)
        return frozenset(visible)

    return call.kept((naming, id(group)), find)


def follow(call: Call, entity: Entity, naming: Naming) -> list[Entity]:
    """The entities that the entity names, of those that the caller is shown, in order."""
    seen = shown(call, entity, naming)
    found = [one for one in dict.fromkeys(naming(call, entity)) if one in seen]
    call.name(len(found))
    return found


def first(call: Call, entity: Entity, naming: Naming) -> Entity | None:
    """The first entity that it names; null where the caller is not shown it."""
    call.name(1)
    seen = shown(call, entity, naming)
    found = next(iter(naming(call, entity)), None)
    return found if found in seen else None


def naming(aspect: str, read: Callable[[Part], Iterable[object]], *types: str) -> Naming:
    """What an aspect names: `read` gives URNs, of which those of the types count."""
    wanted = frozenset(types)

    def name(call: Call, entity: Entity) -> list[Entity]:
        value = call.aspect(entity, aspect)
        return named(read(Part(entity, value)), wanted) if value else []

    return name


def under(*keys: str) -> Callable[[Part], Iterable[object]]:
    """URNs that stand under one of the keys, alone or in a list."""

    def read(part: Part) -> Iterable[object]:
        for key in keys:
            found = part.get(key)
            yield from part.texts(key) if isinstance(found, list) else (found,)

    return read


def each(key: str, *members: str) -> Callable[[Part], Iterable[object]]:
    """URNs that stand in a member of each object of a list."""
    return lambda part: (one.get(member) for one in part.parts(key) for member in members)


def one(found: Naming) -> Callable[..., Any]:
    """A field that shows the first entity that is named."""
    return lambda entity, info: first(info.context, _entity(entity), found)


def many(found: Naming) -> Callable[..., Any]:
    """A field that shows all entities that are named."""
    return lambda entity, info: follow(info.context, _entity(entity), found)


def member(key: str, found: Naming) -> Callable[..., Any]:
    """A field of a part that shows the entity of a URN; `found` names it among others."""

    def resolve(part: Part, info: Info) -> Entity | None:
        there = named((part.get(key),))
        return there[0] if there and there[0] in shown(info.context, part.entity, found) else None

    return resolve


def alone(key: str, *types: str) -> Callable[..., Any]:
    """The entity under a key of a part, where few documents ask for it: it is looked at alone."""
    wanted = frozenset(types)

    def resolve(part: Part, info: Info) -> Entity | None:
        visible = authorization.visible(info.context, named((part.get(key),), wanted))
        return visible[0] if visible else None

    return resolve


def resolved_stamp(key: str, *, always: bool = False) -> Callable[..., Any]:
    """Who did something when, the user as an entity."""
    actor = alone("actor", "corpuser")

    def resolve(part: Part, info: Info) -> Mapping[str, Any] | None:
        found = part.part(key)
        if found is None:
            return {"time": 0, "actor": None} if always else None
        return {"time": found.number("time") or 0, "actor": actor(found, info)}

    return resolve


def _entity(of: Entity | Part) -> Entity:
    return of.entity if isinstance(of, Part) else of


Fields = Mapping[str, Callable[..., Any]]
"""The resolvers of a type's fields."""
