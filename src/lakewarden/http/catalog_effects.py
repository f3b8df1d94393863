"""What a catalog did, as effects on a realm: new entities with their owners, and what is gone.

They are made after the catalog has done it, by a guard or a gateway in front of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from lakewarden.kernel.statement import Condition, Criterion, On, Where
from lakewarden.service.effect import Effect
from lakewarden.service.state import RealmState


def creation(state: RealmState, entity: Entity, owner: Principal) -> Iterator[Effect]:
    """A new entity with its owner; nothing for what is stored, or what lies in nothing stored."""
    parent = state.system.spelling.parent(entity)
    if not is_stored(state, entity) and is_stored(state, parent):
        yield EntityAdded(entity, parent)
        yield OwnerChanged(OwnerRow(entity, owner), True)


def drop(state: RealmState, entity: Entity) -> Iterator[Effect]:
    """The end of an entity that is stored."""
    if is_stored(state, entity):
        yield EntityDropped(entity)


def is_stored(state: RealmState, entity: Entity | None) -> bool:
    """Whether there is such an entity."""
    tree = state.matrix.snapshot.coded.tree
    id = None if entity is None else tree.find(entity)
    return id is not None and id in tree.stored


def renaming(state: RealmState, source: Entity, target: Entity) -> Iterator[Effect]:
    """The entity and all below it by their new names, with the statements that name them.

    These are statements on what is not stored, and those that choose by a name; what statements lie
    on that is stored they follow by themselves.
    """
    snapshot = state.matrix.snapshot
    coded = snapshot.coded

    def renamed(name: str) -> str:
        return target.name + name[len(source.name) :]

    for statement in snapshot.table.statements.values():
        scope = statement.scope
        if isinstance(scope, Where):
            chosen = renamed_scope(state, scope, source, renamed)
            if chosen != scope:
                yield StatementAdded(replace(statement, scope=chosen))
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


def renamed_scope(
    state: RealmState, scope: Where, source: Entity, renamed: Callable[[str], str]
) -> Where:
    """The criteria with the names of `source` and of what lies in it as `renamed` has them.

    A mask by a tag is not lost with the name of the tag. The beginning of a name stays as it is,
    unless all that begins so lies in `source`; that of `lk` is one of `lk2`, too, and counts twice.
    """
    coded = state.matrix.snapshot.coded
    model = coded.model

    def anew(criterion: Criterion) -> Criterion:
        origins = model.fields[criterion.field].origin
        types = {
            type
            for kind in origins
            if kind in model.relations
            for type in model.relations[kind].targets
        }

        def values_anew(value: str) -> tuple[str, ...]:
            begins = criterion.condition is Condition.STARTS_WITH
            named = [Entity(type, value) for type in types]
            if any(source in coded.ancestors(one) for one in named):
                new = renamed(value)
                return (value, new) if begins and value == source.name else (new,)
            return (renamed(value) if source in named and not begins else value,)

        values = (new for value in criterion.values for new in values_anew(value))
        return replace(criterion, values=tuple(dict.fromkeys(values)))

    return Where(tuple(map(anew, scope.criteria)))
