"""The users of both sides under one numbering, and which of them act as a principal.

On each side count the stored users of both, and somebody who is stored nowhere, so that the
kernel's sets of users can be compared bit by bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from uuid import uuid4

import numpy as np
from pyroaring import BitMap

from lakewarden.analysis.tally import SOMEBODY
from lakewarden.kernel.acting import Acting
from lakewarden.kernel.facts import code
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import Snapshot, assemble
from lakewarden.kernel.statement import Statement
from lakewarden.pipeline.diff.judge import Judge
from lakewarden.pipeline.index.estate import NO_REVISION, Estate, prepared
from lakewarden.pipeline.index.matching import canonical

_NO_USER = -1

Everyone = tuple[Principal, ...]
"""All users, in order; a user's place is its number. The first one is `SOMEBODY`."""

PLAIN = Request(SOMEBODY, "")
"""A request that brings nothing along."""


def everyone(*sides: Acting) -> Everyone:
    """The stored users of all sides, and somebody who is not stored."""
    stored = {acting.principals[id] for acting in sides for id in acting.stored}
    users = {principal for principal in stored if principal.kind == USER}
    return (SOMEBODY, *sorted(users - {SOMEBODY}))


def asking(acting: Acting, users: Everyone) -> Acting:
    """The same people with all these users among those who may be asked about."""
    new = [user for user in users if user not in acting.ids]
    first = len(acting.principals)
    ids = {**acting.ids, **{user: first + place for place, user in enumerate(new)}}
    return replace(
        acting,
        ids=ids,
        principals=(*acting.principals, *new),
        stored=acting.stored.union(ids[user] for user in users),
    )


def asked(estate: Estate, users: Everyone) -> Estate:
    """The estate with all these users among those who may be asked about."""
    return replace(estate, acting=asking(estate.acting, users), key=uuid4().hex)


class Crowd:
    """The users of one side: sets of them, by their numbers in `users`."""

    def __init__(self, snapshot: Snapshot, users: Everyone) -> None:
        acting = snapshot.coded.acting
        self.snapshot = snapshot
        self.judge = Judge(snapshot, PLAIN)
        self._places = np.full(len(acting.principals), _NO_USER, dtype=np.int64)
        self._places[[acting.ids[user] for user in users]] = np.arange(len(users))
        self._numbered: dict[bytes, BitMap] = {}
        self._of: dict[frozenset[int], BitMap] = {}
        self._digests: dict[frozenset[int], str] = {}

    def numbered(self, ids: BitMap) -> BitMap:
        """Users by their numbers, from their ids in the snapshot."""
        key = bytes(ids.serialize())
        found = self._numbered.get(key)
        if found is None:
            numbers = self._places[np.asarray(ids.to_array(), dtype=np.int64)]
            # INVARIANT: `asking` put all users among those who may be asked about.
            assert _NO_USER not in numbers  # noqa: S101 — see above
            found = self._numbered[key] = BitMap(numbers.astype(np.uint32))
        return found

    def of(self, principals: frozenset[int]) -> BitMap:
        """The users who act as any of the principals."""
        found = self._of.get(principals)
        if found is None:
            found = self._of[principals] = self.numbered(self.judge.of(principals))
        return found

    def digest(self, principals: frozenset[int]) -> str:
        """Tells the users who act as any of the principals from other sets of users."""
        found = self._digests.get(principals)
        if found is None:
            bits = canonical(self.of(principals))
            found = self._digests[principals] = hashlib.sha256(bits).hexdigest()[:32]
        return found


@dataclass(frozen=True)
class Stated:
    """What one side states, and whom that concerns; needs no entities."""

    statements: Mapping[str, Statement]
    crowd: Crowd

    @cached_property
    def _ids(self) -> Mapping[Principal, int]:
        return self.crowd.snapshot.coded.acting.ids

    def users(self, principals: Iterable[Principal]) -> BitMap:
        """The users who act as any of the principals."""
        return self.crowd.of(frozenset(self._ids[p] for p in principals if p in self._ids))


def stated(estate: Estate, users: Everyone) -> Stated:
    """What an estate states, for these users."""
    known = prepared(estate)
    system = known.system
    nothing = code(Facts(), system.model, system.spelling)
    bare = assemble(replace(nothing, acting=estate.acting), known.table, NO_REVISION)
    in_force = {s.id: s for s in estate.statements if s.applies(estate.now)}
    return Stated(in_force, Crowd(bare, users))
