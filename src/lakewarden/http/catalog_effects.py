"""What a catalog did, as effects on a realm: new entities with their owners, and what is gone.

They are made after the catalog has done it, by a guard or a gateway in front of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lakewarden.kernel.change import (
    EntityAdded,
    EntityDropped,
    EntityMoved,
    EntityRenamed,
    OwnerChanged,
    StatementAdded,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.implied import is_implied
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import OwnerRow
from lakewarden.kernel.statement import On
from lakewarden.service.effect import Effect
from lakewarden.service.state import RealmState


def made(state: RealmState, entity: Entity, owner: Principal) -> Iterator[Effect]:
    """A new entity with its owner; nothing for what is stored, or what lies in nothing stored."""
    parent = state.system.spelling.parent(entity)
    if not is_stored(state, entity) and is_stored(state, parent):
        yield EntityAdded(entity, parent)
        yield OwnerChanged(OwnerRow(entity, owner), True)


def gone(state: RealmState, entity: Entity) -> Iterator[Effect]:
    """The end of an entity that is stored."""
    if is_stored(state, entity):
        yield EntityDropped(entity)


def is_stored(state: RealmState, entity: Entity | None) -> bool:
    """Whether there is such an entity."""
    tree = state.matrix.snapshot.coded.tree
    id = None if entity is None else tree.find(entity)
    return id is not None and id in tree.stored


def moved(state: RealmState, source: Entity, target: Entity) -> Iterator[Effect]:
    """The entity and all below it by their new names, with the statements on what is not stored."""
    snapshot = state.matrix.snapshot
    coded = snapshot.coded

    def renamed(name: str) -> str:
        return target.name + name[len(source.name) :]

    for statement in snapshot.table.statements.values():
        scope = statement.scope
        if not isinstance(scope, On) or is_implied(statement) or is_stored(state, scope.entity):
            continue
        on = scope.entity
        if on == source or source in coded.ancestors(on):
            new = On(Entity(on.type, renamed(on.name)))
            yield StatementAdded(replace(statement, scope=new))
    id_of_source = coded.tree.find(source)
    if id_of_source is None or not is_stored(state, source):
        return
    for number in coded.tree.subtree(id_of_source) & coded.tree.stored:
        below = coded.tree.entity(number)
        yield EntityRenamed(below, renamed(below.name))
    parent = state.system.spelling.parent(target)
    if parent != state.system.spelling.parent(source):
        yield EntityMoved(target, parent)
