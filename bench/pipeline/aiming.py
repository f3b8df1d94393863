"""Generates questions whose answers in a large realm are not obvious.

Nearly all uniformly random questions are denied. So each question is aimed at an ALLOW, at a DENY,
at an owner, or at depth (a member of members, an entity deep in the tree). Then every third one is
moved: to another caller, another operation, or a neighbouring entity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TypeVar

from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.grants import Grant, Grouped
from lakewarden.kernel.principal import ROLE, USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.testing.rule_satisfaction import privileges_in

AIMS = {"allow": 0.35, "deny": 0.2, "owner": 0.2, "depth": 0.2, "anything": 0.05}
"""The shares of the aims."""

MOVED, DRESSED = 0.35, 0.1

Some = TypeVar("Some")
Granted = tuple[str, Grant]


@dataclass
class Aiming:
    """Generates questions about the content of a snapshot, or only about the ids `within`."""

    snapshot: Snapshot
    random: Random
    now: float
    within: BitMap = field(default_factory=BitMap)
    allows: list[Granted] = field(init=False)
    denies: list[Granted] = field(init=False)
    owned: dict[int, BitMap] = field(init=False)
    users: list[Principal] = field(init=False)
    asking: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        table, memberships = self.snapshot.table, self.snapshot.coded.memberships
        self.within = self.within or self.snapshot.coded.tree.stored
        self.allows, self.denies = list(self._granted(table.allow)), list(self._granted(table.deny))
        owned = ((owner, ids & self.within) for owner, ids in self.snapshot.owned_by.items())
        self.owned = {owner: ids for owner, ids in sorted(owned) if ids}
        stored = map(memberships.principals.__getitem__, sorted(memberships.stored))
        self.users = [principal for principal in stored if principal.kind == USER]

    def _granted(self, side: Mapping[str, Grouped]) -> Iterator[Granted]:
        """The grants whose scope has some of the entities."""
        bitmaps, within = self.snapshot.bitmaps, self.within
        for privilege, found in sorted(side.items()):
            for grant in found.every:
                if bitmaps[grant.scope].intersect(within):
                    yield privilege, grant

    def questions(self, count: int) -> Iterator[tuple[str, Request]]:
        """`count` questions, each with its aim."""
        aims = self.random.choices(list(AIMS), weights=list(AIMS.values()), k=count)
        for aim in aims:
            request = self._aimed(aim)
            if self.random.random() < MOVED:
                request = self._moved(request)
            yield aim, self._dressed(request)

    def _aimed(self, aim: str) -> Request:
        match aim:
            case "allow" if self.allows:
                return self._at(self.allows, far=False)
            case "deny" if self.denies or self.allows:
                return self._at(self.denies or self.allows, far=False)
            case "depth" if self.denies or self.allows:
                return self._at([*self.allows, *self.denies], far=True)
            case "owner" if self.owned:
                return self._by_owner()
            case _:
                target = self._one_of(self.within)
                return Request(self.random.choice(self.users), self._act(target), target, self.now)

    def _at(self, grants: Sequence[Granted], *, far: bool) -> Request:
        """A user that the grant applies to, about an entity in its scope."""
        snapshot = self.snapshot
        privilege, grant = self.random.choice(grants)
        id = self._place(snapshot.bitmaps[grant.scope] & self.within, far=far)
        target = snapshot.coded.tree.entity(id)
        holders = sorted(grant.principals)
        if grant.owners is not None:
            holders = [owner for owner, _ in snapshot.coded.owners.of(id)]
        user = self._below(self.random.choice(holders), far=far) if holders else self._somebody()
        return Request(user, self._act(target, privilege), target, self.now)

    def _place(self, inside: BitMap, *, far: bool) -> int:
        """One of the entities; `far`: the deepest of a few."""
        tree = self.snapshot.coded.tree
        few = [inside[self.random.randrange(len(inside))] for _ in range(4 if far else 1)]
        return max(few, key=lambda id: sum(1 for _ in tree.ancestors(id))) if far else few[0]

    def _by_owner(self) -> Request:
        owner = self.random.choice(list(self.owned))
        target = self._one_of(self.owned[owner])
        return Request(self._below(owner, far=False), self._act(target), target, self.now)

    def _below(self, id: int, *, far: bool) -> Principal:
        """A user that acts as the principal; `far`: through groups as long as possible."""
        memberships = self.snapshot.coded.memberships
        for _ in range(len(memberships.principals)):
            members = sorted(memberships.members.get(id, ()))
            if not members or memberships.principals[id].kind == USER:
                break
            inner = [member for member in members if memberships.principals[member].kind != USER]
            id = self.random.choice(inner if far and inner else members)
        principal = memberships.principals[id]
        return principal if principal.kind == USER else self._somebody()

    def _somebody(self) -> Principal:
        return self.random.choice(self.users)

    def _one_of(self, ids: BitMap) -> Entity:
        return self.snapshot.coded.tree.entity(ids[self.random.randrange(len(ids))])

    def _act(self, target: Entity, privilege: str = "") -> str:
        """An operation on the target whose rule has the privilege, or the privilege itself."""
        key = (target.type, privilege)
        if key not in self.asking:
            self.asking[key] = sorted(self._acts(*key))
        known = self.asking[key]
        if privilege and (not known or self.random.random() < 0.3):
            return privilege
        return self.random.choice(known or sorted(self.snapshot.model.privileges))

    def _acts(self, type: str, privilege: str) -> Iterator[str]:
        for operation in self.snapshot.model.operations.values():
            rule = operation.rule_or_none(type)
            if rule is not None and (not privilege or privilege in privileges_in(rule)):
                yield operation.name

    def _moved(self, request: Request) -> Request:
        """The request with another caller, another operation, or a neighbouring entity."""
        tree = self.snapshot.coded.tree
        match self.random.choice(("who", "what", "act")):
            case "who":
                return replace(request, principal=self._somebody())
            case "act":
                return replace(request, operation=self._act(request.target))
            case _:
                id = tree.find(request.target) or 0
                beside = min(max(0, id + self.random.choice((-2, -1, 1, 2))), len(tree) - 1)
                target = tree.entity(beside)
                is_same = beside in self.within and target.type == request.target.type
                return replace(request, target=target) if is_same else request

    def _dressed(self, request: Request) -> Request:
        """The request; some get active roles, or sub-resources that a constraint may name."""
        if self.random.random() >= DRESSED:
            return request
        if not self.snapshot.model.choosing:
            held = self.snapshot.subject(request.principal).named
            roles = sorted(principal for principal in held if principal.kind == ROLE)
            few = self.random.sample(roles, min(len(roles), 2))
            return replace(request, roles=frozenset(few))
        tags = self.snapshot.of_type("tag")
        named = [value for value in self._constrained() if value]
        chosen = self.random.choice(named) if named else ()
        subresources = [Entity("tag", name) for name in chosen] or [self._one_of(tags)]
        return replace(request, subresources=tuple(subresources[: self.random.randint(1, 3)]))

    def _constrained(self) -> Iterator[tuple[str, ...]]:
        """The values in the constraints of a few grants."""
        for _, grant in self.random.sample(self.allows, min(20, len(self.allows))):
            for criterion in grant.constraint or ():
                yield criterion.values
