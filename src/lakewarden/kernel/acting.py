"""Who acts as whom: principals as integers, and the closure of memberships."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from lakewarden.kernel.principal import ALL_USERS, ANY_GROUP, GROUP, USER, Principal

_NOBODY: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Acting:
    """Principals and memberships of one realm. Immutable.

    `ids` numbers every principal that anything mentions; `stored` are those that exist.
    `of[m]` are the principals that `m` directly acts as, `members` is its inverse.
    """

    ids: Mapping[Principal, int]
    principals: tuple[Principal, ...]
    stored: frozenset[int]
    of: Mapping[int, frozenset[int]]
    members: Mapping[int, frozenset[int]]

    @staticmethod
    def build(
        stored: Iterable[Principal],
        memberships: Iterable[tuple[Principal, Principal]],
        mentioned: Iterable[Principal],
    ) -> Acting:
        """The numbered principals; order and duplicates of the input do not matter."""
        edges = set(memberships)
        known = set(stored)
        everyone = known | {p for edge in edges for p in edge} | set(mentioned)
        everyone |= {ALL_USERS, ANY_GROUP}
        principals = tuple(sorted(everyone))
        ids = {principal: id for id, principal in enumerate(principals)}
        of: dict[int, set[int]] = {}
        members: dict[int, set[int]] = {}
        for member, group in edges:
            of.setdefault(ids[member], set()).add(ids[group])
            members.setdefault(ids[group], set()).add(ids[member])
        return Acting(
            ids=ids,
            principals=principals,
            stored=frozenset(ids[p] for p in known),
            of={m: frozenset(groups) for m, groups in of.items()},
            members={g: frozenset(found) for g, found in members.items()},
        )

    def acts_as(self, principal: Principal, extra: Iterable[Principal] = ()) -> frozenset[int]:
        """Everything the principal acts as, itself included.

        Groups and roles through any number of memberships, and the implied sets. `extra`
        are groups sent with the request.
        """
        start = {self.ids[p] for p in (principal, *extra) if p in self.ids}
        if principal.kind == USER:
            start.add(self.ids[ALL_USERS])
        reached = _closure(start, self.of)
        asking = {p.kind for p in (principal, *extra)}
        if GROUP in asking or any(self.principals[id].kind == GROUP for id in reached):
            reached |= _closure({self.ids[ANY_GROUP]}, self.of)
        return reached

    def acting_as(self, id: int) -> frozenset[int]:
        """Every principal that acts as `id`, itself included (implied sets not spread)."""
        return _closure([id], self.members)

    def numbered(self, principal: Principal) -> tuple[Acting, int]:
        """The id of the principal, given one if it has none yet."""
        id = self.ids.get(principal)
        if id is not None:
            return self, id
        id = len(self.principals)
        ids = {**self.ids, principal: id}
        return replace(self, ids=ids, principals=(*self.principals, principal)), id

    def with_stored(self, principal: Principal, *, stored: bool) -> Acting:
        """The same with a principal stored, or no longer stored."""
        acting, id = self.numbered(principal)
        change = acting.stored | {id} if stored else acting.stored - {id}
        return replace(acting, stored=change)

    def with_membership(self, member: Principal, group: Principal, *, present: bool) -> Acting:
        """The same with one membership there, or gone."""
        acting, m = self.numbered(member)
        acting, g = acting.numbered(group)
        of, members = acting.of.get(m, _NOBODY), acting.members.get(g, _NOBODY)
        return replace(
            acting,
            of={**acting.of, m: of | {g} if present else of - {g}},
            members={**acting.members, g: members | {m} if present else members - {m}},
        )


def _closure(start: Iterable[int], edges: Mapping[int, frozenset[int]]) -> frozenset[int]:
    reached = set(start)
    todo = list(reached)
    while todo:
        for id in edges.get(todo.pop(), _NOBODY):
            if id not in reached:
                reached.add(id)
                todo.append(id)
    return frozenset(reached)
