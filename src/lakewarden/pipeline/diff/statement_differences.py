"""The statements that differ between two sides with the same entities, and where they lie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from pyroaring import BitMap

from lakewarden.kernel.facts import ROOT
from lakewarden.kernel.grants import Grant
from lakewarden.kernel.scopes import Reaching
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.pipeline.diff.entity_signature import grant_key, levels, unlimited_partition
from lakewarden.pipeline.diff.part import StatementIds
from lakewarden.pipeline.diff.user_numbering import UserNumbering
from lakewarden.pipeline.review.column import Codes, joined


def entities_by_privilege(
    snapshots: tuple[Snapshot, Snapshot], numberings: tuple[UserNumbering, UserNumbering]
) -> dict[str, BitMap]:
    """By privilege: the entities in the scopes of grants that only one side has."""
    before, after = (_scopes_by_grant(*side) for side in zip(snapshots, numberings, strict=True))
    entities: dict[str, BitMap] = {}
    for here, there, snapshot in ((before, after, snapshots[0]), (after, before, snapshots[1])):
        for key in here.keys() - there.keys():
            _, (privilege, *_) = key
            entities.setdefault(privilege, BitMap()).update(snapshot.bitmaps[here[key]])
    return entities


def _scopes_by_grant(
    snapshot: Snapshot, numbering: UserNumbering
) -> dict[tuple[Reaching, tuple[str, ...]], int]:
    """The number of the scope of each grant, by the scope itself and what it gives to whom."""
    scopes = snapshot.table.scopes
    return {
        (scopes[grant.scope], grant_key(privilege, grant, numbering)): grant.scope
        for privilege, grant in _grants(snapshot)
    }


def _grants(snapshot: Snapshot) -> Iterator[tuple[str, Grant]]:
    for side in (snapshot.table.allow, snapshot.table.deny):
        for privilege, grouped in side.items():
            for grant in grouped.every:
                yield privilege, grant


class StatementPlaces:
    """Which of the differing statements lie on, above, or at what is related to an entity.

    `same` are the ids of the statements that do not differ.
    """

    def __init__(self, snapshots: tuple[Snapshot, Snapshot], same: Iterable[str]) -> None:
        self._tree = snapshots[0].coded.tree
        self._relations = snapshots[0].coded.relations
        self._ids: list[tuple[int, str]] = []
        self._scopes: list[BitMap] = []
        known = frozenset(same)
        for side, snapshot in enumerate(snapshots):
            places = {(g.statement.id, g.scope) for _, g in _grants(snapshot)}
            for id, scope in sorted(places):
                if id not in known:
                    self._ids.append((side, id))
                    self._scopes.append(snapshot.bitmaps[scope])
        self._known: dict[frozenset[int], StatementIds] = {}
        self.codes, self._sets = self._numbered()

    def __len__(self) -> int:
        return len(self._sets)

    def __getitem__(self, code: int) -> StatementIds:
        """The statements of both sides at the entities with this code."""
        scopes = self._sets[code]
        statement_ids = self._known.get(scopes)
        if statement_ids is None:
            sides: tuple[set[str], set[str]] = set(), set()
            for scope in scopes:
                side, id = self._ids[scope]
                sides[side].add(id)
            before, after = (tuple(sorted(ids)) for ids in sides)
            statement_ids = self._known[scopes] = before, after
        return statement_ids

    def _numbered(self) -> tuple[Codes, list[frozenset[int]]]:
        """A code for each entity, and the scopes of each code."""
        size = len(self._tree)
        classes = unlimited_partition(size, dict(enumerate(self._scopes)))
        inside = [frozenset(scopes) for scopes in classes.inside]
        own = classes.classes.astype(np.int64)
        chains, chain_sets = self._with_ancestors(own, inside)
        related, related_sets = self._related(own, inside)
        codes, stands = joined([(chains, len(chain_sets)), (related, len(related_sets))])
        everywhere = inside[int(own[ROOT])]
        sets = [chain_sets[a] | related_sets[b] | everywhere for a, b in stands.tolist()]
        return codes, sets

    def _with_ancestors(
        self, own: Codes, inside: list[frozenset[int]]
    ) -> tuple[Codes, list[frozenset[int]]]:
        """Level by level: the scopes of an entity, and of all its ancestors."""
        above = self._tree.above
        numbers = np.full(len(above), -1, dtype=np.int64)
        sets: list[frozenset[int]] = []
        known: dict[frozenset[int], int] = {}
        for ids in levels(above):
            up = above[ids]
            parents = np.where(up >= 0, numbers[up], -1) + 1
            codes, stands = joined([(own[ids], len(inside)), (parents, len(sets) + 1)])
            found = []
            for code, parent in stands.tolist():
                scopes = inside[code] | (sets[parent - 1] if parent else frozenset())
                number = known.setdefault(scopes, len(sets))
                if number == len(sets):
                    sets.append(scopes)
                found.append(number)
            numbers[ids] = np.array(found, dtype=np.int64)[codes]
        return numbers, sets

    def _related(
        self, own: Codes, inside: list[frozenset[int]]
    ) -> tuple[Codes, list[frozenset[int]]]:
        """The scopes of what an entity is related to."""
        matters = np.array([bool(scopes) for scopes in inside], dtype=bool)
        everything = np.arange(len(self._tree), dtype=np.int32)
        scopes_by_id: dict[int, set[int]] = {}
        for edges in self._relations.values():
            sources, targets, _ = edges.flat(everything)
            chosen = matters[own[targets]]
            of_targets = own[targets[chosen]].tolist()
            for source, code in zip(sources[chosen].tolist(), of_targets, strict=True):
                scopes_by_id.setdefault(source, set()).update(inside[code])
        codes = np.zeros(len(everything), dtype=np.int64)
        numbers: dict[frozenset[int], int] = {frozenset(): 0}
        for id, scopes in scopes_by_id.items():
            codes[id] = numbers.setdefault(frozenset(scopes), len(numbers))
        return codes, list(numbers)
