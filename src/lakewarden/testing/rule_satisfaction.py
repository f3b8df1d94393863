"""Meets rules on purpose: adds what each rule requires to a draft."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.expression import (
    ANCESTORS,
    PARENT,
    PLATFORM,
    REQUEST,
    SELF,
    TYPE,
    And,
    At,
    Compare,
    Every,
    Holds,
    IsSelf,
    May,
    Node,
    Or,
    Owner,
    ServiceAdmin,
    Some,
    children,
)
from lakewarden.kernel.model import ANY, MEMBER, Operation, Privilege, Source
from lakewarden.kernel.principal import (
    ROLE,
    SERVICE_ADMINS,
    USER,
    Principal,
    members_of,
)
from lakewarden.kernel.relations import (
    MembershipRow,
    OwnerRow,
    RelationRow,
)
from lakewarden.kernel.request import Request, Scalar
from lakewarden.kernel.statement import Statement
from lakewarden.testing.statement_generator import StatementGenerator
from lakewarden.testing.world_draft import NOW, OWNERSHIPS, WorldDraft

_GAP = 0.06
"""How often a part of a rule's requirements is left out."""


@dataclass(slots=True)
class Target:
    """A request while it is being arranged."""

    principal: Principal
    operation: str
    target: Entity
    targets: dict[str, Entity] = field(default_factory=dict)
    lists: dict[str, tuple[Entity, ...]] = field(default_factory=dict)
    attributes: dict[str, Scalar] = field(default_factory=dict)
    subresources: tuple[Entity, ...] = ()
    roles: frozenset[Principal] | None = None

    def request(self) -> Request:
        """The request as arranged."""
        return Request(
            principal=self.principal,
            operation=self.operation,
            target=self.target,
            now=NOW,
            targets=dict(self.targets),
            lists=dict(self.lists),
            attributes=dict(self.attributes),
            subresources=self.subresources,
            roles=self.roles,
        )


class RuleSatisfier:
    """Adds what a rule requires to a draft, occasionally with a gap."""

    def __init__(self, draft: WorldDraft, granting: StatementGenerator, aim: Target) -> None:
        self._draft = draft
        self._model = draft.model
        self._granting = granting
        self._aim = aim

    def meet(self, node: Node, entity: Entity, within: Operation | None) -> None:
        """Arranges that the rule of the operation `within` is met on `entity`."""
        draft = self._draft
        leaf = not children(node) and not isinstance(node, May)
        if leaf and draft.often(_GAP):
            return
        match node:
            case And(parts):
                for part in parts:
                    self.meet(part, entity, within)
            case Or(parts):
                self.meet(draft.rng.choice(parts), entity, within)
            case Holds(privilege):
                self._grant(self._model.privileges[privilege], entity)
            case Owner(levels):
                self._own(levels, entity)
            case IsSelf():
                self._be(entity)
            case ServiceAdmin():
                if draft.often(0.3):
                    self._join(SERVICE_ADMINS)
            case At(selector, inner):
                for selected in self._selected(selector, entity, within):
                    self.meet(inner, selected, within)
            case Every(source, inner) | Some(source, inner):
                for other in self._related(source, entity, within):
                    self.meet(inner, other, within)
            case May(name):
                self.ask_for(self._model.operations[name], entity)
            case Compare():
                self._compare(node, entity)
            case _:
                pass

    def ask_for(self, operation: Operation, entity: Entity) -> None:
        """Arranges that the operation is allowed on the entity, if it applies to such entities."""
        rule = operation.rule_or_none(entity.type)
        if rule is not None:
            self.meet(rule, entity, operation)

    def _grant(self, privilege: Privilege, entity: Entity) -> None:
        if privilege.name == MEMBER:
            above = [e for e in self._draft.path(entity) if e.type in self._model.membership_types]
            if above and above[0].name:
                self._join(members_of(above[0].name))
        elif privilege.name not in self._model.self_privileges or self._draft.often(0.9):
            statement = self._granting.open(privilege, entity, self._aim.principal)
            if self._model.choosing and self._draft.often(0.06):
                self._limit(statement)
            else:
                self._draft.statements.append(statement)

    def deny_through_a_role(self, privilege: Privilege, entity: Entity) -> None:
        """Denies the privilege through a role that the user holds, and may then not activate."""
        draft = self._draft
        denied = draft.one(draft.people(ROLE))
        if denied is not None:
            draft.memberships.append(MembershipRow(self._aim.principal, denied))
            draft.statements.append(self._granting.deny(privilege, entity, denied))
            roles = {p for p in draft.acts_as(self._aim.principal) if p.kind == ROLE}
            if draft.often(0.6):
                self._aim.roles = frozenset(roles - {denied})

    def _limit(self, statement: Statement) -> None:
        """The same statement for one sub-resource and for another, and a request with both.

        Each alone is allowed; both together are not, because statements do not add up.
        """
        draft = self._draft
        entities = draft.some(draft.parents, 2, 2)
        for one in entities:
            limited = self._granting.only_for(statement, one)
            draft.statements.append(limited)
        self._aim.subresources = tuple(entities)

    def _join(self, of: Principal) -> None:
        whom = self._draft.rng.choice(self._draft.acts_as(self._aim.principal))
        self._draft.memberships.append(MembershipRow(whom, of))

    def _be(self, entity: Entity) -> None:
        principal = self._draft.as_principal(entity)
        if principal is not None and principal.kind != USER:
            self._join(principal)

    def _own(self, levels: tuple[str, ...], entity: Entity) -> None:
        draft = self._draft
        path = draft.path(entity)
        level = draft.rng.choice(levels)
        owned = [entity] if level == SELF else [e for e in path if e.type == level]
        if owned and owned[0] in draft.parents:
            whom = draft.rng.choice(draft.acts_as(self._aim.principal))
            draft.owners.append(OwnerRow(owned[0], whom, draft.rng.choice(OWNERSHIPS)))

    def _selected(self, selector: str, entity: Entity, within: Operation | None) -> list[Entity]:
        draft = self._draft
        if within is not None and selector.startswith(REQUEST):
            name = selector.removeprefix(REQUEST)
            types = sorted(within.targets[name]) or [ANY]
            chosen = draft.target(draft.rng.choice(types))
            return [self._aim.targets.setdefault(name, chosen)]
        path = draft.path(entity)
        fixed = {PLATFORM: [NO_RESOURCE], TYPE: [Entity(entity.type, "")], PARENT: path[1:2]}
        return fixed.get(selector) or [e for e in path if e.type == selector][:1]

    def _related(self, source: str, entity: Entity, within: Operation | None) -> Sequence[Entity]:
        draft = self._draft
        if source == ANCESTORS:
            return draft.path(entity)[1:]
        if source.startswith(REQUEST):
            name = source.removeprefix(REQUEST)
            types = sorted(within.lists[name]) if within is not None else []
            if name not in self._aim.lists:
                candidates = [draft.target(draft.rng.choice(types or [ANY])) for _ in range(2)]
                self._aim.lists[name] = tuple(
                    e for e in candidates[: draft.rng.randint(1, 2)] if e.name
                )
            return self._aim.lists[name]
        declared = self._model.relations[source]
        related = [r.target for r in draft.relations if r.source == entity and r.kind == source]
        if not related and entity in draft.parents:
            candidates = [draft.target(t) for t in draft.some(draft.types_of(declared.targets))]
            own = draft.own_entities(self._aim.principal, declared.targets)
            if own and draft.often(0.5):
                candidates = own[:1]
            related = [t for t in candidates if t.name and draft.may_be_named(t)]
            draft.relations += [RelationRow(source, entity, t) for t in related]
        stand_ins = [(t, declared.within.get(t.type, t.type)) for t in related]
        return [e for t, type in stand_ins for e in draft.path(t) if e.type == type][:3]

    def _compare(self, node: Compare, entity: Entity) -> None:
        draft = self._draft
        declared = self._model.attributes[node.attribute]
        operand = node.value if not isinstance(node.value, tuple) else draft.rng.choice(node.value)
        value = operand if node.operator != "!=" else _other(operand)
        whose, _, name = node.attribute.partition(".")
        is_requested = declared.source is Source.REQUEST or draft.often(0.3)
        if is_requested and declared.source is not Source.STORED:
            self._aim.attributes[node.attribute] = value
            return
        holder = entity if whose == "resource" else self._own_entity()
        if holder in draft.parents:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            draft.describe(holder, name, text)

    def _own_entity(self) -> Entity:
        principal = self._aim.principal
        return next(
            (e for e in self._draft.parents if self._draft.as_principal(e) == principal),
            NO_RESOURCE,
        )


def _other(value: Scalar) -> Scalar:
    if isinstance(value, bool):
        return not value
    return value + "x" if isinstance(value, str) else value + 1


def privileges_in(node: Node) -> set[str]:
    """The privileges in a rule, on whichever entity they are required."""
    names = {node.privilege} if isinstance(node, Holds) else set[str]()
    return names.union(*map(privileges_in, children(node)))
