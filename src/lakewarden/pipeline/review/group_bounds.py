"""Groups of entities, those of one type that lie in one container, and bounds for who is allowed.

What is said of a group is much alike from one question to the next, and who owns what in it is
the same for all of them. So owners are counted once, by group and by the conditions they meet.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.expression import Node
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.pipeline.review.column import Codes, Column
from lakewarden.pipeline.review.ownership_access import Clause, Owning, Standing, clause_of
from lakewarden.pipeline.review.residue import (
    DIGEST_BYTES,
    NOBODY,
    Itself,
    Owned,
    Residue,
    Residues,
)

Ids = NDArray[np.int32]
Atoms = frozenset[Residue]


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Entities of one type, and in which group each is.

    `codes` are those of `ids`, `names` the containers of groups (None: what lies in nothing);
    `order` has the places of the entities group by group, as they are to be asked, those of
    group g from `starts[g]` to before `starts[g + 1]`.
    """

    type: str
    ids: Ids
    codes: Codes
    names: tuple[str | None, ...]
    order: Codes
    starts: Codes
    known: dict[Node, Sides] = field(default_factory=dict)
    touched: dict[int, tuple[Codes, NDArray[np.bool_]]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.names)


class Sides(NamedTuple):
    """For each group: users allowed on any of its entities at least, and at most; and on all.

    `atoms` are what is said there.
    """

    some: Sequence[BitMap]
    upper: Sequence[BitMap]
    every: Sequence[BitMap]
    atoms: Sequence[Atoms]


def digest_of(type: str, container: str | None) -> bytes:
    """Identifies the group, in any version."""
    text = json.dumps([type, container], ensure_ascii=False)
    return blake2b(text.encode(), digest_size=DIGEST_BYTES, person=b"group").digest()


def groups_of(
    snapshot: Snapshot, type: str, ids: Ids, codes: Codes, names: Sequence[str | None]
) -> Groups:
    """The groups of entities of one type, by codes and names of what they lie in."""
    scopes = np.zeros(len(snapshot.coded.tree), dtype=np.int64)
    for bits in snapshot.bitmaps:
        scopes[np.asarray(bits.to_array())] += 1
    starts = np.zeros(len(names) + 1, dtype=np.int64)
    np.cumsum(np.bincount(codes, minlength=len(names)), out=starts[1:])
    return Groups(type, ids, codes, tuple(names), np.lexsort((scopes[ids], codes)), starts)


def either(first: Sides, second: Sides) -> Sides:
    """Bounds for whom one of two allows."""
    return Sides(
        [a | b for a, b in zip(first.some, second.some, strict=True)],
        [a | b for a, b in zip(first.upper, second.upper, strict=True)],
        [a | b for a, b in zip(first.every, second.every, strict=True)],
        [a | b for a, b in zip(first.atoms, second.atoms, strict=True)],
    )


def both(first: Sides, second: Sides) -> Sides:
    """Bounds for whom both of two allow."""
    # Both allow somebody on one entity where one of them allows it on all of them.
    some = [
        (a & d) | (b & c)
        for a, b, c, d in zip(first.some, first.every, second.some, second.every, strict=True)
    ]
    return Sides(
        some,
        [a & b for a, b in zip(first.upper, second.upper, strict=True)],
        [a & b for a, b in zip(first.every, second.every, strict=True)],
        [a | b for a, b in zip(first.atoms, second.atoms, strict=True)],
    )


class OwnershipBounds:
    """Counts, over the groups of one type, whom owning or being any of their entities allows."""

    def __init__(self, owning: Owning, residues: Residues, groups: Groups) -> None:
        self._owning = owning
        self._residues = residues
        self._groups = groups
        self._known: dict[tuple[Clause, ...], list[Standing]] = {}

    def gains(self, atoms: Sequence[Atoms]) -> Codes:
        """For each principal, on how many entities it may be allowed; `atoms` of each group."""
        plain: list[frozenset[Clause]] = []
        named: list[int] = []
        for of_class in atoms:
            own = [self._residues.number(atom) for atom in of_class]
            number = self._residues.any_of(n for n in own if self._residues.is_own(n))
            leaves = self._residues.leaves(number)
            is_plain = number == NOBODY or all(isinstance(x, Owned | Itself) for x in leaves)
            clauses = (clause_of(x) for x in leaves if isinstance(x, Owned | Itself))
            plain.append(frozenset(clauses) if is_plain else frozenset())
            named.append(NOBODY if is_plain else number)
        column = Column(self._groups.codes, tuple(named))
        return self._owning.gains(column, self._groups.ids) + self._by_clauses(plain)

    def _by_clauses(self, clause_sets: Sequence[frozenset[Clause]]) -> Codes:
        """The same where each group allows whoever meets any of its clauses."""
        counts = np.zeros(self._owning.size, dtype=np.int64)
        wanted_at_all = frozenset[Clause]().union(*clause_sets)
        if not wanted_at_all:
            return counts
        clauses, standing = self._standing(wanted_at_all)
        bits = {clause: 1 << place for place, clause in enumerate(clauses)}
        masks = [sum(map(bits.__getitem__, of)) for of in clause_sets]
        distinct, mask_codes = np.unique(masks, return_inverse=True)
        for owners in standing:
            # Who met any of them by a part before was counted there.
            opened = [
                [bool(after & mask) and not before & mask for mask in distinct.tolist()]
                for after, before in owners.masks
            ]
            table = np.array(opened, dtype=bool).reshape(len(opened), len(distinct))
            gaining = np.flatnonzero(table[owners.turns, mask_codes.reshape(-1)[owners.groups]])
            # Sums of whole numbers stay exact in the floats that are counted in.
            gained = np.bincount(owners.users[gaining], owners.counts[gaining], len(counts))
            counts += gained.astype(np.int64)
        return counts

    def _standing(self, selected: frozenset[Clause]) -> tuple[tuple[Clause, ...], list[Standing]]:
        """Who meets which of some clauses, the wanted ones among them."""
        for clauses, standing in self._known.items():
            if selected.issubset(clauses):
                return clauses, standing
        groups, clauses = self._groups, tuple(sorted(selected.union(*self._known), key=repr))
        standing = list(self._owning.standing(clauses, groups.codes, len(groups), groups.ids))
        self._known[clauses] = standing
        return clauses, standing
