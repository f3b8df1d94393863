"""A policy set that replaces that of an index: the statements of files, and new memberships."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.facts import spelled_parent
from lakewarden.kernel.grants import affected_privileges
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
    """An entity in an index: its id, the id of its parent or -1, and whether it is stored."""

    id: int
    parent: int
    stored: bool


PlaceLookup = Callable[[Iterable[Entity]], Mapping[Entity, Placed]]
"""Finds the given entities that an index has."""


def policy_of(
    parts: Sequence[Part], index: Index, stated: Iterable[Statement], look_up: PlaceLookup
) -> Policy:
    """The policy of the files; `stated` are the statements of the index.

    Raises `BadInput` like `lakewarden.service.policy.read`.
    """
    named: set[Entity] = set()

    def store(entity: Entity) -> bool:
        named.add(entity)
        return True

    read_policy(parts, PolicyContext(index.realm, index.system, store))
    known = {entity for entity, place in look_up(named).items() if place.stored}
    limited = limited_names(stated)
    return read_policy(parts, PolicyContext(index.realm, index.system, known.__contains__, limited))


def after(
    before: TaskContext, stated: Sequence[Statement], policy: Policy, system: System, *, only: bool
) -> TaskContext:
    """The estate with the new policy; `stated` are the previous statements.

    A statement with an existing id replaces the old one. `only`: statements that are not in the
    policy are removed, except immutable ones. Roles and memberships are added.
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


def check_anchors(
    before: TaskContext, after: TaskContext, system: System, look_up: PlaceLookup
) -> None:
    """Raises `BadInput` for a new statement that blocks of the index cannot evaluate fully.

    A statement may reach upwards from an entity. The index has added the real ancestors of such
    entities to every block, but only for the statements of that time. For others, blocks only know
    the ancestors that the name spells, which must be the real ones.
    """
    known = _anchors_of_upward_grants(before, system.model)
    new = _anchors_of_upward_grants(after, system.model) - known
    chains = {entity: list(_spelled(entity, system)) for entity in new}
    places = look_up({entity for chain in chains.values() for entity in chain})
    for entity, chain in chains.items():
        for anchor, above in zip(chain, [*chain[1:], None], strict=True):
            place = places.get(anchor)
            spelled = places.get(above) if above is not None else None
            if place is not None and place.parent != (-1 if spelled is None else spelled.id):
                raise BadInput(
                    f"a new statement on `{entity}` reaches to what is above"
                    " it, which its name does not tell; ingest it, and rebuild the index"
                )


def _anchors_of_upward_grants(context: TaskContext, model: Model) -> set[Entity]:
    return {
        statement.scope.entity
        for statement in context.statements
        if isinstance(statement.scope, On)
        and statement.applies(context.now)
        and any(
            model.privileges[p].reach is Reach.ABOVE for p in affected_privileges(statement, model)
        )
    }


def _spelled(entity: Entity, system: System) -> Iterable[Entity]:
    above: Entity | None = entity
    while above is not None:
        yield above
        above = spelled_parent(system.spelling, above)
