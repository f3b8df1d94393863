"""On how many entities of groups somebody is let in at most by owning, or being, anything.

What is said of a group is much alike from one question to the next, and who owns what in it is
the same for all of them. So owners are counted once, by group and by the conditions they meet.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lakewarden.pipeline.review.column import Codes, Column
from lakewarden.pipeline.review.group_bounds import Atoms, Groups
from lakewarden.pipeline.review.ownership_access import Clause, Owning, Standing, clause_of
from lakewarden.pipeline.review.residue import NOBODY, Itself, Owned, Residues


class OwnershipBounds:
    """Counts, over the groups of one type, whom owning or being any of their entities lets in."""

    def __init__(self, owning: Owning, residues: Residues, groups: Groups) -> None:
        self._owning = owning
        self._residues = residues
        self._groups = groups
        self._known: dict[tuple[Clause, ...], list[Standing]] = {}

    def gains(self, atoms: Sequence[Atoms]) -> Codes:
        """For each principal, on how many entities it may be let in; `atoms` of each group."""
        plain: list[frozenset[Clause]] = []
        named: list[int] = []
        for found in atoms:
            own = [self._residues.number(atom) for atom in found]
            number = self._residues.any_of(n for n in own if self._residues.is_own(n))
            leaves = self._residues.leaves(number)
            is_plain = number == NOBODY or all(isinstance(x, Owned | Itself) for x in leaves)
            clauses = (clause_of(x) for x in leaves if isinstance(x, Owned | Itself))
            plain.append(frozenset(clauses) if is_plain else frozenset())
            named.append(NOBODY if is_plain else number)
        column = Column(self._groups.codes, tuple(named))
        return self._owning.gains(column, self._groups.ids) + self._by_clauses(plain)

    def _by_clauses(self, asked: Sequence[frozenset[Clause]]) -> Codes:
        """The same where each group lets in whoever meets any of its clauses."""
        counts = np.zeros(self._owning.size, dtype=np.int64)
        wanted_at_all = frozenset[Clause]().union(*asked)
        if not wanted_at_all:
            return counts
        clauses, standing = self._standing(wanted_at_all)
        bits = {clause: 1 << place for place, clause in enumerate(clauses)}
        masks = [sum(map(bits.__getitem__, of)) for of in asked]
        distinct, wanted = np.unique(masks, return_inverse=True)
        for owners in standing:
            # Who met any of them by a part before was counted there.
            opened = [
                [bool(after & mask) and not before & mask for mask in distinct.tolist()]
                for after, before in owners.masks
            ]
            table = np.array(opened, dtype=bool).reshape(len(opened), len(distinct))
            kept = np.flatnonzero(table[owners.turns, wanted.reshape(-1)[owners.groups]])
            # Sums of whole numbers stay exact in the floats that are counted in.
            found = np.bincount(owners.users[kept], owners.counts[kept], len(counts))
            counts += found.astype(np.int64)
        return counts

    def _standing(self, wanted: frozenset[Clause]) -> tuple[tuple[Clause, ...], list[Standing]]:
        """Who meets which of some clauses, the wanted ones among them."""
        for clauses, found in self._known.items():
            if wanted.issubset(clauses):
                return clauses, found
        groups, clauses = self._groups, tuple(sorted(wanted.union(*self._known), key=repr))
        found = list(self._owning.standing(clauses, groups.codes, len(groups), groups.ids))
        self._known[clauses] = found
        return clauses, found
