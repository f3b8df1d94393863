"""What a statement reaches at an entity or inside it, stored or only mentioned."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.kernel.blocks import named_like
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.grants import Grant
from lakewarden.kernel.named_place import NamedPlace
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement import Matching, On


def reached_inside(snapshot: Snapshot, grant: Grant, target: Entity) -> Iterator[int | NamedPlace]:
    """The places at the target or inside it that the grant's scope contains.

    An entity that is not stored counts if the statement names it. If only its wildcards could match
    something inside, the place is that of the target. A place may be repeated.
    """
    yield from _reached(snapshot, grant, target)
    for other in namesakes(snapshot, target):
        place = snapshot.place(other)
        yield from (one for one in _reached(snapshot, grant, other) if one != place)


def namesakes(snapshot: Snapshot, target: Entity) -> Iterator[Entity]:
    """Other types of entities with rows under the target's name: a view's columns are a table's.

    They need not be stored. Empty if the target has no rows.
    """
    types = snapshot.model.types
    declared = types.get(target.type)
    if declared is not None and declared.filtered:
        for name, type in types.items():
            if type.filtered and name != target.type:
                yield Entity(name, target.name)


def _reached(snapshot: Snapshot, grant: Grant, target: Entity) -> Iterator[int | NamedPlace]:
    place, scope = snapshot.place(target), grant.statement.scope
    if isinstance(place, NamedPlace):
        if place.lies_in(grant.scope):
            yield place
    else:
        yield from snapshot.bitmaps[grant.scope] & snapshot.coded.tree.subtree(place)
    if isinstance(scope, On) and target in snapshot.coded.ancestors(scope.entity):
        yield snapshot.place(scope.entity)
    if isinstance(scope, Matching) and may_match_inside(snapshot, scope, target):
        yield place


def may_match_inside(snapshot: Snapshot, scope: Matching, target: Entity) -> bool:
    """Whether something inside the target could have a name that the wildcards match."""
    spelling = snapshot.coded.spelling
    inside = len(scope.parts) > len(spelling.parts(target))
    return inside and named_like(spelling, target, scope.type, scope.parts)
