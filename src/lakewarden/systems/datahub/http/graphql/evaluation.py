"""Evaluation of policies for one actor: which apply, and why others do not.

SOURCE: datahub reference 3.10.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.point_evaluator import PointEvaluator
from lakewarden.kernel.principal import GROUP, ROLE, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Statement
from lakewarden.service import statements
from lakewarden.service.state import RealmState

INACTIVE = "Inactive Policy"
OTHER_ACTOR = "Actor did not match"
OTHER_RESOURCE = "Resource does not match"


class Reason(NamedTuple):
    """Why a policy did not apply."""

    policy: str
    reason: str


class EffectiveAccess(NamedTuple):
    """The sources of an actor's privileges, as URNs; privileges by name."""

    roles: list[str]
    groups: list[str]
    groups_with_roles: list[str]
    roles_via_groups: list[str]
    policies: list[str]
    privileges: list[str]


def reasons(state: RealmState, actor: Principal, target: Entity, now: float) -> Iterator[Reason]:
    """The reason for every policy that did not apply."""
    stored = statements.stored(state)
    applying = _applying_statements(state, actor, target, now)
    owning = _owns(state, actor, target)
    for id in sorted(stored):
        statement = stored[id]
        if not statement.applies(now):
            reason = INACTIVE
        elif id in applying:
            continue
        elif _names_actor(state, actor, statement) or (owning and statement.owners is not None):
            reason = OTHER_RESOURCE
        else:
            reason = OTHER_ACTOR
        yield Reason(statement.title or id, reason)


def effective_access(state: RealmState, actor: Principal, now: float) -> EffectiveAccess:
    """The actor's memberships, and the privileges of the policies that name the actor."""
    roles, groups = _memberships_of(state, actor, ROLE), _memberships_of(state, actor, GROUP)
    by_group = {group: _memberships_of(state, group, ROLE) for group in groups}
    policies = {
        id: statement
        for id, statement in statements.stored(state).items()
        if statement.applies(now) and _names_actor(state, actor, statement)
    }
    return EffectiveAccess(
        roles=[role.name for role in roles],
        groups=[group.name for group in groups],
        groups_with_roles=[group.name for group, own in by_group.items() if own],
        roles_via_groups=sorted({role.name for own in by_group.values() for role in own}),
        policies=sorted(policies),
        privileges=sorted({name for policy in policies.values() for name in policy.privileges}),
    )


def _memberships_of(state: RealmState, principal: Principal, kind: str) -> list[Principal]:
    memberships = state.matrix.snapshot.coded.memberships
    id = memberships.ids.get(principal)
    ids = () if id is None else memberships.of.get(id, ())
    return sorted(
        memberships.principals[id] for id in ids if memberships.principals[id].kind == kind
    )


def _names_actor(state: RealmState, actor: Principal, statement: Statement) -> bool:
    return not statement.principals.isdisjoint(state.matrix.snapshot.subject(actor).named)


def _owns(state: RealmState, actor: Principal, target: Entity) -> bool:
    place = state.matrix.snapshot.place(target)
    return isinstance(place, int) and place in state.matrix.snapshot.subject(actor).owned


def _applying_statements(
    state: RealmState, actor: Principal, target: Entity, now: float
) -> set[str]:
    """The statements that grant the actor something on the target, by id."""
    snapshot = state.matrix.snapshot
    point = PointEvaluator(snapshot, snapshot.subject(actor), Request(actor, "", target, now))
    place = snapshot.place(target)
    privileges = {
        name for statement in statements.stored(state).values() for name in statement.privileges
    }
    return {grant.statement.id for name in privileges for grant in point.allowing(name, place)}
