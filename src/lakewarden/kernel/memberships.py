"""Who acts as whom: principals as integers, and the closure of memberships."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.kernel.hierarchy import MAX_LEVELS, circular, height, reached, too_nested
from lakewarden.kernel.principal import ALL_USERS, ANY_GROUP, GROUP, USER, Principal

Ids = tuple[int, ...]
"""Principals by id, ascending: a tenth of the memory of a set."""

_NOBODY: Ids = ()


@dataclass(frozen=True, slots=True)
class Memberships:
    """Principals and memberships of one realm. Immutable.

    `ids` numbers every principal that is mentioned anywhere; `stored` are those that exist.
    `of[m]` are the principals that `m` directly acts as, `members` is its inverse. The memberships
    of a principal on a cycle are `inert`: stored, and not followed. A principal is `too_nested` if
    its chain of memberships is too long; it is denied.
    """

    ids: Mapping[Principal, int]
    principals: tuple[Principal, ...]
    stored: frozenset[int]
    of: Mapping[int, Ids]
    members: Mapping[int, Ids]
    inert: frozenset[tuple[int, int]] = frozenset()
    too_nested: frozenset[int] = frozenset()

    @staticmethod
    def build(
        stored: Iterable[Principal],
        memberships: Iterable[tuple[Principal, Principal]],
        mentioned: Iterable[Principal],
    ) -> Memberships:
        """The numbered principals; order and duplicates of the input do not matter."""
        numbers: dict[Principal, int] = {}

        def number(principal: Principal) -> int:
            return numbers.setdefault(principal, len(numbers))

        known = {number(principal) for principal in stored}
        pairs = np.fromiter((number(p) for row in memberships for p in row), np.int64)
        for principal in (*mentioned, ALL_USERS, ANY_GROUP):
            number(principal)
        principals = sorted(numbers)
        ids = np.empty(len(principals), dtype=np.int64)
        ids[[numbers[principal] for principal in principals]] = np.arange(len(principals))
        members, groups = ids[pairs].reshape(-1, 2).T
        distinct = np.unique(members * len(ids) + groups)
        members, groups = np.divmod(distinct, len(ids))
        is_stored = frozenset(ids[list(known)].tolist())
        return Memberships.numbered_as(principals, is_stored, members.tolist(), groups.tolist())

    @staticmethod
    def numbered_as(
        principals: Sequence[Principal],
        stored: frozenset[int],
        members: Sequence[int],
        groups: Sequence[int],
    ) -> Memberships:
        """The principals with their places in the sequence as ids; all must be in it, once.

        Member m of the memberships acts as group m; their pairs ascend, without duplicates.
        """
        ids = {principal: id for id, principal in enumerate(principals)}
        shared = list(ids.values())  # one integer for each principal, not for each membership
        from_, to = [shared[member] for member in members], [shared[group] for group in groups]
        return Memberships(
            ids=ids,
            principals=tuple(principals),
            stored=stored,
            of=_gathered(from_, to),
            members=_gathered(to, from_),
        )._settled()

    def _settled(self) -> Memberships:
        """The same, after deciding again for every membership whether it is followed."""
        of, members = self._as_stored()
        looped = circular(of, members)
        inert = frozenset((m, g) for m in looped for g in of[m])
        beyond = too_nested(of, members, looped)
        for m, g in inert:
            of[m], members[g] = _without(of[m], g), _without(members[g], m)
        return replace(self, of=of, members=members, inert=inert, too_nested=beyond)

    def _as_stored(self) -> tuple[dict[int, Ids], dict[int, Ids]]:
        """All memberships, by member and by group, whether or not they are followed."""
        of, members = dict(self.of), dict(self.members)
        for m, g in self.inert:
            of[m] = _with(of.get(m, _NOBODY), g)
            members[g] = _with(members.get(g, _NOBODY), m)
        return of, members

    def edges(self) -> list[tuple[int, int]]:
        """All memberships, ascending, whether or not they are followed: members and groups."""
        followed = ((m, g) for m, groups in self.of.items() for g in groups)
        return sorted([*followed, *self.inert])

    def acts_as(self, principal: Principal, extra: Iterable[Principal] = ()) -> frozenset[int]:
        """Everything the principal acts as, itself included.

        Groups and roles through any number of memberships, and the implied sets. `extra`
        are groups sent with the request.
        """
        named = (principal, *extra)
        start = {self.ids[p] for p in named if p in self.ids}
        if principal.kind == USER:
            start.add(self.ids[ALL_USERS])
        acting_as = reached(start, self.of)
        in_some = any(p.kind == GROUP for p in named)
        if in_some or any(self.principals[id].kind == GROUP for id in acting_as):
            acting_as |= reached({self.ids[ANY_GROUP]}, self.of)
        return frozenset(acting_as)

    def is_too_nested(self, principal: Principal, extra: Iterable[Principal] = ()) -> bool:
        """Whether the principal's chain of memberships is too long."""
        return bool(self.too_nested) and not self.too_nested.isdisjoint(
            self.acts_as(principal, extra)
        )

    def acting_as(self, id: int) -> frozenset[int]:
        """Every principal that acts as `id`, itself included (implied sets not expanded)."""
        return frozenset(reached([id], self.members))

    def check_membership(self, member: Principal, group: Principal) -> None:
        """Raises `BadInput` if a new one would close a cycle, `LimitExceeded` if nested too deep.

        Both principals must be numbered already.
        """
        m, g = self.ids[member], self.ids[group]
        of = self._as_stored()[0] if self.inert else self.of
        if g in of.get(m, _NOBODY):
            return
        if m in reached([g], of):
            raise BadInput(f"`{member.kind}:{member.name}` would be a member of itself")
        if height(m, self.members) + 1 + height(g, self.of) > MAX_LEVELS:
            raise LimitExceeded(
                f"by `{group.kind}:{group.name}` more than {MAX_LEVELS} memberships would follow"
                " on one another"
            )

    def numbered(self, principal: Principal) -> tuple[Memberships, int]:
        """The id of the principal; assigns one if it has none."""
        id = self.ids.get(principal)
        if id is not None:
            return self, id
        id = len(self.principals)
        ids = {**self.ids, principal: id}
        return replace(self, ids=ids, principals=(*self.principals, principal)), id

    def with_stored(self, principal: Principal, *, stored: bool) -> Memberships:
        """The same with a principal stored, or not."""
        memberships, id = self.numbered(principal)
        change = memberships.stored | {id} if stored else memberships.stored - {id}
        return replace(memberships, stored=change)

    def with_membership(self, member: Principal, group: Principal, *, present: bool) -> Memberships:
        """The same with one membership added or removed."""
        memberships, m = self.numbered(member)
        memberships, g = memberships.numbered(group)
        change = _with if present else _without
        later = replace(
            memberships,
            of={**memberships.of, m: change(memberships.of.get(m, _NOBODY), g)},
            members={**memberships.members, g: change(memberships.members.get(g, _NOBODY), m)},
            inert=memberships.inert - {(m, g)},
        )
        return later._settled() if memberships.inert or memberships.too_nested else later


def _gathered(keys: Sequence[int], values: Sequence[int]) -> dict[int, Ids]:
    """The values of each key, in the order given."""
    by_key: dict[int, list[int]] = {}
    for key, value in zip(keys, values, strict=True):
        by_key.setdefault(key, []).append(value)
    return {key: tuple(of_key) for key, of_key in by_key.items()}


def _with(ids: Ids, id: int) -> Ids:
    at = bisect_left(ids, id)
    return ids if ids[at : at + 1] == (id,) else (*ids[:at], id, *ids[at:])


def _without(ids: Ids, id: int) -> Ids:
    at = bisect_left(ids, id)
    return (*ids[:at], *ids[at + 1 :]) if ids[at : at + 1] == (id,) else ids
