"""The users whom a residue allows: the stored users, by the numbers of their principals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

import numpy as np
from pyroaring import BitMap

from lakewarden.kernel.grants import Grant, Table
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.principal import SERVICE_ADMINS, Principal
from lakewarden.kernel.statement import GRANTING, Effect
from lakewarden.kernel.who import StoredUsers
from lakewarden.pipeline.index.task_context import TaskContext, prepared
from lakewarden.pipeline.review.residue import (
    Admins,
    All,
    Any,
    Compared,
    Everybody,
    Free,
    Given,
    Itself,
    One,
    Owned,
    Owners,
    Residue,
    Residues,
)

Own = Owned | Itself
"""The residues that differ from entity to entity within one class."""

Ownership = Callable[[Own], BitMap]
"""The users that satisfy `Owned` and `Itself` on one entity, or on a hypothetical one."""

Telling = Mapping[Compared, BitMap]
"""For each comparison with stored attributes, the users who satisfy it."""

_NO_COMPARISONS: Final[Telling] = {}


class ActingUsers(Protocol):
    """Sets of users, in one numbering: all, and those who act as principals."""

    everyone: BitMap

    def of(self, principals: Iterable[int]) -> BitMap: ...


class People:
    """The stored users of an estate, and the principals that its statements name.

    `users` are the users in another numbering than that of their principals.
    """

    def __init__(
        self,
        memberships: Memberships,
        ownerships: tuple[str, ...],
        table: Table,
        users: ActingUsers | None = None,
    ) -> None:
        self.model = table.model
        self.memberships = memberships
        self.stored = StoredUsers(memberships)
        self.users: ActingUsers = self.stored if users is None else users
        self.ownerships = ownerships
        self.grants = {effect: _by_id(table, effect) for effect in GRANTING}

    def of(self, principals: Iterable[int]) -> BitMap:
        """The users that act as any of the principals."""
        return self.users.of(principals)

    def one(self, principal: int, *, exactly: bool) -> BitMap:
        """The users that act as the principal (-1: nobody); `exactly`: only the user itself."""
        if principal < 0:
            return BitMap()
        return BitMap([principal]) & self.users.everyone if exactly else self.of([principal])

    def addressed(self) -> frozenset[int]:
        """The principals that any statement names."""
        grants = (grant for by_id in self.grants.values() for grant in by_id.values())
        return frozenset[int]().union(*(grant.principals for grant in grants))

    def named(self, residues: Iterable[Residue], effect: Effect) -> frozenset[int]:
        """The principals that statements of the effect in the residues name."""
        form = Given if effect is Effect.ALLOW else Free
        grants = self.grants[effect]
        return frozenset[int]().union(
            *(
                grants[residue.privilege, id].principals
                for residue in residues
                if isinstance(residue, form)
                for id in residue.statements
            )
        )


def people_of(context: TaskContext) -> People:
    """The people of an estate, computed once in each process."""
    known = _PEOPLE.get(context.key)
    if known is None:
        _PEOPLE.clear()
        table = prepared(context).table
        known = _PEOPLE[context.key] = People(context.memberships, context.ownerships, table)
    return known


_PEOPLE: dict[str, People] = {}


def _by_id(table: Table, effect: Effect) -> dict[tuple[str, str], Grant]:
    sides = table.allow if effect is Effect.ALLOW else table.deny
    return {
        (privilege, grant.statement.id): grant
        for privilege, grouped in sides.items()
        for grant in grouped.every
    }


class Audience:
    """The users whom the residues of a collection allow."""

    def __init__(
        self, people: People, residues: Residues, telling: Telling = _NO_COMPARISONS
    ) -> None:
        self._people = people
        self._residues = residues
        self.telling = telling
        self._known: dict[int, BitMap] = {}
        self._opened: dict[int, tuple[str, ...]] = {}

    def stated(self, number: int) -> BitMap:
        """The users whom statements alone allow, without any ownership. Must not be modified."""
        users = self._known.get(number)
        if users is None:
            users = self._known[number] = self._users(number, None)
        return users

    def with_owners(self, number: int, ownership: Ownership) -> BitMap:
        """The users allowed under the given ownership. Must not be modified."""
        if not self._residues.is_own(number):
            return self.stated(number)
        return self._users(number, ownership)

    def _users(self, number: int, ownership: Ownership | None) -> BitMap:
        """The users of a residue; without ownership, nobody owns or is an entity."""
        match self._residues[number]:
            case All(parts):
                return self._all(parts, ownership)
            case Any(parts):
                return self._any(parts, ownership)
            case Owners(_, _, _, principals):
                return BitMap() if ownership is None else self._people.of(principals)
            case One(_, exactly, principal):
                at = -1 if ownership is None else principal
                return self._people.one(at, exactly=exactly)
            case (Owned() | Itself()) as atom:
                return BitMap() if ownership is None else ownership(atom)
            case residue:
                return self._atom(residue)

    def _all(self, parts: Sequence[int], ownership: Ownership | None) -> BitMap:
        sets: list[BitMap] = []
        for part in self._own_first(parts, ownership):
            users = self._part(part, ownership)
            if not users:
                return users
            sets.append(users)
        return sets[0] if len(sets) == 1 else BitMap.intersection(*sets)

    def _any(self, parts: Sequence[int], ownership: Ownership | None) -> BitMap:
        sets: list[BitMap] = []
        for part in self._own_first(parts, ownership):
            users = self._part(part, ownership)
            if len(users) == len(self._people.users.everyone):
                return users
            sets.append(users)
        return sets[0] if len(sets) == 1 else BitMap.union(*sets)

    def _own_first(self, parts: Sequence[int], ownership: Ownership | None) -> Sequence[int]:
        """The parts, with those that depend on ownership first: often they settle the result."""
        return parts if ownership is None else self._residues.own_first(parts)

    def _part(self, number: int, ownership: Ownership | None) -> BitMap:
        return self.stated(number) if ownership is None else self.with_owners(number, ownership)

    def _atom(self, residue: Residue) -> BitMap:
        people = self._people
        match residue:
            case Everybody():
                return people.users.everyone
            case Given():
                return people.of(people.named([residue], Effect.ALLOW))
            case Free():
                return people.users.everyone - people.of(people.named([residue], Effect.DENY))
            case Admins():
                return people.of([people.memberships.ids[SERVICE_ADMINS]])
            case Compared():
                return self.telling.get(residue, BitMap())
            case _:
                return BitMap()

    def opens(self, number: int) -> tuple[str, ...]:
        """What allows additional users: owning, or being, the entity at a given place.

        If no single condition does, but all of them together do, they are returned as one.
        """
        known = self._opened.get(number)
        if known is None:
            known = self._opened[number] = self._opens(number)
        return known

    def _opens(self, number: int) -> tuple[str, ...]:
        if not self._residues.is_own(number):
            return ()
        stated, everyone = self.stated(number), self._people.users.everyone
        atoms = [a for a in self._residues.leaves(number) if isinstance(a, (Owned, Itself))]

        def more(opened: Iterable[Own]) -> bool:
            chosen = frozenset(opened)
            users = self.with_owners(number, lambda a: everyone if a in chosen else BitMap())
            return users != stated

        alone = sorted({condition_text(atom) for atom in atoms if more([atom])})
        if not alone and more(atoms):
            return (" and ".join(sorted(set(map(condition_text, atoms)))),)
        return tuple(alone)


def condition_text(atom: Own) -> str:
    """The condition of the atom in words: the owner, or the entity as a principal.

    >>> condition_text(Owned(("schema",), None)), condition_text(Owned((), ("",)))
    ('owner of schema', 'owner (without a type)')
    >>> condition_text(Itself((), True))
    'self'
    """
    at = " > ".join(atom.path)
    if isinstance(atom, Itself):
        return f"self at {at}" if at else "self"
    types = "" if atom.types is None else ", ".join(t or "without a type" for t in atom.types)
    return "owner" + (f" of {at}" if at else "") + (f" ({types})" if types else "")


def principals_of(people: People, ids: Iterable[int]) -> list[Principal]:
    """The principals with these numbers, in order."""
    return [people.memberships.principals[id] for id in sorted(ids)]


class RoleSets:
    """The role sets of a realm, numbered.

    `principals[s]` are the principals named by statements that the users of set s act as.
    `users[s]` are its users; `set_of[u]` is the set of a user.
    """

    def __init__(self, people: People, audience: Audience) -> None:
        memberships = people.memberships
        named = people.addressed() | {memberships.ids[SERVICE_ADMINS]}
        compared_users = [
            audience.telling[comparison] for comparison in sorted(audience.telling, key=repr)
        ]
        users_by_roles: dict[tuple[frozenset[int], tuple[bool, ...]], list[int]] = {}
        for user in people.users.everyone:
            acts = memberships.acts_as(memberships.principals[user]) & named
            users_by_roles.setdefault(
                (acts, tuple(user in users for users in compared_users)), []
            ).append(user)
        keys = sorted(users_by_roles, key=lambda key: users_by_roles[key][0])
        self.principals = [acts for acts, _ in keys]
        self.users = [BitMap(users_by_roles[key]) for key in keys]
        self.set_of = {user: s for s, users in enumerate(self.users) for user in users}
        self._sets = np.zeros(len(memberships.principals), dtype=np.uint32)
        for user, number in self.set_of.items():
            self._sets[user] = number

    def __len__(self) -> int:
        return len(self.users)

    def of(self, users: BitMap) -> BitMap:
        """The role sets of some users."""
        numbers = self._sets[np.asarray(users.to_array())]
        is_here = np.zeros(len(self), dtype=bool)
        is_here[numbers] = True
        return BitMap(np.flatnonzero(is_here).astype(np.uint32))
