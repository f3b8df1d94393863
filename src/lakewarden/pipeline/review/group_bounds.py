"""Groups of entities of one type in one container, and bounds for who is allowed on them.

The statements on a group differ little between questions, and the ownership in it is the same for
all of them. So owners are counted once, by group and by the conditions that they meet.
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
    """Entities of one type, and the group of each.

    `codes` are the groups of `ids`; `names` are the containers of groups (None: the top level).
    `order` has the places of the entities by group, in order of evaluation; those of group g are
    from `starts[g]` to before `starts[g + 1]`.
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
    """Bounds per group: users allowed on any of its entities (lower, upper), and on all (lower).

    `atoms` are the residues that occur there.
    """

    some: Sequence[BitMap]
    upper: Sequence[BitMap]
    every: Sequence[BitMap]
    atoms: Sequence[Atoms]


def digest_of(type: str, container: str | None) -> bytes:
    """Identifies the group across versions."""
    text = json.dumps([type, container], ensure_ascii=False)
    return blake2b(text.encode(), digest_size=DIGEST_BYTES, person=b"group").digest()


def groups_of(
    snapshot: Snapshot, type: str, ids: Ids, codes: Codes, names: Sequence[str | None]
) -> Groups:
    """The groups of entities of one type, by codes and names of their containers."""
    scopes = np.zeros(len(snapshot.coded.tree), dtype=np.int64)
    for bits in snapshot.bitmaps:
        scopes[np.asarray(bits.to_array())] += 1
    starts = np.zeros(len(names) + 1, dtype=np.int64)
    np.cumsum(np.bincount(codes, minlength=len(names)), out=starts[1:])
    return Groups(type, ids, codes, tuple(names), np.lexsort((scopes[ids], codes)), starts)


def either(first: Sides, second: Sides) -> Sides:
    """Bounds for the users that one of two rules allows."""
    return Sides(
        [a | b for a, b in zip(first.some, second.some, strict=True)],
        [a | b for a, b in zip(first.upper, second.upper, strict=True)],
        [a | b for a, b in zip(first.every, second.every, strict=True)],
        [a | b for a, b in zip(first.atoms, second.atoms, strict=True)],
    )


def both(first: Sides, second: Sides) -> Sides:
    """Bounds for the users that both rules allow."""
    # If one rule allows a user on some entity, and the other on all, both allow it on that entity.
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
    """Counts, over the groups of one type, the users allowed by owning or being an entity."""

    def __init__(self, owning: Owning, residues: Residues, groups: Groups) -> None:
        self._owning = owning
        self._residues = residues
        self._groups = groups
        self._known: dict[tuple[Clause, ...], list[Standing]] = {}

    def gains(self, atoms: Sequence[Atoms]) -> Codes:
        """For each principal, on how many entities it may be allowed; `atoms` are by group."""
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
        """The same, if each group allows every user who meets any of its clauses."""
        counts = np.zeros(self._owning.size, dtype=np.int64)
        wanted_at_all = frozenset[Clause]().union(*clause_sets)
        if not wanted_at_all:
            return counts
        clauses, standing = self._standing(wanted_at_all)
        bits = {clause: 1 << place for place, clause in enumerate(clauses)}
        masks = [sum(map(bits.__getitem__, of)) for of in clause_sets]
        distinct, mask_codes = np.unique(masks, return_inverse=True)
        for owners in standing:
            # Users who met one of them through an earlier part were counted there.
            opened = [
                [bool(after & mask) and not before & mask for mask in distinct.tolist()]
                for after, before in owners.masks
            ]
            table = np.array(opened, dtype=bool).reshape(len(opened), len(distinct))
            gaining = np.flatnonzero(table[owners.turns, mask_codes.reshape(-1)[owners.groups]])
            # Sums of whole numbers stay exact in floats.
            gained = np.bincount(owners.users[gaining], owners.counts[gaining], len(counts))
            counts += gained.astype(np.int64)
        return counts

    def _standing(self, selected: frozenset[Clause]) -> tuple[tuple[Clause, ...], list[Standing]]:
        """Which users meet which clauses; the clauses include the selected ones."""
        for clauses, standing in self._known.items():
            if selected.issubset(clauses):
                return clauses, standing
        groups, clauses = self._groups, tuple(sorted(selected.union(*self._known), key=repr))
        standing = list(self._owning.standing(clauses, groups.codes, len(groups), groups.ids))
        self._known[clauses] = standing
        return clauses, standing
