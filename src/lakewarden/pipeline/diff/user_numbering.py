"""One numbering for the users of both sides, and the users that act as a principal.

Each side includes the stored users of both, and a user who is not stored. Their sets of users can
then be compared bit by bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final
from uuid import uuid4

import numpy as np
from pyroaring import BitMap

from lakewarden.analysis.tally import SOMEBODY
from lakewarden.kernel.grants import Table
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.who import StoredUsers
from lakewarden.pipeline.index.matching import canonical
from lakewarden.pipeline.index.task_context import SIDES, TaskContext, prepared
from lakewarden.pipeline.review.audience import People

_NO_USER: Final = -1

Everyone = tuple[Principal, ...]
"""All users, in order; a user's index is its number. The first one is `SOMEBODY`."""


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

    def __init__(self, memberships: Memberships, users: Everyone) -> None:
        self.memberships = memberships
        self._stored = StoredUsers(memberships)
        self._numbers = np.full(len(memberships.principals), _NO_USER, dtype=np.int64)
        self._numbers[[memberships.ids[user] for user in users]] = np.arange(len(users))
        self.everyone = self.numbered(self._stored.everyone)
        self._acting_as: dict[int, BitMap] = {}
        self._of: dict[frozenset[int], BitMap] = {}
        self._digests: dict[frozenset[int], str] = {}

    def numbered(self, ids: BitMap) -> BitMap:
        """The numbers of users, from the ids of their principals."""
        numbers = self._numbers[np.asarray(ids.to_array(), dtype=np.int64)]
        # INVARIANT: `with_all_users` has made all users stored ones.
        assert _NO_USER not in numbers  # noqa: S101 — see above
        return BitMap(numbers.astype(np.uint32))

    def of(self, principals: Iterable[int]) -> BitMap:
        """The users who act as any of the principals. Must not be modified."""
        ids = frozenset(principals)
        users = self._of.get(ids)
        if users is None:
            users = self._of[ids] = BitMap.union(BitMap(), *map(self._users, ids))
        return users

    def _users(self, principal: int) -> BitMap:
        users = self._acting_as.get(principal)
        if users is None:
            users = self._acting_as[principal] = self.numbered(self._stored.of([principal]))
        return users

    def only(self, principal: int) -> BitMap:
        """The user that is this principal, if it is one."""
        return self.numbered(BitMap([principal]) & self._stored.everyone)

    def digest(self, principals: frozenset[int]) -> str:
        """Identifies the set of users who act as any of the principals."""
        digest = self._digests.get(principals)
        if digest is None:
            digest = self._digests[principals] = digest_of(self.of(principals))
        return digest


def digest_of(users: BitMap) -> str:
    """Identifies a set of users, by their numbers."""
    return hashlib.sha256(canonical(users)).hexdigest()[:32]


class NumberedPeople(People):
    """The people of one side; all sets of users are by number."""

    def __init__(self, numbering: UserNumbering, ownerships: tuple[str, ...], table: Table) -> None:
        super().__init__(numbering.memberships, ownerships, table, numbering)
        self.numbering = numbering

    def one(self, principal: int, *, exactly: bool) -> BitMap:
        if principal >= 0 and exactly:
            return self.numbering.only(principal)
        return super().one(principal, exactly=exactly)


@dataclass(frozen=True)
class Stated:
    """The statements of one side, and the users they concern; needs no entities."""

    statements: Mapping[str, Statement]
    people: NumberedPeople

    @cached_property
    def _ids(self) -> Mapping[Principal, int]:
        return self.people.memberships.ids

    def users(self, principals: Iterable[Principal]) -> BitMap:
        """The users who act as any of the principals."""
        return self.people.of(self._ids[p] for p in principals if p in self._ids)


def numbered_people(context: TaskContext, users: Everyone) -> NumberedPeople:
    """The people of an estate, which include all these users; computed once in each process."""
    people = _PEOPLE.get(context.key)
    if people is None:
        if len(_PEOPLE) >= SIDES:
            _PEOPLE.clear()
        numbering = UserNumbering(context.memberships, users)
        people = NumberedPeople(numbering, context.ownerships, prepared(context).table)
        _PEOPLE[context.key] = people
    return people


_PEOPLE: dict[str, NumberedPeople] = {}


def stated(context: TaskContext, users: Everyone) -> Stated:
    """The statements of an estate, for these users."""
    in_force = {s.id: s for s in context.statements if s.applies(context.now)}
    return Stated(in_force, numbered_people(context, users))
