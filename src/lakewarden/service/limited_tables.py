"""The tables on which a row filter or a column mask may apply to some user."""

from __future__ import annotations

from collections.abc import Iterator

from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement import OBLIGING, Effect, Matching, On, Where


def newly_limited_tables(later: Snapshot, now: Snapshot) -> BitMap:
    """The tables on which filters or masks of `later` may apply; only those not in another `now`.

    A mask by wildcards may apply to columns that are not stored, so it touches every table.
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
                found |= BitMap(_possible_containers(later, scope.entity))
    return found & tables


def _possible_containers(snapshot: Snapshot, anchor: Entity) -> Iterator[int]:
    """The possible containers of an anchor's columns: its ancestors, and entities of the same name.

    The columns of a view are named like those of a table.
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
