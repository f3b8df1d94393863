"""Random worlds: facts and questions for any declared system, drawn from a seed.

A world is made in two steps. First at random: entities in their containers, users in groups
and roles, owners, relations, attributes, and statements of every kind that the model admits.
Then on purpose: for some users and operations, exactly what the rule requires is added,
sometimes with a gap, because rules of many conditions are hardly ever met by accident.
The questions are about both, and about near misses.

Nothing here defines the right answer. The same seed and size always make the same
world, and every name follows its system's grammar.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.expression import (
    Holds,
    IsSelf,
    Node,
    children,
)
from lakewarden.kernel.model import MEMBER, NONE, Source
from lakewarden.kernel.principal import (
    ALL_USERS,
    ANY_GROUP,
    GROUP,
    MASTER,
    ROLE,
    SERVICE_ADMINS,
    USER,
    Principal,
    members_of,
)
from lakewarden.kernel.relations import (
    Facts,
    MembershipRow,
    OwnerRow,
    RelationRow,
)
from lakewarden.kernel.request import Request
from lakewarden.service.defaults import built_in, default_statements
from lakewarden.service.system import System
from lakewarden.testing.rule_satisfaction import RuleSatisfier, Target, privileges_in
from lakewarden.testing.statement_generator import StatementGenerator
from lakewarden.testing.world_draft import ANY_SUBRESOURCE, OWNERSHIPS, WorldDraft

_VALUES = ("high", "low", "1.0", "true", "")


@dataclass(frozen=True, slots=True)
class Size:
    """Approximate numbers of each kind; `goals` are the rules that are met on purpose."""

    entities: int = 24
    users: int = 6
    groups: int = 3
    roles: int = 3
    statements: int = 12
    goals: int = 8


@dataclass(frozen=True, slots=True)
class World:
    """Facts about one realm, and the requests for which they were arranged."""

    system: System
    facts: Facts
    aims: tuple[Request, ...] = ()


def make(system: System, seed: int, size: Size | None = None) -> World:
    """The world of that seed."""
    return _WorldMaker(system, random.Random(seed), size or Size()).make()


class _WorldMaker:
    """Makes one world."""

    def __init__(self, system: System, rng: random.Random, size: Size) -> None:
        self._draft = WorldDraft(system, rng)
        self._model = system.model
        self._rng = rng
        self._size = size
        self._granting = StatementGenerator(self._draft)

    def make(self) -> World:
        """The world; called once."""
        self._entities()
        self._people()
        self._memberships()
        self._metadata()
        shipped = default_statements if self._draft.often(0.1) else built_in
        self._draft.statements += shipped(self._draft.system)
        for _ in range(self._size.statements):
            self._draft.statements.append(self._granting.anything())
        aims = tuple(self._aim() for _ in range(self._size.goals))
        return World(self._draft.system, self._draft.facts(), aims)

    # what there is

    def _entities(self) -> None:
        types = self._draft.listed_types()
        few = len(types) <= self._size.entities // 2
        chosen = types if few else self._with_containers(types)
        for type in self._outermost_first(chosen):
            self._store(type)
        for _ in range(4 * self._size.entities):
            if len(self._draft.parents) >= self._size.entities:
                break
            self._store(self._rng.choice(chosen + self._nested(chosen) * 2))
        if self._draft.often(0.1):
            self._close_a_cycle()

    def _nested(self, types: list[str]) -> list[str]:
        """The types that may contain their own kind."""
        return [t for t in types if t in self._model.types and t in self._model.types[t].parents]

    def _close_a_cycle(self) -> None:
        """Makes two entities each other's ancestors, as in bad data."""
        draft = self._draft
        entities = draft.of_types({draft.one(self._nested(list(self._model.types))) or "-"})
        for child, parent in [draft.some(entities, 2, 2)] if len(entities) > 1 else []:
            if draft.system.spelling.parent(child) is None and child in draft.path(parent):
                draft.parents[child] = parent

    def _with_containers(self, types: list[str]) -> list[str]:
        """A selection of types that fits in a small world."""
        chosen: dict[str, None] = {}
        for type in self._rng.sample(types, len(types)):
            if len(chosen) < max(2, self._size.entities // 2):
                chosen.update(dict.fromkeys(self._and_above(type)))
        return list(chosen)

    def _and_above(self, type: str) -> list[str]:
        chain = [type]
        for at in chain:
            declared = self._model.types.get(at)
            chain += [p for p in (declared.parents if declared else ()) if p not in chain]
        return chain

    def _outermost_first(self, types: list[str]) -> list[str]:
        return sorted(types, key=lambda type: (len(self._and_above(type)), types.index(type)))

    def _store(self, type: str) -> None:
        draft = self._draft
        parent = draft.container_for(type)
        declared = self._model.types.get(type)
        lonely = draft.often(0.5 if parent is None else 0.08)
        if declared is not None and declared.parents and lonely:
            # Where names are judged, an entity may be stored before its container.
            outer = declared.parents[0]
            parent = draft.unstored(outer) if self._model.judged(outer) else parent
        entity = draft.names.entity(type, parent) or draft.names.entity(type, None)
        if entity is None or entity in draft.parents:
            return
        spelled = draft.system.spelling.parent(entity)
        if spelled is not None and not draft.may_be_named(spelled):
            return
        free = spelled is None and (parent is None or draft.may_be_named(parent))
        draft.parents[entity] = (None if draft.often(0.3) else parent) if free else spelled
        if spelled is not None and draft.often(0.06):
            draft.parents[entity] = draft.container_for(type) or spelled

    def _people(self) -> None:
        draft = self._draft
        counts = ((USER, self._size.users), (GROUP, self._size.groups), (ROLE, self._size.roles))
        for entity in draft.parents:
            principal = draft.as_principal(entity)
            if principal is not None and principal not in draft.principals:
                draft.principals.append(principal)
        for kind, count in counts:
            types = [t for t in self._model.types.values() if t.principal == kind]
            for _ in range(6 * count):
                if len(draft.people(kind)) >= count:
                    break
                container = draft.container_for(types[0].name) if types else None
                principal = draft.names.principal(kind, container)
                if principal not in draft.principals:
                    draft.principals.append(principal)

    def _memberships(self) -> None:
        draft = self._draft
        users, groups, roles = (draft.people(kind) for kind in (USER, GROUP, ROLE))
        rows = draft.memberships
        for user in users:
            rows += [MembershipRow(user, g) for g in draft.some(groups, 2, 0)]
            rows += [MembershipRow(user, r) for r in draft.some(roles, 2, 0)]
            for container in draft.of_types(self._model.membership_types or "-"):
                if draft.often(0.7):
                    rows.append(MembershipRow(user, members_of(container.name)))
        for at, group in enumerate(groups):
            rows += [MembershipRow(group, g) for g in draft.some(groups[at + 1 :], 1, 0)]
            rows += [MembershipRow(group, r) for r in draft.some(roles, 1, 0)]
            if draft.often(0.1):
                rows.append(MembershipRow(group, self._rng.choice(groups)))
        for implied in (SERVICE_ADMINS, MASTER, ALL_USERS, ANY_GROUP):
            self._imply(implied, users, roles)

    def _imply(self, implied: Principal, users: list[Principal], roles: list[Principal]) -> None:
        """Adds members that the operator configures, and roles that all members hold."""
        draft = self._draft
        if implied in (SERVICE_ADMINS, MASTER) and draft.often(0.6):
            draft.memberships += [MembershipRow(u, implied) for u in draft.some(users, 1)]
        if draft.often(0.08):
            draft.memberships += [MembershipRow(implied, r) for r in draft.some(roles, 1)]

    def _metadata(self) -> None:
        draft = self._draft
        stored = list(draft.parents)
        for kind, declared in self._model.relations.items():
            sources = draft.of_types(declared.sources)
            targets = draft.of_types(declared.targets)
            for source in draft.some(sources, max(1, len(sources) // 2)):
                for target in draft.some(targets, 2):
                    draft.relations.append(RelationRow(kind, source, target))
                if draft.often(0.1):
                    self._name_only(kind, source)
        owned = [e for e in stored if self._may_be_owned(e)]
        for entity in draft.some(owned, len(owned), len(owned) // 2):
            for owner in draft.some([*draft.people(USER), *draft.people(GROUP)], 2):
                draft.owners.append(OwnerRow(entity, owner, self._rng.choice(OWNERSHIPS)))
        self._attributes(stored)

    def _name_only(self, kind: str, source: Entity) -> None:
        """Adds an edge to an entity that is not stored."""
        draft = self._draft
        type = self._rng.choice(draft.types_of(self._model.relations[kind].targets))
        target = draft.unstored(type) if self._model.judged(type) else None
        if target is not None:
            draft.relations.append(RelationRow(kind, source, target))

    def _may_be_owned(self, entity: Entity) -> bool:
        declared = self._model.types.get(entity.type)
        return declared is None or declared.owned

    def _attributes(self, stored: list[Entity]) -> None:
        draft = self._draft
        names = [
            name.partition(".")[2]
            for name, declared in self._model.attributes.items()
            if declared.source is not Source.REQUEST
        ]
        if any("attribute" in f.origin for f in self._model.fields.values()):
            names += ["urn:li:structuredProperty:tier", "urn:li:structuredProperty:tier2"]
        if names:
            for entity in draft.some(stored, len(stored) // 2, len(stored) // 4):
                name, value = self._rng.choice(names), self._rng.choice(_VALUES)
                draft.describe(entity, name, value)

    # what is asked

    def _aim(self) -> Request:
        draft = self._draft
        users = draft.people(USER) or [Principal(USER, "a")]
        name = draft.act()
        operation = self._model.operations.get(name)
        user = self._rng.choice(users)
        if operation is None:
            privilege = self._model.privilege(name)
            on = self._rng.choice(sorted(privilege.on)) if privilege.on else NONE
            rule: Node = Holds(privilege.name)
        else:
            on = self._rng.choice(list(operation.rules))
            rule = operation.rules[on]
        target = self._self_target(rule, on, user) or draft.target(on)
        aim = Target(user, name, target)
        satisfier = RuleSatisfier(draft, self._granting, aim)
        if operation is None:
            satisfier.meet(rule, target, None)
        elif draft.often(0.85):
            satisfier.ask_for(operation, target)
        named = sorted(privileges_in(rule) - {MEMBER})
        if self._model.denies and named and draft.often(0.1):
            satisfier.deny_through_a_role(self._model.privileges[self._rng.choice(named)], target)
        if self._model.choosing and not aim.subresources and draft.often(0.12):
            aim.subresources = tuple(draft.some([*draft.parents, ANY_SUBRESOURCE]))
        return aim.request()

    def _self_target(self, rule: Node, on: str, user: Principal) -> Entity | None:
        """The user's own entity, for rules and privileges about oneself."""
        draft = self._draft
        if not draft.often(0.4) or not _asks_about_self(rule, self._model.self_privileges):
            return None
        return draft.one(draft.own_entities(user, {on})) if on != NONE else None


def _asks_about_self(node: Node, self_privileges: frozenset[str]) -> bool:
    match node:
        case IsSelf():
            return True
        case Holds(privilege):
            return privilege in self_privileges
        case _:
            return any(_asks_about_self(child, self_privileges) for child in children(node))
