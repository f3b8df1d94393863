"""Grants of others as statements of the realm: the statements that would make the realm allow them.

The reverse of a push needs no second mapping: for a user who holds a privilege that the realm
denies, the explanation lists the ways to turn the denial, and such a way is the statement. A way
that would allow more on the object than is held there is rejected. Nothing is changed: the result
is a proposal, as a policy file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from lakewarden.engines.mapping import EngineMapping
from lakewarden.kernel.advice import Need, Way
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.explain import explain
from lakewarden.kernel.model import NONE, Operation
from lakewarden.kernel.principal import ROLE, Principal, members_of
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.names.canonical import check_text
from lakewarden.pushdown.drift import OWNER, THROUGH, ForeignGrant, Holdings
from lakewarden.pushdown.grants import Grant, Path
from lakewarden.pushdown.target_objects import Scope
from lakewarden.service.policy import Policy, written
from lakewarden.service.preview import Draft
from lakewarden.service.state import RealmState

MOST: Final = 2_000
"""The most grants that one proposal considers; the others are listed."""

_NO_PRIVILEGE: Final = "the realm's model has no privilege for it"
_LEFT_OUT: Final = "the realm allows it, but a push leaves it out; its plan says why"


@dataclass(frozen=True, slots=True, order=True)
class NotAdopted:
    """A grant of others that the proposal leaves out, and why."""

    grantee: str
    grant: Grant
    why: str


@dataclass(frozen=True, slots=True)
class Adoption:
    """A proposal: statements, roles with their members, and the grants that it leaves out.

    `gained` is what users would gain from it beyond what they hold, by grant.
    """

    realm: str
    statements: Mapping[str, Statement]
    members: frozenset[MembershipRow]
    left: Sequence[NotAdopted]
    gained: Mapping[Grant, frozenset[str]] = field(default_factory=dict)

    @property
    def draft(self) -> Draft:
        """The changes of the proposal as a draft, to preview them."""
        return Draft(put=tuple(self.statements.values()), joined=sorted(self.members))

    def policy(self) -> dict[str, object]:
        """The contents of a policy file for `lakewarden plan` and `apply`."""
        roles = frozenset(row.of for row in self.members)
        return written(Policy(self.statements, roles, self.members), self.realm)

    def table(self) -> dict[str, Any]:
        """The proposal and the grants that it leaves out, as JSON values."""
        return {
            "policy": self.policy(),
            "left": [msgspec.to_builtins(one) for one in self.left],
            "gained": [
                {"path": list(grant.path), "privilege": grant.privilege, "users": sorted(users)}
                for grant, users in sorted(self.gained.items())
            ],
        }


@dataclass(frozen=True, slots=True)
class GrantedByOthers:
    """Grants of others, as acts of the engine, and the grantee that stands for everyone.

    `acts` are the acts that some privilege of the target stands for; by default all of them. A
    user who holds any privilege on an object may also do the acts that `seen` has for it.
    """

    grants: Sequence[ForeignGrant]
    everyone: str
    acts: frozenset[str] | None = None
    seen: Mapping[Path, frozenset[str]] = field(default_factory=dict)


def adoption(
    realm: RealmState,
    mapping: EngineMapping,
    scope: Scope,
    target: str,
    others: GrantedByOthers,
    now: float,
) -> Adoption:
    """The proposal for the grants that the realm denies to some of their holders."""
    return _Proposal(realm, mapping, scope, target, others, now).build()


@dataclass(frozen=True, slots=True)
class _GrantOption:
    """A way to turn a denial, and the acts on the object that it also allows and nobody holds."""

    way: Way
    beyond: set[str]

    @property
    def is_usable(self) -> bool:
        return bool(self.way.needs) and not (self.way.lifted or self.way.joins or self.beyond)


def _rejection_reason(ways: Sequence[_GrantOption]) -> str:
    """Why none of the ways fits."""
    given = [one for one in ways if one.way.needs and not one.way.lifted]
    if given:
        beyond = min((sorted(one.beyond) for one in given), key=len)
        return f"a statement that allows it would also give {', '.join(beyond)}"
    lifted = sorted({id for one in ways for id in one.way.lifted})
    if lifted:
        return f"the realm denies it: {', '.join(lifted)}"
    return "no grant of the realm gives it"


class _Proposal:
    """Collects the statements for each grantee."""

    def __init__(
        self,
        realm: RealmState,
        mapping: EngineMapping,
        scope: Scope,
        target: str,
        others: GrantedByOthers,
        now: float,
    ) -> None:
        self._acts = frozenset(mapping.engine.acts) if others.acts is None else others.acts
        self._seen, self._foreign = others.seen, others.grants
        self._realm, self._mapping, self._scope, self._now = realm, mapping, scope, now
        self._target, self._everyone = target, others.everyone
        self._left: list[NotAdopted] = []
        self._entities = self._entities_by_path()

    def build(self) -> Adoption:
        statements: dict[str, Statement] = {}
        members: set[MembershipRow] = set()
        for grantee, grants in self._by_grantee().items():
            needs: dict[Entity, set[str]] = {}
            for one in grants:
                for need in self._needs(one, grants):
                    needs.setdefault(need.entity, set()).add(need.privilege)
            if not needs:
                continue
            try:
                to, joined = self._realm_grantee(grantee, grants)
            except BadInput as error:
                self._left += [NotAdopted(grantee, one.grant, error.message) for one in grants]
                continue
            members.update(joined)
            for entity in sorted(needs):
                id = f"{self._target}-{grantee}-{entity.type}-{entity.name}"
                statements[id] = Statement(
                    id, Effect.ALLOW, frozenset(needs[entity]), On(entity), frozenset({to})
                )
        return Adoption(
            self._realm.realm.name, statements, frozenset(members), sorted(set(self._left))
        )

    def _by_grantee(self) -> Mapping[str, list[ForeignGrant]]:
        found: dict[str, list[ForeignGrant]] = {}
        denied = [one for one in self._foreign if one.denied]
        for one in denied[:MOST]:
            found.setdefault(one.grantee, []).append(one)
        for one in denied[MOST:]:
            self._omit(one, f"only the first {MOST:,} grants are examined")
        return dict(sorted(found.items()))

    def _realm_grantee(
        self, grantee: str, grants: Iterable[ForeignGrant]
    ) -> tuple[Principal, list[MembershipRow]]:
        """The grantee in the realm: all members for everyone, otherwise a role with its users."""
        if grantee == self._everyone:
            return members_of(self._scope.metalake), []
        name = f"{self._scope.metalake}:{self._target}-{grantee}"
        check_text(name, "role")
        role = Principal(ROLE, name)
        users = sorted({user for one in grants for user in one.users})
        return role, [MembershipRow(self._user(user), role) for user in users]

    def _user(self, name: str) -> Principal:
        return self._realm.system.identities.user(name)

    def _needs(self, one: ForeignGrant, beside: Sequence[ForeignGrant]) -> frozenset[Need]:
        """The needs that would allow the grant; empty if the realm cannot express it."""
        act = one.grant.privilege
        if act == OWNER:
            return self._reject(one, "it is ownership in the target; owners are set in the realm")
        if THROUGH in act:
            return self._reject(
                one, "it comes from the rights of another account, not from a grant"
            )
        if act not in self._mapping.engine.acts:
            return self._reject(one, _NO_PRIVILEGE)
        operation = self._realm.matrix.operation(self._mapping.operation(act))
        entities = [
            entity
            for entity in self._entities.get(one.grant.path, ())
            if entity.type in operation.rules
        ]
        if NONE in operation.rules:
            return self._reject(one, _NO_PRIVILEGE)
        if len(entities) != 1:
            return self._reject(one, "the realm has no entity of that name")
        held = {each.grant.privilege for each in beside if each.grant.path == one.grant.path}
        held |= self._seen.get(one.grant.path, frozenset())
        alike = self._acts_with_same_rule(operation, entities[0].type) - held
        needs: set[Need] = set()
        for user in one.denied:
            request = Request(self._user(user), operation.name, entities[0], self._now)
            if self._realm.matrix.decide(request).allow:
                continue
            ways = [
                _GrantOption(way, alike | self._opened_acts(way) - held)
                for way in explain(self._realm.matrix, request).ways
            ]
            usable = next((each.way for each in ways if each.is_usable), None)
            if usable is None:
                return self._reject(one, _rejection_reason(ways))
            needs.update(usable.needs)
        return frozenset(needs) if needs else self._reject(one, _LEFT_OUT)

    def _acts_with_same_rule(self, operation: Operation, type: str) -> set[str]:
        """The acts with the same rule: a way that allows one of them allows all."""
        rule, matrix = operation.rule_or_none(type), self._realm.matrix
        return {
            act
            for act in self._acts
            if matrix.operation(self._mapping.operation(act)).rule_or_none(type) == rule
        }

    def _opened_acts(self, way: Way) -> set[str]:
        return {act for act in self._acts if self._mapping.operation(act) in way.opens}

    def _reject(self, one: ForeignGrant, why: str) -> frozenset[Need]:
        self._omit(one, why)
        return frozenset()

    def _omit(self, one: ForeignGrant, why: str) -> None:
        self._left.append(NotAdopted(one.grantee, one.grant, why))

    def _entities_by_path(self) -> Mapping[Path, list[Entity]]:
        """The stored entities of the database, by their names in it."""
        tree, parts = self._realm.matrix.snapshot.coded.tree, self._realm.system.spelling.parts
        top = tuple(filter(None, (self._scope.metalake, self._scope.catalog)))
        paths = {one.grant.path for one in self._foreign if one.denied}
        found: dict[Path, list[Entity]] = {}
        for id in tree.stored:
            entity = tree.entity(id)
            names = tuple(parts(entity))
            if names[: len(top)] == top and names[len(top) :] in paths:
                found.setdefault(names[len(top) :], []).append(entity)
        return found


def with_gained_access(
    proposal: Adoption,
    before: Mapping[Grant, frozenset[str]],
    after: Mapping[Grant, frozenset[str]],
    foreign: Iterable[ForeignGrant],
) -> Adoption:
    """The proposal with what users would gain from it beyond what they hold."""
    held: dict[Grant, set[str]] = {}
    for one in foreign:
        held.setdefault(one.grant, set()).update(one.users)
    gained = {
        grant: users - before.get(grant, frozenset()) - held.get(grant, set())
        for grant, users in after.items()
    }
    return replace(proposal, gained={grant: users for grant, users in gained.items() if users})


def redundant(
    holdings: Holdings, foreign: Iterable[ForeignGrant], allowed: Mapping[Grant, frozenset[str]]
) -> Iterator[tuple[str, Grant]]:
    """Grants of others that are redundant: all of their holders have them through our roles.

    Grants are not redundant if a user unknown to the realm or everyone holds them. Grants of owners
    and `kept` grants are not redundant either.
    """
    for one in foreign:
        reached = holdings.reached(one.grantee)
        known = {*one.users, *(holdings.members.keys() - holdings.accounts)}
        has_others = holdings.everyone in reached or not reached <= known
        is_kept = (one.grantee, one.grant) in holdings.kept
        if not (has_others or is_kept) and {*one.users} <= allowed.get(one.grant, frozenset()):
            yield one.grantee, one.grant
