"""Effects of a catalog's changes on a realm: new entities with their owners, and dropped ones.

They are recorded after the catalog has made the change, by a guard or a gateway in front of it.
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
    """A new entity with its owner; nothing if it is stored, or if its parent is not stored."""
    parent = state.system.spelling.parent(entity)
    if not is_stored(state, entity) and is_stored(state, parent):
        yield EntityAdded(entity, parent)
        yield OwnerChanged(OwnerRow(entity, owner), True)


def drop(state: RealmState, entity: Entity) -> Iterator[Effect]:
    """The removal of an entity that is stored."""
    if is_stored(state, entity):
        yield EntityDropped(entity)


def is_stored(state: RealmState, entity: Entity | None) -> bool:
    """Whether the entity is stored."""
    tree = state.matrix.snapshot.coded.tree
    id = None if entity is None else tree.find(entity)
    return id is not None and id in tree.stored


def renaming(state: RealmState, source: Entity, target: Entity) -> Iterator[Effect]:
    """Renames the entity and everything below it, and the statements that name them.

    These are statements on entities that are not stored, and statements with criteria on names.
    Statements on stored entities follow the entities automatically.
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
    """The criteria after the renaming of `source` and its descendants by `renamed`.

    A mask by a tag is kept when the tag is renamed. The prefix of a name stays unchanged, unless
    all names with it are in `source`; the prefix `lk` also matches `lk2`, so both are kept.
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
