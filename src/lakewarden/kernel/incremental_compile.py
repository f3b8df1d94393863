"""From one snapshot to the next: a change rebuilds only what it affects.

The result answers exactly as a snapshot compiled from the changed rows would.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from pyroaring import BitMap

from lakewarden.kernel.blocks import Stored
from lakewarden.kernel.change import Change
from lakewarden.kernel.changed_rows import ChangedRows
from lakewarden.kernel.classes import Partition, partition, reclassified
from lakewarden.kernel.facts import Coded, rows_of
from lakewarden.kernel.grants import Table, affected_privileges, changed, interval
from lakewarden.kernel.matrix import Matrix, Plan, StillHolds
from lakewarden.kernel.scopes import match
from lakewarden.kernel.snapshot import CLASS_LIMIT, Snapshot, compile, decisions
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.subject import RoleSets, Subject

DISPLACED_LIMIT = 4_096
"""With more entities than this out of their numbered place, all are numbered again."""

GROWTH_LIMIT: Final = 4_096
"""With more new scopes than this beyond twice those compiled, or more classes of rematched
entities, everything is compiled again, which drops what is unused.
"""


def apply(matrix: Matrix, changes: Iterable[Change], *, now: float, revision: int) -> Matrix:
    """The matrix after `changes`, in order, for the interval around `now`.

    Without changes: the same facts, for the interval around `now`. Raises `Unknown`
    for an entity or statement that is not stored, `Conflict` for one that already exists,
    `BadInput` for what the model does not declare and what would close a cycle,
    `LimitExceeded` for what would be nested too deep; the given matrix is never modified.
    """
    rows = ChangedRows(matrix.snapshot)
    for change in changes:
        rows.apply(change)
    rows.refuse_depth()
    if len(rows.coded.tree.displaced) > DISPLACED_LIMIT or _is_overgrown(matrix.snapshot):
        return matrix.replaced(renumbered(rows.coded, rows.statements, now, revision))
    return _Rebuild(matrix, rows).matrix(now, revision)


def _is_overgrown(snapshot: Snapshot) -> bool:
    """Whether changes added so much that much of it may be unused by now.

    COST: 60 µs with the maximum number of classes.
    """
    table, classes = snapshot.table, snapshot.classes
    unmet = 0 if classes is None else classes.origin.count(-1)
    return max(unmet, len(table.scopes) - 2 * table.compiled) > GROWTH_LIMIT


class _Rebuild:
    """The next snapshot and matrix, from the previous ones and the changed rows."""

    def __init__(self, matrix: Matrix, rows: ChangedRows) -> None:
        self._matrix = matrix
        self._before = matrix.snapshot
        self._rows = rows
        self._coded = rows.coded
        self._stale = stale = rows.stale
        self._all_are_unchanged = not (stale.everybody or stale.lineages or stale.principals)

    def matrix(self, now: float, revision: int) -> Matrix:
        """The matrix over the next snapshot, with every row that is still valid."""
        table, removed, added = self._table(now)
        block = Stored(self._coded)
        bitmaps = self._bitmaps(table, block)
        snapshot = Snapshot(
            coded=self._coded,
            table=table,
            block=block,
            bitmaps=bitmaps,
            classes=self._split(self._before.classes, range(len(bitmaps)), bitmaps),
            owned_by=self._rows.owned_by,
            revision=revision,
            decisions=decisions(revision),
        )
        named_in = _NamedInStatements.of(self._coded, (*removed, *added))
        self._reuse_memos(snapshot, named_in)
        return self._matrix.with_valid_rows(
            snapshot,
            lambda plan: self._row_check(plan, named_in),
            moved=bool(self._stale.matches),
        )

    def _table(self, now: float) -> tuple[Table, list[Statement], list[Statement]]:
        """The statements in force at `now`; those no longer in force, and those newly in force."""
        before, statements = self._before.table, self._rows.statements
        ids = set(self._stale.statements)
        if not before.start <= now < before.end:
            ids |= {s.id for s in statements.values() if _is_timed(s)}
        removed = [before.statements[i] for i in sorted(ids) if before.in_force(i)]
        added = [statements[i] for i in sorted(ids) if i in statements]
        added = [statement for statement in added if statement.applies(now)]
        table = changed(before, statements, removed, added, self._coded.memberships)
        start, end = self._interval(now)
        return replace(table, start=start, end=end, moment=now), removed, added

    def _interval(self, now: float) -> tuple[float, float]:
        """The interval around `now`: the previous one, unless a time limit was added or removed."""
        before = self._before.table
        sides = (before.statements, self._rows.statements)
        changed = (side[id] for id in self._stale.statements for side in sides if id in side)
        if before.start <= now < before.end and not any(map(_is_timed, changed)):
            return before.start, before.end
        return interval(self._rows.statements.values(), now)

    def _bitmaps(self, table: Table, block: Stored) -> tuple[BitMap, ...]:
        before, stale = self._before.bitmaps, self._stale.matches
        if stale:
            again = match(Stored(self._coded, stale), table.scopes[: len(before)])
            before = tuple(
                (old - stale) | new if (old & stale) != new else old
                for old, new in zip(before, again, strict=True)
            )
        return (*before, *match(block, table.scopes[len(before) :]))

    def _split(
        self, classes: Partition | None, scopes: Iterable[int], bitmaps: tuple[BitMap, ...]
    ) -> Partition | None:
        """The classes after the changes, over `scopes`; None if there are none or too many."""
        size = len(self._coded.tree)
        if classes is not None and self._stale.matches:
            old = {number: bitmaps[number] for number in classes.scopes}
            classes = reclassified(classes, size, self._stale.matches, old, CLASS_LIMIT)
        if classes is None:
            return None
        new = {n: bitmaps[n] for n in sorted(scopes) if n not in classes.scopes}
        return partition(size, new, CLASS_LIMIT, classes) if new else classes

    def _row_check(self, plan: Plan, named_in: _NamedInStatements) -> StillHolds | None:
        """The test whether a subject's row of the plan is still valid; None: all are."""
        named = named_in.principals
        if plan.shape.privileges.isdisjoint(named_in.privileges):
            return None if self._all_are_unchanged else self._is_unchanged
        if named_in.owners:
            return lambda _: False
        if self._all_are_unchanged:
            return lambda subject: subject.deny.isdisjoint(named)
        return lambda subject: subject.deny.isdisjoint(named) and self._is_unchanged(subject)

    def _is_unchanged(self, subject: Subject) -> bool:
        """Whether the subject's memberships and owned entities are unchanged."""
        if self._stale.everybody or subject.owned.intersect(self._stale.lineages):
            return False
        id = self._coded.memberships.ids.get(subject.principal)
        return id is None or id not in self._stale.principals

    def _reuse_memos(self, snapshot: Snapshot, named_in: _NamedInStatements) -> None:
        old, new = self._before.memos, snapshot.memos
        subjects = new.subjects = old.subjects.copy()
        if not self._all_are_unchanged:
            new.subjects = {p: s for p, s in subjects.items() if self._is_unchanged(s)}
        named = snapshot.table.named - self._before.table.named
        if named:
            kept = new.subjects.items()
            new.subjects = {p: s for p, s in kept if s.deny.isdisjoint(named)}
        for privileges, classes in list(old.partitions.items()):
            scopes = snapshot.table.scopes_of(privileges)
            new.partitions[privileges] = self._split(classes, scopes, snapshot.bitmaps)
        if snapshot.coded.tree is self._before.coded.tree:
            new.paths, new.types, new.entities = old.paths, old.types, old.entities
        if snapshot.classes is self._before.classes and not self._stale.matches:
            # Other threads use the old memos: there may be new cells over classes not seen above.
            same = {p for p, classes in new.partitions.items() if classes is old.partitions.get(p)}
            left = self._released_role_sets(subjects.values(), new.subjects.values())
            holding = {
                key: cells
                for key, cells in old.cells.copy().items()
                if (key[3] is None or key[3] in same)
                and key[0] not in named_in.privileges
                and not (left and key[1:3] in left)
            }
            new.reuse_cells(old, holding, one_partition=snapshot.classes is not None)

    def _released_role_sets(
        self, before: Iterable[Subject], after: Iterable[Subject]
    ) -> set[RoleSets]:
        """The former role sets of principals with changed memberships, if nobody else has them."""
        ids, changed = self._coded.memberships.ids, self._stale.principals
        left = {subject.key for subject in before if ids.get(subject.principal) in changed}
        return left.difference(subject.key for subject in after) if left else left


@dataclass(frozen=True, slots=True)
class _NamedInStatements:
    """The privileges and principals that some statements name; `owners`: some name owners."""

    privileges: frozenset[str]
    principals: frozenset[int]
    owners: bool

    @staticmethod
    def of(coded: Coded, statements: Iterable[Statement]) -> _NamedInStatements:
        changed = list(statements)
        privileges = [affected_privileges(statement, coded.model) for statement in changed]
        principals = {coded.memberships.ids[p] for s in changed for p in s.principals}
        return _NamedInStatements(
            frozenset().union(*privileges),
            frozenset(principals),
            any(statement.owners is not None for statement in changed),
        )


def _is_timed(statement: Statement) -> bool:
    return statement.valid_from is not None or statement.valid_until is not None


def renumbered(
    coded: Coded, statements: Mapping[str, Statement], now: float, revision: int
) -> Snapshot:
    """The same facts, with every entity numbered again in preorder."""
    return compile(
        rows_of(coded, statements), coded.model, coded.spelling, now=now, revision=revision
    )
