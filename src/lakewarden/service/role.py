"""Roles: creates them, deletes them with all dependents, and assigns them."""

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
from lakewarden.service.grant import Grants, grant_changes, removal_changes
from lakewarden.service.member import container_of, principal_of
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction


def create(
    transaction: WriteTransaction, realm: str, role: Entity, owner: Principal, grants: Grants
) -> None:
    """Creates a role with these privileges and without members.

    Raises `Conflict` if it already exists.
    """
    state = transaction.realm(realm)
    principal = principal_of(state, role)
    transaction.change(
        realm,
        EntityAdded(role, container_of(state, role)),
        PrincipalChanged(principal, True),
        OwnerChanged(OwnerRow(role, owner), True),
        *grant_changes(state, principal, grants),
    )


def delete(transaction: WriteTransaction, realm: str, role: Entity) -> None:
    """Deletes a role with its memberships and grants.

    A new role with the same name starts empty. Raises `Unknown` if it is not stored.
    """
    state = transaction.realm(realm)
    principal = principal_of(state, role)
    effects: list[Change] = [
        *(MembershipChanged(row, False) for row in role_memberships(state, principal)),
        *removal_changes(state, frozenset({principal})),
        EntityDropped(role),
        PrincipalChanged(principal, False),
    ]
    transaction.change(realm, *effects)


def assign_roles(
    transaction: WriteTransaction, realm: str, roles: Iterable[Entity], to: Principal
) -> None:
    """Assigns the roles to a user or group; roles already held stay held."""
    _set_membership(transaction, realm, roles, to, True)


def revoke_roles(
    transaction: WriteTransaction, realm: str, roles: Iterable[Entity], holder: Principal
) -> None:
    """Revokes the roles from a user or group; roles not held are ignored."""
    _set_membership(transaction, realm, roles, holder, False)


def _set_membership(
    transaction: WriteTransaction, realm: str, roles: Iterable[Entity], to: Principal, present: bool
) -> None:
    state = transaction.realm(realm)
    memberships = state.matrix.snapshot.coded.memberships
    id = memberships.ids.get(to)
    groups = () if id is None else memberships.of.get(id, ())
    current = {memberships.principals[group] for group in groups}
    requested = sorted({principal_of(state, role) for role in roles})
    changed = (MembershipRow(to, role) for role in requested if (role in current) is not present)
    transaction.change(realm, *(MembershipChanged(row, present) for row in changed))


def role_memberships(state: RealmState, role: Principal) -> Iterable[MembershipRow]:
    """The members of the role, and its own memberships."""
    memberships = state.matrix.snapshot.coded.memberships
    id = memberships.ids.get(role)
    if id is None:
        return
    for member in sorted(memberships.principals[i] for i in memberships.members.get(id, ())):
        yield MembershipRow(member, role)
    for of in sorted(memberships.principals[i] for i in memberships.of.get(id, ())):
        yield MembershipRow(role, of)
