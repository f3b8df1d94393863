"""What goes along with a drop or a rename, as changes of their own.

`change.apply` takes a drop with everything that goes with it. Whoever keeps the rows elsewhere
needs each of them: `steps` lists them, and applying the steps gives the same state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from pyroaring import BitMap

from lakewarden.kernel.change import (
    Change,
    EntityDropped,
    EntityRenamed,
    RelationChanged,
    StatementAdded,
    StatementRemoved,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.implied import is_implied
from lakewarden.kernel.relations import RelationRow
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement import On, Statement


def steps(snapshot: Snapshot, change: Change) -> tuple[Change, ...]:
    """The change as steps of which each touches the rows of one entity or statement alone.

    A step that drops an entity stands for its own row, attributes, owners and relations *from*
    it; one that renames it, for every row that names it. Whatever is below comes before what
    it lies in. A change that does not spread, or is about what is not stored, is its own step.
    """
    match change:
        case EntityDropped():
            return drops(snapshot, [change])
        case EntityRenamed(entity, name) if snapshot.coded.is_known(entity):
            renamed = On(Entity(entity.type, name))
            follow = (
                StatementAdded(replace(statement, scope=renamed))
                for statement in snapshot.anchored(entity)
                if not is_implied(statement)
            )
            return (change, *follow)
        case _:
            return (change,)


def drops(snapshot: Snapshot, changes: Iterable[EntityDropped]) -> tuple[Change, ...]:
    """The steps of several drops together: what each would remove, every entity once.

    A drop of what is not stored is its own step, behind the others.
    """
    entities = list(dict.fromkeys(change.entity for change in changes))
    known = [entity for entity in entities if snapshot.coded.is_known(entity)]
    missing = (EntityDropped(entity) for entity in entities if not snapshot.coded.is_known(entity))
    return (*_dropped(snapshot, known), *missing)


def _dropped(snapshot: Snapshot, dropped: Iterable[Entity]) -> Iterator[Change]:
    model, tree = snapshot.coded.model, snapshot.coded.tree
    removed = BitMap()
    for entity in dropped:
        id = tree.find(entity)
        assert id is not None  # noqa: S101 — INVARIANT: called for stored entities
        removed |= (
            BitMap([id]) if model.judged(entity.type) else tree.below(tree.cycle(id)) & tree.stored
        )
    entities = [tree.entity(other) for other in sorted(removed, key=lambda x: -_depth(snapshot, x))]
    if model.binds_identity:
        gone = set(entities)
        for statement in _stated(snapshot):
            if statement.falls_with(gone):
                yield StatementRemoved(statement.id)
        yield from _edges_into(snapshot, removed)
    yield from map(EntityDropped, entities)


def _depth(snapshot: Snapshot, id: int) -> int:
    return sum(1 for _ in snapshot.coded.tree.ancestors(id))


def _stated(snapshot: Snapshot) -> Iterator[Statement]:
    """The statements without those that follow from entities, which go and come by themselves."""
    statements = snapshot.table.statements
    return (one for one in statements.values() if not is_implied(one))


def _edges_into(snapshot: Snapshot, removed: BitMap) -> Iterator[Change]:
    """The edges that lead from what stays to what goes."""
    tree = snapshot.coded.tree
    for kind, edges in snapshot.coded.relations.items():
        for source in edges.sources_of(removed) - removed:
            for target, _ in edges.of(source):
                if target in removed:
                    row = RelationRow(kind, tree.entity(source), tree.entity(target))
                    yield RelationChanged(row, False)
