"""Roles: making them, deleting them with all that hangs on them, handing them out."""

from __future__ import annotations

from collections.abc import Iterable

from lakewarden.kernel.change import (
    Change,
    EntityAdded,
    EntityDropped,
    MembershipChanged,
    OwnerChanged,
    PrincipalChanged,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import MembershipRow, OwnerRow
from lakewarden.service.desk import Desk
from lakewarden.service.grant import Given, giving, without
from lakewarden.service.member import container_of, principal_of
from lakewarden.service.state import RealmState


def create(desk: Desk, realm: str, role: Entity, owner: Principal, given: Given) -> None:
    """Makes a role with these privileges, that nobody holds yet.

    Raises `Conflict` where it is there already.
    """
    state = desk.realm(realm)
    principal = principal_of(state, role)
    desk.change(
        realm,
        EntityAdded(role, container_of(state, role)),
        PrincipalChanged(principal, True),
        OwnerChanged(OwnerRow(role, owner), True),
        *giving(state, principal, given),
    )


def delete(desk: Desk, realm: str, role: Entity) -> None:
    """Deletes a role: nobody holds it any more, and nothing is granted to it.

    One that is made again under the same name starts empty. Raises `Unknown` where it is not
    stored.
    """
    state = desk.realm(realm)
    principal = principal_of(state, role)
    effects: list[Change] = [
        *(MembershipChanged(row, False) for row in holdings(state, principal)),
        *without(state, frozenset({principal})),
        EntityDropped(role),
        PrincipalChanged(principal, False),
    ]
    desk.change(realm, *effects)


def hand_out(desk: Desk, realm: str, roles: Iterable[Entity], to: Principal) -> None:
    """Lets a user or group hold the roles; those held already stay held."""
    _hold(desk, realm, roles, to, True)


def take_back(desk: Desk, realm: str, roles: Iterable[Entity], holder: Principal) -> None:
    """Takes the roles from a user or group; those not held stay not held."""
    _hold(desk, realm, roles, holder, False)


def _hold(desk: Desk, realm: str, roles: Iterable[Entity], to: Principal, present: bool) -> None:
    state = desk.realm(realm)
    acting = state.matrix.snapshot.coded.acting
    id = acting.ids.get(to)
    groups = frozenset[int]() if id is None else acting.of.get(id, frozenset())
    held = {acting.principals[group] for group in groups}
    asked = sorted({principal_of(state, role) for role in roles})
    changed = (MembershipRow(to, role) for role in asked if (role in held) is not present)
    desk.change(realm, *(MembershipChanged(row, present) for row in changed))


def holdings(state: RealmState, role: Principal) -> Iterable[MembershipRow]:
    """Who holds the role, and what the role itself belongs to."""
    acting = state.matrix.snapshot.coded.acting
    id = acting.ids.get(role)
    if id is None:
        return
    for member in sorted(acting.principals[i] for i in acting.members.get(id, ())):
        yield MembershipRow(member, role)
    for of in sorted(acting.principals[i] for i in acting.of.get(id, ())):
        yield MembershipRow(role, of)
