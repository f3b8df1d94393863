"""Users and groups of a container (a Gravitino metalake): adds and removes them.

A user or group is a principal of its directory. A container's record of it is a separate entity
below the container; users with a record are also members of the container. Removal also removes
what the principal holds and owns there, but not the person, its credentials or its records in other
containers.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from lakewarden.kernel.change import (
    Change,
    EntityAdded,
    EntityDropped,
    MembershipChanged,
    OwnerChanged,
    PrincipalChanged,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import ROLE, USER, Principal, members_of
from lakewarden.kernel.relations import MembershipRow
from lakewarden.service.owner import owned_by
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction


def principal_of(state: RealmState, entity: Entity) -> Principal:
    """The user, group or role that the entity also is. Raises `BadInput` if it is none."""
    kind = state.system.model.principal_kind(entity)
    if kind is None:
        raise BadInput(f"a `{entity.type}` is not a user, group or role")
    return Principal(*kind)


def container_of(state: RealmState, entity: Entity) -> Entity:
    """The container of a user, group or role record. Raises `BadInput` at the top level."""
    container = state.system.spelling.parent(entity)
    if container is None:
        raise BadInput(f"a `{entity.type}` has no parent")
    return container


def add(transaction: WriteTransaction, realm: str, record: Entity) -> None:
    """Adds the user or group of `record`. Raises `Conflict` if it exists."""
    state = transaction.realm(realm)
    principal, container = principal_of(state, record), container_of(state, record)
    effects: list[Change] = [EntityAdded(record, container), PrincipalChanged(principal, True)]
    if principal.kind == USER and container.type in state.system.model.membership_types:
        row = MembershipRow(principal, members_of(container.name))
        effects.append(MembershipChanged(row, True))
    transaction.change(realm, *effects)


def remove(transaction: WriteTransaction, realm: str, record: Entity) -> None:
    """Removes the user or group, with its roles and ownerships in the container.

    Raises `Unknown` if it is not there.
    """
    state = transaction.realm(realm)
    principal, container = principal_of(state, record), container_of(state, record)
    effects: list[Change] = [
        *(MembershipChanged(row, False) for row in _memberships(state, principal, container)),
        *(OwnerChanged(row, False) for row in owned_by(state, principal, container)),
        EntityDropped(record),
    ]
    if not is_elsewhere(state, principal, {record}):
        effects.append(PrincipalChanged(principal, False))
    transaction.change(realm, *effects)


def roles_of(state: RealmState, principal: Principal, container: Entity) -> list[Entity]:
    """The roles of the container that are assigned to the principal itself, by name."""
    return sorted(
        role
        for row in _memberships(state, principal, container)
        if (role := _role(row.of)) is not None
    )


def _memberships(
    state: RealmState, principal: Principal, container: Entity
) -> Iterator[MembershipRow]:
    """The principal's own memberships in the container and in its roles."""
    memberships = state.matrix.snapshot.coded.memberships
    id = memberships.ids.get(principal)
    groups = () if id is None else memberships.of.get(id, ())
    for of in sorted(memberships.principals[group] for group in groups):
        role = _role(of)
        inside = role is not None and container_of(state, role) == container
        if inside or of == members_of(container.name):
            yield MembershipRow(principal, of)


def _role(principal: Principal) -> Entity | None:
    """The entity of a role."""
    return Entity(ROLE, principal.name) if principal.kind == ROLE else None


def is_elsewhere(state: RealmState, principal: Principal, records: Container[Entity]) -> bool:
    """Whether the realm has other records of the principal than these."""
    snapshot = state.matrix.snapshot
    tree = snapshot.coded.tree
    ids = snapshot.entities_of([principal]) & tree.stored
    return any(tree.entity(id) not in records for id in ids)
