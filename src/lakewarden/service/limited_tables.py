"""The tables on which a row filter or a column mask may bind somebody."""

from __future__ import annotations

from collections.abc import Iterator

from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement import OBLIGING, Effect, Matching, On, Where


def touched(later: Snapshot, now: Snapshot) -> BitMap:
    """The tables on which a filter or a mask of `later` may bind; given two, of those it has more.

    A mask by wildcards may bind columns that are not stored, so that it touches every table.
    """
    known = (
        set()
        if later is now
        else {grant.statement.id for effect in OBLIGING for grant in now.table.obligations(effect)}
    )
    tree, types = later.coded.tree, later.model.types
    tables = BitMap.union(
        BitMap(), *(later.of_type(name) for name, type in types.items() if type.filtered)
    )
    found = BitMap()
    for effect in OBLIGING:
        for grant in later.table.obligations(effect):
            scope = grant.statement.scope
            if grant.statement.id in known:
                continue
            if isinstance(scope, (Matching, Where)) and effect is Effect.MASK:
                return tables
            reached = later.bitmaps[grant.scope]
            found |= reached | BitMap([int(tree.parents[id]) for id in reached - tables
                                       if tree.parents[id] >= 0])  # fmt: skip
            if isinstance(scope, On):
                found |= BitMap(_holding(later, scope.entity))
    return found & tables


def _holding(snapshot: Snapshot, anchor: Entity) -> Iterator[int]:
    """What may hold the columns of an anchor: what it lies in, and what has the name of that.

    A column of a view is named like one of a table.
    """
    coded = snapshot.coded
    id = coded.tree.find(anchor)
    if id is not None:
        yield from (id, *coded.tree.ancestors(id))
    names = [anchor.name, *(above.name for above in coded.ancestors(anchor))]
    for type, declared in snapshot.model.types.items():
        for name in names if declared.filtered else ():
            same = coded.tree.find(Entity(type, name))
            if same is not None:
                yield same
