"""One numbering for the users of both sides, and the users that act as a principal.

Each side includes the stored users of both, and a user who is not stored. The kernel's sets of
users can then be compared bit by bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, TypeVar
from uuid import uuid4

import numpy as np
from pyroaring import BitMap

from lakewarden.analysis.tally import SOMEBODY
from lakewarden.kernel.classes import Partition, partition
from lakewarden.kernel.expression import Node
from lakewarden.kernel.facts import code
from lakewarden.kernel.grants import Grant
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.point_evaluator import Spot
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import Snapshot, assemble
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.who import Users
from lakewarden.pipeline.index.matching import canonical
from lakewarden.pipeline.index.task_context import NO_REVISION, TaskContext, prepared

_NO_USER = -1

Everyone = tuple[Principal, ...]
"""All users, in order; a user's index is its number. The first one is `SOMEBODY`."""

PLAIN = Request(SOMEBODY, "")
"""A request without any attributes."""


def everyone(*sides: Memberships) -> Everyone:
    """The stored users of all sides, and a user who is not stored."""
    stored = {memberships.principals[id] for memberships in sides for id in memberships.stored}
    users = {principal for principal in stored if principal.kind == USER}
    return (SOMEBODY, *sorted(users - {SOMEBODY}))


def with_all_users(memberships: Memberships, users: Everyone) -> Memberships:
    """The same people, with all these users stored."""
    new = [user for user in users if user not in memberships.ids]
    first = len(memberships.principals)
    ids = {**memberships.ids, **{user: first + place for place, user in enumerate(new)}}
    return replace(
        memberships,
        ids=ids,
        principals=(*memberships.principals, *new),
        stored=memberships.stored.union(ids[user] for user in users),
    )


def with_users(context: TaskContext, users: Everyone) -> TaskContext:
    """The estate, with all these users stored."""
    return replace(context, memberships=with_all_users(context.memberships, users), key=uuid4().hex)


class UserNumbering:
    """The users of one side: sets of them, by their numbers in `users`."""

    def __init__(self, snapshot: Snapshot, users: Everyone) -> None:
        memberships = snapshot.coded.memberships
        self.snapshot = snapshot
        self.class_users = ClassUsers(snapshot, PLAIN)
        self._places = np.full(len(memberships.principals), _NO_USER, dtype=np.int64)
        self._places[[memberships.ids[user] for user in users]] = np.arange(len(users))
        self._numbered: dict[bytes, BitMap] = {}
        self._of: dict[frozenset[int], BitMap] = {}
        self._digests: dict[frozenset[int], str] = {}

    def numbered(self, ids: BitMap) -> BitMap:
        """The numbers of users, from their ids in the snapshot."""
        key = bytes(ids.serialize())
        numbered = self._numbered.get(key)
        if numbered is None:
            numbers = self._places[np.asarray(ids.to_array(), dtype=np.int64)]
            # INVARIANT: `with_all_users` has made all users stored ones.
            assert _NO_USER not in numbers  # noqa: S101 — see above
            numbered = bounded(self._numbered)[key] = BitMap(numbers.astype(np.uint32))
        return numbered

    def of(self, principals: frozenset[int]) -> BitMap:
        """The users who act as any of the principals."""
        users = self._of.get(principals)
        if users is None:
            users = self._of[principals] = self.numbered(self.class_users.of(principals))
        return users

    def digest(self, principals: frozenset[int]) -> str:
        """Identifies the set of users who act as any of the principals."""
        digest = self._digests.get(principals)
        if digest is None:
            bits = canonical(self.of(principals))
            digest = self._digests[principals] = hashlib.sha256(bits).hexdigest()[:32]
        return digest


@dataclass(frozen=True)
class Stated:
    """The statements of one side, and the users they concern; needs no entities."""

    statements: Mapping[str, Statement]
    numbering: UserNumbering

    @cached_property
    def _ids(self) -> Mapping[Principal, int]:
        return self.numbering.snapshot.coded.memberships.ids

    def users(self, principals: Iterable[Principal]) -> BitMap:
        """The users who act as any of the principals."""
        return self.numbering.of(frozenset(self._ids[p] for p in principals if p in self._ids))


def stated(context: TaskContext, users: Everyone) -> Stated:
    """The statements of an estate, for these users."""
    known = prepared(context)
    system = known.system
    nothing = code(Facts(), system.model, system.spelling)
    bare = assemble(replace(nothing, memberships=context.memberships), known.table, NO_REVISION)
    in_force = {s.id: s for s in context.statements if s.applies(context.now)}
    return Stated(in_force, UserNumbering(bare, users))


Grants = tuple[Grant, ...]

REMEMBERED: Final = 1 << 13
"""Entries of a memo: entities come in order, so repeated lookups follow soon."""

K = TypeVar("K")
V = TypeVar("V")


def bounded(memo: dict[K, V]) -> dict[K, V]:
    """The memo, emptied if it is full."""
    if len(memo) >= REMEMBERED:
        memo.clear()
    return memo


class ClassUsers(Users):
    """Like `Users`, but only evaluates the grants of a place's class.

    Rules on one entity and on its neighbours often evaluate the same places, so answers about
    places are cached, up to a fixed number.
    """

    def __init__(self, snapshot: Snapshot, request: Request) -> None:
        super().__init__(snapshot, request)
        self._owning: dict[tuple[tuple[str, ...], Spot], BitMap] = {}
        self._may: dict[tuple[str, Spot], BitMap] = {}
        self._inner: dict[tuple[int, Spot], BitMap] = {}
        self._sorted: dict[int, dict[int, list[Grant]]] = {}
        self._near: dict[tuple[int, int], Grants] = {}
        self._holding: dict[tuple[str, int, object], BitMap] = {}
        self._granted: dict[frozenset[int], BitMap] = {}

    @cached_property
    def classes(self) -> Partition:
        """The entities that lie in the same scopes, without a limit on the number of classes."""
        snapshot, size = self._snapshot, len(self._snapshot.coded.tree)
        classes = snapshot.classes or partition(size, dict(enumerate(snapshot.bitmaps)), size + 1)
        assert classes is not None  # noqa: S101 — INVARIANT: at most one class per entity
        return classes

    def of(self, principals: Iterable[int]) -> BitMap:
        if not isinstance(principals, frozenset):
            return super().of(principals)
        users = self._granted.get(principals)  # those of a grant, whose set has its hash
        if users is None:
            users = self._granted[principals] = super().of(principals)
        return users

    def holds(self, privilege: str, place: Spot) -> BitMap:
        if not isinstance(place, int) or privilege in self._snapshot.model.self_privileges:
            return super().holds(privilege, place)
        speaks = self._snapshot.table.allows(privilege).to_owners
        owners = self._snapshot.coded.owners.of(place) if speaks else ()
        key = (privilege, self.classes.view[place], owners)
        users = self._holding.get(key)
        if users is None:
            users = self._holding[key] = super().holds(privilege, place)
        return users

    def owner(self, levels: tuple[str, ...], place: Spot) -> BitMap:
        key = (levels, place)
        users = self._owning.get(key)
        if users is None:
            users = bounded(self._owning)[key] = super().owner(levels, place)
        return users

    def may(self, operation: str, place: Spot) -> BitMap:
        key = (operation, place)
        users = self._may.get(key)
        if users is None:
            users = bounded(self._may)[key] = super().may(operation, place)
        return users

    def elsewhere(self, selector: str, inner: Node, place: Spot) -> BitMap:
        at = self._point.selected(selector, place)
        if at is None:
            return BitMap()
        key = (id(inner), at)  # INVARIANT: a rule lives as long as its model, loaded once
        users = self._inner.get(key)
        if users is None:
            users = bounded(self._inner)[key] = self.evaluate(inner, at)
        return users

    def _grants_at(self, grants: Iterable[Grant], place: Spot) -> Iterator[Grant]:
        yield from super()._grants_at(self._covering(grants, place), place)

    def _denied(self, privilege: str, place: Spot) -> BitMap:
        grants = self._covering(self._snapshot.table.denies(privilege).every, place)
        applicable = (grant for grant in grants if self._snapshot.lies_in(place, grant))
        return BitMap.union(BitMap(), *(self.of(grant.principals) for grant in applicable))

    def _covering(self, grants: Iterable[Grant], place: Spot) -> Iterable[Grant]:
        """The grants of a privilege that may cover a place."""
        if not isinstance(place, int):
            return grants
        # INVARIANT: a table keeps the grants of a privilege for its whole lifetime.
        key = (id(grants), self.classes.view[place])
        covering = self._near.get(key)
        if covering is None:
            by_scope = self._by_scope(grants)
            scopes = self.classes.inside[key[1]]
            covering = tuple(grant for scope in scopes for grant in by_scope.get(scope, ()))
            self._near[key] = covering
        return covering

    def _by_scope(self, grants: Iterable[Grant]) -> dict[int, list[Grant]]:
        by_scope = self._sorted.get(id(grants))
        if by_scope is None:
            by_scope = self._sorted[id(grants)] = {}
            for grant in grants:
                by_scope.setdefault(grant.scope, []).append(grant)
        return by_scope
