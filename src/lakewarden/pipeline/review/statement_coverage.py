"""Which statements about one privilege cover each entity, as a code per entity."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lakewarden.kernel.grants import Grant
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement import Effect, Owners

Codes = NDArray[np.int64]
Words = NDArray[np.uint64]

_ByScope = dict[int, list[Grant]]

_WORDS = 2
"""How many 64-bit words identify a set of scopes."""


@dataclass(frozen=True, slots=True)
class Cover:
    """Statements by id: ALLOWs and DENYs that name principals; ALLOWs to owners, by types."""

    allows: tuple[str, ...]
    denies: tuple[str, ...]
    owners: tuple[tuple[tuple[str, ...] | None, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Covers:
    """For each entity id a code, and for each code its statements.

    The statements of a code are computed on first use: for a privilege that distinguishes many
    entities, most are never needed. `to_owners` says whether any statement is granted to owners.
    """

    codes: Codes
    count: int
    to_owners: bool
    table: _ByScope
    scopes: Codes
    offsets: Codes
    known: dict[int, Cover] = field(default_factory=dict)

    def __getitem__(self, code: int) -> Cover:
        known_cover = self.known.get(code)
        if known_cover is None:
            scopes = self.scopes[self.offsets[code] : self.offsets[code + 1]]
            known_cover = self.known[code] = cover(self.table, scopes.tolist())
        return known_cover


class Covering:
    """The statements of a snapshot by the entities that they cover.

    Sets of scopes are identified by the exclusive or of random words, drawn anew in every process:
    two different sets collide with a probability of 1 in 2 to the power of 128.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        count = len(snapshot.bitmaps)
        random = np.random.default_rng()
        self._words = random.integers(0, 1 << 63, (count, _WORDS), dtype=np.uint64)
        self._known: dict[str, Covers] = {}
        self._members: dict[int, NDArray[np.int64]] = {}

    def of(self, privilege: str) -> Covers:
        """The coverage of each entity; cached."""
        known = self._known.get(privilege)
        if known is None:
            known = self._known[privilege] = self._covers(privilege)
        return known

    def _by_scope(self, privilege: str) -> _ByScope:
        grants_by_scope: _ByScope = {}
        for grant in self._snapshot.table.allows(privilege).every:
            grants_by_scope.setdefault(grant.scope, []).append(grant)
        for grant in self._snapshot.table.denies(privilege).every:
            grants_by_scope.setdefault(grant.scope, []).append(grant)
        return grants_by_scope

    def _covers(self, privilege: str) -> Covers:
        classes = self._snapshot.classes
        size = len(self._snapshot.coded.tree) if classes is None else classes.count
        table = self._by_scope(privilege)
        marks = np.zeros((size, _WORDS), dtype=np.uint64)
        for scope in table:
            marks[self._rows(scope)] ^= self._words[scope]
        first, codes = _grouped(marks)
        scopes, offsets = self._inside(first, size, table)
        grants = (grant for of_scope in table.values() for grant in of_scope)
        return Covers(
            codes=codes if classes is None else codes[classes.classes],
            count=len(first),
            to_owners=any(_speaks_to_owners(grant) for grant in grants),
            table=table,
            scopes=scopes,
            offsets=offsets,
        )

    def _inside(self, first: Codes, size: int, table: _ByScope) -> tuple[Codes, Codes]:
        """The scopes of the table that contain each of some rows, out of `size` rows.

        The scopes of row r are `scopes[offsets[r]:offsets[r+1]]`.
        """
        places = np.full(size, -1, dtype=np.int64)
        places[first] = np.arange(len(first))
        rows_by_scope = [(scope, places[self._rows(scope)]) for scope in table]
        present = [at[at >= 0] for _, at in rows_by_scope]
        at = np.concatenate([np.zeros(0, dtype=np.int64), *present])
        numbers = np.repeat(
            np.array([s for s, _ in rows_by_scope], dtype=np.int64), [*map(len, present)]
        )
        order = np.argsort(at, kind="stable")
        offsets = np.zeros(len(first) + 1, dtype=np.int64)
        np.cumsum(np.bincount(at, minlength=len(first)), out=offsets[1:])
        return numbers[order], offsets

    def _rows(self, scope: int) -> NDArray[np.int64]:
        """The classes inside a scope; the entities, if there are too many classes."""
        rows = self._members.get(scope)
        if rows is None:
            classes = self._snapshot.classes
            if classes is None:
                rows = np.asarray(self._snapshot.bitmaps[scope].to_array(), dtype=np.int64)
            else:
                rows = classes.within.get(scope, np.zeros(0, dtype=np.int64))
            self._members[scope] = rows
        return rows


def _grouped(marks: Words) -> tuple[Codes, Codes]:
    """The first row of each kind, and for each row the index of its kind."""
    first_mark, *others = marks.T
    _, first, codes = np.unique(first_mark, return_index=True, return_inverse=True)
    codes = codes.reshape(-1)
    # One word sorts many times faster than two, and practically always suffices.
    if all((other == other[first][codes]).all() for other in others):
        return first.astype(np.int64), codes.astype(np.int64)
    _, first, codes = np.unique(marks, axis=0, return_index=True, return_inverse=True)
    return first.astype(np.int64), codes.reshape(-1).astype(np.int64)


def cover(table: _ByScope, scopes: Iterable[int]) -> Cover:
    """The statements of some scopes."""
    allows, denies = set[str](), set[str]()
    owners: dict[tuple[str, ...] | None, set[str]] = {}
    for grant in (grant for scope in scopes for grant in table[scope]):
        statement = grant.statement
        if grant.principals:
            (allows if statement.effect is Effect.ALLOW else denies).add(statement.id)
        if _speaks_to_owners(grant):
            owners.setdefault(_types(statement.owners), set()).add(statement.id)
    return Cover(
        allows=tuple(sorted(allows)),
        denies=tuple(sorted(denies)),
        owners=tuple(
            (types, tuple(sorted(owners[types])))
            for types in sorted(owners, key=lambda types: (types is not None, types or ()))
        ),
    )


def _speaks_to_owners(grant: Grant) -> bool:
    return grant.statement.effect is Effect.ALLOW and _types(grant.statement.owners) != ()


def _types(owners: Owners | None) -> tuple[str, ...] | None:
    """The ownership types that count: None for any, empty for none."""
    if owners is None:
        return ()
    return None if owners.types is None else tuple(sorted(owners.types))
