"""Questions about a random world: the arranged ones, and near misses."""

from __future__ import annotations

import random
from dataclasses import replace

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.model import ANY, NONE, Operation
from lakewarden.kernel.principal import (
    GROUP,
    ROLE,
    USER,
    Principal,
)
from lakewarden.kernel.request import Request, Scalar
from lakewarden.kernel.statement import (
    Matching,
    On,
    Scope,
    Statement,
)
from lakewarden.testing.rule_satisfaction import privileges_in
from lakewarden.testing.world_draft import ANY_SUBRESOURCE, NOW, WorldDraft
from lakewarden.testing.worlds import World


def ask(world: World, seed: int, count: int) -> list[Request]:
    """That many questions about the world, about its contents and near misses."""
    generator = _QuestionGenerator(world, random.Random(seed))
    return [generator.request() for _ in range(count)]


class _QuestionGenerator:
    """Draws questions about a world."""

    def __init__(self, world: World, rng: random.Random) -> None:
        self._world = world
        self._rng = rng
        self._draft = WorldDraft.of(world.system, world.facts, rng)
        self._model = world.system.model

    def request(self) -> Request:
        """One question: an arranged one, or near it; near a statement; or any other."""
        draft = self._draft
        if self._world.aims and draft.often(0.6):
            request = self._rng.choice(self._world.aims)
            if draft.often(0.55):
                request = self._moved(request)
        elif draft.often(0.6):
            naming = [s for s in self._world.facts.statements if s.privileges]
            request = self._near(self._rng.choice(naming)) if naming else self._any()
        else:
            request = self._any()
        return self._with_options(request)

    def _any(self) -> Request:
        name = self._draft.act()
        target = self._about(name)
        operation = self._model.operations.get(name)
        targets = {} if operation is None else self._targets(operation)
        return Request(self._user(), name, target, NOW, targets=targets)

    def _user(self) -> Principal:
        draft = self._draft
        if draft.often(0.05):
            return draft.one(draft.principals) or Principal(USER, "a")
        if draft.often(0.04):
            return draft.names.principal(USER, draft.one(draft.of_types({"metalake"})))
        return draft.one(draft.people(USER)) or Principal(USER, "a")

    def _about(self, name: str) -> Entity:
        """A target of the operation, or of the privilege."""
        draft = self._draft
        operation = self._model.operations.get(name)
        if operation is None:
            privilege = self._model.privilege(name)
            return draft.target(self._rng.choice(sorted(privilege.on) or [NONE]))
        return draft.target(self._rng.choice(list(operation.rules)))

    def _targets(self, operation: Operation) -> dict[str, Entity]:
        draft = self._draft
        return {
            name: draft.target(self._rng.choice(sorted(types) or [ANY]))
            for name, types in operation.targets.items()
            if not draft.often(0.1)
        }

    def _near(self, statement: Statement) -> Request:
        """A principal whom the statement may concern, at or beside its scope."""
        draft = self._draft
        named = sorted(statement.principals)
        users = [u for u in draft.people(USER) if set(named) & set(draft.acts_as(u))]
        user = draft.one(users) or self._user()
        privilege = self._rng.choice(sorted(statement.privileges))
        target = self._inside(statement.scope)
        names = self._asking_for(self._model.privilege(privilege).name, target)
        return Request(user, draft.one(names) or privilege, target, NOW)

    def _inside(self, scope: Scope) -> Entity:
        draft = self._draft
        if isinstance(scope, On):
            near = [scope.entity, scope.entity, *draft.below(scope.entity)]
            return self._rng.choice(near + draft.path(scope.entity))
        if isinstance(scope, Matching):
            stored = draft.of_types({scope.type})
            return draft.one(stored) or draft.target(scope.type)
        return draft.one(list(draft.parents)) or NO_RESOURCE

    def _asking_for(self, privilege: str, target: Entity) -> list[str]:
        """The operations on that target whose rule contains the privilege."""
        return [
            operation.name
            for operation in self._model.operations.values()
            for rule in [operation.rule_or_none(target.type)]
            if rule is not None and privilege in privileges_in(rule)
        ]

    def _moved(self, request: Request) -> Request:
        """The same question by another user, or about another entity nearby."""
        draft = self._draft
        match self._rng.choice(("who", "what", "what", "act", "name", "parts")):
            case "who":
                return replace(request, principal=self._user())
            case "what":
                return replace(request, target=self._beside(request))
            case "act":
                return self._another_act(request)
            case "name":
                named = draft.unstored(request.target.type) if request.target.type else None
                return replace(request, target=named or request.target)
            case _:
                return self._without_a_part(request)

    def _beside(self, request: Request) -> Entity:
        """A sibling, ancestor or descendant, of a type to which the operation applies."""
        draft = self._draft
        target = request.target
        operation = self._model.operations.get(request.operation)
        near = [*draft.path(target), *draft.below(target), *draft.of_types({target.type or "-"})]
        targets = [e for e in near if operation is None or operation.rule_or_none(e.type)]
        return draft.one(targets) or target

    def _another_act(self, request: Request) -> Request:
        names = [
            operation.name
            for operation in self._model.operations.values()
            if operation.rule_or_none(request.target.type) is not None
        ]
        name = self._draft.one(names) or request.operation
        operation = self._model.operations.get(name)
        targets = {} if operation is None else self._targets(operation)
        return replace(request, operation=name, targets={**targets, **request.targets})

    def _without_a_part(self, request: Request) -> Request:
        targets = {k: v for k, v in request.targets.items() if not self._draft.often(0.5)}
        lists = {k: v[: self._rng.randint(0, len(v))] for k, v in request.lists.items()}
        attributes = {k: v for k, v in request.attributes.items() if not self._draft.often(0.5)}
        return replace(request, targets=targets, lists=lists, attributes=attributes)

    def _with_options(self, request: Request) -> Request:
        """The question with optional parts: groups, active roles, sub-resources, attributes."""
        draft = self._draft
        if draft.often(0.12):
            groups = draft.some(draft.people(GROUP)) or [Principal(GROUP, "a")]
            request = replace(request, groups=tuple(groups))
        if request.principal.kind == USER and draft.often(0.15):
            reached = [a for p in (request.principal, *request.groups) for a in draft.acts_as(p)]
            current = sorted({p for p in reached if p.kind == ROLE})
            roles = draft.people(ROLE) if draft.often(0.15) else current
            request = replace(request, roles=frozenset(draft.some(roles, 2, 0)))
        if self._model.choosing and draft.often(0.12):
            subresources = draft.some([*draft.parents, ANY_SUBRESOURCE], 3, 0)
            request = replace(request, subresources=tuple(subresources))
        return self._with_attributes(request) if self._model.attributes else request

    def _with_attributes(self, request: Request) -> Request:
        attributes = dict(request.attributes)
        for name, declared in self._model.attributes.items():
            if self._draft.often(0.1):
                values: tuple[Scalar, ...] = ("high", "low", True, False, 1.0, 1)
                fitting = [
                    v for v in values if declared.type in (type(v), float if v == 1 else str)
                ]
                attributes[name] = self._rng.choice(fitting if self._draft.often(0.9) else values)
        return replace(request, attributes=attributes)
