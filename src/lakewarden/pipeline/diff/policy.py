"""A policy set put in the place of that of an index: what files say, and who acts as whom then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.facts import spelled_parent
from lakewarden.kernel.grants import touched
from lakewarden.kernel.implied import is_implied
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.model import Model, Reach
from lakewarden.kernel.principal import IMPLIED, ROLE
from lakewarden.kernel.statement import On, Statement
from lakewarden.pipeline.index.index import Index
from lakewarden.pipeline.index.task_context import TaskContext
from lakewarden.service.policy import (
    Part,
    Policy,
    PolicyContext,
    limited_names,
    read_policy,
)
from lakewarden.service.system import System


@dataclass(frozen=True, slots=True)
class Placed:
    """An entity as an index has it: its id, its parent's or -1, and whether it is stored."""

    id: int
    parent: int
    stored: bool


Look = Callable[[Iterable[Entity]], Mapping[Entity, Placed]]
"""Finds those of some entities that an index knows."""


def policy_of(
    parts: Sequence[Part], index: Index, stated: Iterable[Statement], look: Look
) -> Policy:
    """What the files ask for; `stated` are the statements of the index.

    Raises `BadInput` as `lakewarden.service.policy.read` does.
    """
    named: set[Entity] = set()

    def remember(entity: Entity) -> bool:
        named.add(entity)
        return True

    read_policy(parts, PolicyContext(index.realm, index.system, remember))
    known = {entity for entity, place in look(named).items() if place.stored}
    limited = limited_names(stated)
    return read_policy(parts, PolicyContext(index.realm, index.system, known.__contains__, limited))


def after(
    before: TaskContext, stated: Sequence[Statement], policy: Policy, system: System, *, only: bool
) -> TaskContext:
    """The estate with the policy put in place; `stated` are the statements of before.

    Statements with an id that is there already are replaced. `only`: those of which the policy
    says nothing go, but for those that nobody may change. Roles and memberships are added.
    """
    remaining = {s.id: s for s in stated if not only or s.id in system.model.immutable_ids}
    statements_by_id = {**remaining, **policy.statements}
    implied = [s for s in before.statements if is_implied(s)]
    memberships = _acting(before.memberships, policy)
    for statement in statements_by_id.values():
        for principal in sorted(statement.named):
            memberships, _ = memberships.numbered(principal)
    statements = (*(statements_by_id[id] for id in sorted(statements_by_id)), *implied)
    return replace(before, statements=statements, memberships=memberships, key=uuid4().hex)


def _acting(memberships: Memberships, policy: Policy) -> Memberships:
    for role in sorted(policy.roles):
        memberships = memberships.with_stored(role, stored=True)
    for row in sorted(policy.members):
        for principal in row:
            memberships, id = memberships.numbered(principal)
            if principal.kind not in (IMPLIED, ROLE) and id not in memberships.stored:
                memberships = memberships.with_stored(principal, stored=True)
        if row.of.kind == ROLE and memberships.ids[row.of] not in memberships.stored:
            raise BadInput(f"role `{row.of.name}` is not stored; name it among the `roles`")
        memberships.check_membership(row.member, row.of)
        memberships = memberships.with_membership(row.member, row.of, present=True)
    return memberships


def turned_on(before: TaskContext, after: TaskContext, model: Model) -> frozenset[str] | None:
    """The privileges of which the two may say something else; None: any."""
    sides = before.memberships, after.memberships
    if any(first != second for first, second in zip(*map(_people, sides), strict=True)):
        return None
    old = {s.id: replace(s, title="") for s in before.statements}
    new = {s.id: replace(s, title="") for s in after.statements}
    changed = [s for id in old.keys() | new.keys() for s in _both(old.get(id), new.get(id))]
    return frozenset().union(*(touched(statement, model) for statement in changed))


def _people(memberships: Memberships) -> tuple[object, ...]:
    """Who acts as whom, whoever else is merely named."""
    of = {member: groups for member, groups in memberships.of.items() if groups}
    return memberships.stored, of, memberships.inert


def _both(old: Statement | None, new: Statement | None) -> list[Statement]:
    return [] if old == new else [side for side in (old, new) if side is not None]


def check_anchors(before: TaskContext, after: TaskContext, system: System, look: Look) -> None:
    """Raises `BadInput` for a new statement of which blocks of the index cannot tell all.

    One that reaches upwards from an entity is known by what its name spells to lie above it;
    the index brought the true place of those to every block that statements then named.
    """
    known = _upwards(before, system.model)
    new = _upwards(after, system.model) - known
    chains = {entity: list(_spelled(entity, system)) for entity in new}
    places = look({entity for chain in chains.values() for entity in chain})
    for entity, chain in chains.items():
        for anchor, above in zip(chain, [*chain[1:], None], strict=True):
            place = places.get(anchor)
            spelled = places.get(above) if above is not None else None
            if place is not None and place.parent != (-1 if spelled is None else spelled.id):
                raise BadInput(
                    f"a new statement on `{entity.type}:{entity.name}` reaches to what is above"
                    " it, which its name does not tell; ingest it, and rebuild the index"
                )


def _upwards(context: TaskContext, model: Model) -> set[Entity]:
    return {
        statement.scope.entity
        for statement in context.statements
        if isinstance(statement.scope, On)
        and statement.applies(context.now)
        and any(model.privileges[p].reach is Reach.ABOVE for p in touched(statement, model))
    }


def _spelled(entity: Entity, system: System) -> Iterable[Entity]:
    above: Entity | None = entity
    while above is not None:
        yield above
        above = spelled_parent(system.spelling, above)
