"""The changes that a drop or a rename implies, as changes of their own.

`incremental_compile.apply` applies a drop with everything it implies. A store that keeps the rows
elsewhere needs each change: `steps` lists them, and applying the steps gives the same state.
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
    """The change as steps, each of which touches the rows of only one entity or statement.

    A step that drops an entity stands for its own row, attributes, owners and relations *from*
    it; a step that renames it, for every row that names it. Entities below come before their
    ancestors. A change that does not cascade, or is about an entity that is not stored, is its own
    step.
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
    """The steps of several drops together: the steps of each, with every entity once.

    A drop of an entity that is not stored is its own step, after the others.
    """
    tree = snapshot.coded.tree
    known = BitMap()
    missing: list[Change] = []
    for change in dict.fromkeys(changes):
        id = tree.find(change.entity)
        if id is None or id not in tree.stored:
            missing.append(change)
        else:
            known.add(id)
    return (*_dropped(snapshot, known), *missing)


def _dropped(snapshot: Snapshot, dropped: BitMap) -> Iterator[Change]:
    model, tree = snapshot.coded.model, snapshot.coded.tree
    removed = BitMap()
    for id in dropped:
        is_judged = model.judged(tree.entity(id).type)
        removed |= BitMap([id]) if is_judged else tree.below(tree.cycle(id)) & tree.stored
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
    """The statements without the implied ones, which follow their entities automatically."""
    statements = snapshot.table.statements
    return (one for one in statements.values() if not is_implied(one))


def _edges_into(snapshot: Snapshot, removed: BitMap) -> Iterator[Change]:
    """The edges from remaining entities to removed ones."""
    tree = snapshot.coded.tree
    for kind, edges in snapshot.coded.relations.items():
        for source in edges.sources_of(removed) - removed:
            for target, _ in edges.of(source):
                if target in removed:
                    row = RelationRow(kind, tree.entity(source), tree.entity(target))
                    yield RelationChanged(row, False)
