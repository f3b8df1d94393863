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
from lakewarden.kernel.facts import code
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import Snapshot, assemble
from lakewarden.kernel.statement import Statement
from lakewarden.pipeline.diff.user_sets import Judge
from lakewarden.pipeline.index.matching import canonical
from lakewarden.pipeline.index.task_context import NO_REVISION, TaskContext, prepared

_NO_USER = -1

Everyone = tuple[Principal, ...]
"""All users, in order; a user's place is its number. The first one is `SOMEBODY`."""

PLAIN = Request(SOMEBODY, "")
"""A request that brings nothing along."""


def everyone(*sides: Memberships) -> Everyone:
    """The stored users of all sides, and somebody who is not stored."""
    stored = {memberships.principals[id] for memberships in sides for id in memberships.stored}
    users = {principal for principal in stored if principal.kind == USER}
    return (SOMEBODY, *sorted(users - {SOMEBODY}))


def asking(memberships: Memberships, users: Everyone) -> Memberships:
    """The same people with all these users among those who may be asked about."""
    new = [user for user in users if user not in memberships.ids]
    first = len(memberships.principals)
    ids = {**memberships.ids, **{user: first + place for place, user in enumerate(new)}}
    return replace(
        memberships,
        ids=ids,
        principals=(*memberships.principals, *new),
        stored=memberships.stored.union(ids[user] for user in users),
    )


def asked(context: TaskContext, users: Everyone) -> TaskContext:
    """The estate with all these users among those who may be asked about."""
    return replace(context, memberships=asking(context.memberships, users), key=uuid4().hex)


class UserNumbering:
    """The users of one side: sets of them, by their numbers in `users`."""

    def __init__(self, snapshot: Snapshot, users: Everyone) -> None:
        memberships = snapshot.coded.memberships
        self.snapshot = snapshot
        self.judge = Judge(snapshot, PLAIN)
        self._places = np.full(len(memberships.principals), _NO_USER, dtype=np.int64)
        self._places[[memberships.ids[user] for user in users]] = np.arange(len(users))
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
    crowd: UserNumbering

    @cached_property
    def _ids(self) -> Mapping[Principal, int]:
        return self.crowd.snapshot.coded.memberships.ids

    def users(self, principals: Iterable[Principal]) -> BitMap:
        """The users who act as any of the principals."""
        return self.crowd.of(frozenset(self._ids[p] for p in principals if p in self._ids))


def stated(context: TaskContext, users: Everyone) -> Stated:
    """What an estate states, for these users."""
    known = prepared(context)
    system = known.system
    nothing = code(Facts(), system.model, system.spelling)
    bare = assemble(replace(nothing, memberships=context.memberships), known.table, NO_REVISION)
    in_force = {s.id: s for s in context.statements if s.applies(context.now)}
    return Stated(in_force, UserNumbering(bare, users))
