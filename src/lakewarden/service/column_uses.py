"""Filters and masks that need a column; checked before the column is dropped."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pyroaring import BitMap

from lakewarden.analysis.table_columns import columns_read
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.grants import Grant
from lakewarden.kernel.reached_inside import reached_inside
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement import OBLIGING, Matching, On, Statement


def column_dependents(
    snapshot: Snapshot, table: Entity, dropped: Collection[Entity], names: Collection[str]
) -> list[str]:
    """The ids of the filters and masks in force that need a column of the stored table, sorted.

    `dropped` are columns to drop: a mask on one of them would have no target, and the tags by which
    a mask selects are dropped too. `names` are names that no column or another column will have: an
    expression that reads one would change or lose its meaning.
    """
    return sorted(grant.statement.id for grant in _dependents(snapshot, table, dropped, names))


def _dependents(
    snapshot: Snapshot, table: Entity, dropped: Collection[Entity], names: Collection[str]
) -> Iterator[Grant]:
    tree = snapshot.coded.tree
    gone = BitMap([found for one in dropped if (found := tree.find(one)) is not None])
    for effect in OBLIGING:
        for grant in snapshot.table.obligations(effect):
            is_tied = _is_column_bound(snapshot, grant, dropped, gone)
            if is_tied or (_reads(grant.statement, names) and _reaches(snapshot, grant, table)):
                yield grant


def _reaches(snapshot: Snapshot, grant: Grant, table: Entity) -> bool:
    """Whether the table or something inside it is in the statement's scope."""
    return any(True for _ in reached_inside(snapshot, grant, table))


def _is_column_bound(
    snapshot: Snapshot, grant: Grant, columns: Collection[Entity], stored: BitMap
) -> bool:
    """Whether the statement is bound to the columns themselves, or to facts about stored ones."""
    scope = grant.statement.scope
    if isinstance(scope, On):
        return scope.entity in columns
    reached = snapshot.bitmaps[grant.scope]
    return not isinstance(scope, Matching) and not reached.isdisjoint(stored)


def _reads(statement: Statement, names: Collection[str]) -> bool:
    try:
        return not columns_read(statement).isdisjoint(names)
    except BadInput:  # it denies or hides already
        return False
