"""Which statements about one privilege cover each entity, as a code for each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lakewarden.kernel.grants import Grant
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement import Effect, Owners

Codes = NDArray[np.int64]
Words = NDArray[np.uint64]

_ByScope = dict[int, list[Grant]]

_WORDS = 2
"""How many words of 64 bits tell one set of scopes from another."""


@dataclass(frozen=True, slots=True)
class Covers:
    """For each entity id a code, and the statements that each code stands for."""

    codes: Codes
    of: tuple[Covering.Cover, ...]


class Covering:
    """The statements of a snapshot by the entities that they cover.

    Sets of scopes are told apart by the exclusive or of random words, drawn anew in every
    process: two different sets meet by accident once in 2 to the power of 128.
    """

    @dataclass(frozen=True, slots=True)
    class Cover:
        """Statements by id: ALLOWs and DENYs that name principals; ALLOWs to owners, by types."""

        allows: tuple[str, ...]
        denies: tuple[str, ...]
        owners: tuple[tuple[tuple[str, ...] | None, tuple[str, ...]], ...]

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        count = len(snapshot.bitmaps)
        random = np.random.default_rng()
        self._words = random.integers(0, 1 << 63, (count, _WORDS), dtype=np.uint64)
        self._known: dict[str, Covers] = {}
        self._members: dict[int, NDArray[np.int64]] = {}

    def of(self, privilege: str) -> Covers:
        """What covers each entity; remembered."""
        known = self._known.get(privilege)
        if known is None:
            known = self._known[privilege] = self._covers(privilege)
        return known

    def _by_scope(self, privilege: str) -> _ByScope:
        found: _ByScope = {}
        for grant in self._snapshot.table.allows(privilege).every:
            found.setdefault(grant.scope, []).append(grant)
        for grant in self._snapshot.table.denies(privilege).every:
            found.setdefault(grant.scope, []).append(grant)
        return found

    def _covers(self, privilege: str) -> Covers:
        classes = self._snapshot.classes
        size = len(self._snapshot.coded.tree) if classes is None else classes.count
        table = self._by_scope(privilege)
        marks = np.zeros((size, _WORDS), dtype=np.uint64)
        for scope in table:
            marks[self._rows(scope)] ^= self._words[scope]
        first, codes = _grouped(marks)
        of = tuple(_cover(table, scopes) for scopes in self._inside(first, size, table))
        return Covers(codes if classes is None else codes[classes.classes], of)

    def _inside(self, first: Codes, size: int, table: _ByScope) -> list[list[int]]:
        """The scopes, of those in the table, that each of some rows of `size` lies in."""
        places = np.full(size, -1, dtype=np.int64)
        places[first] = np.arange(len(first))
        found: list[list[int]] = [[] for _ in first]
        for scope in table:
            at = places[self._rows(scope)]
            for place in at[at >= 0].tolist():
                found[place].append(scope)
        return found

    def _rows(self, scope: int) -> NDArray[np.int64]:
        """The classes inside a scope; the entities, where there are too many classes."""
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
    """Rows that are the first of their kind, and for each row the place of its kind."""
    view = np.ascontiguousarray(marks).view([("", marks.dtype)] * marks.shape[1]).reshape(-1)
    _, first, codes = np.unique(view, return_index=True, return_inverse=True)
    return first.astype(np.int64), codes.reshape(-1).astype(np.int64)


def _cover(table: _ByScope, scopes: Iterable[int]) -> Covering.Cover:
    allows, denies = set[str](), set[str]()
    owners: dict[tuple[str, ...] | None, set[str]] = {}
    for grant in (grant for scope in scopes for grant in table[scope]):
        statement = grant.statement
        if grant.principals:
            (allows if statement.effect is Effect.ALLOW else denies).add(statement.id)
        types = _types(statement.owners)
        if statement.effect is Effect.ALLOW and types != ():
            owners.setdefault(types, set()).add(statement.id)
    return Covering.Cover(
        allows=tuple(sorted(allows)),
        denies=tuple(sorted(denies)),
        owners=tuple(
            (types, tuple(sorted(owners[types])))
            for types in sorted(owners, key=lambda types: (types is not None, types or ()))
        ),
    )


def _types(owners: Owners | None) -> tuple[str, ...] | None:
    """The ownership types that count: None for any, empty for none."""
    if owners is None:
        return ()
    return None if owners.types is None else tuple(sorted(owners.types))
