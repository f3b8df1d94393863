"""Owners of entities: read and replace them."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.kernel.change import OwnerChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import OwnerRow
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction


def owners_of(state: RealmState, entity: Entity) -> list[OwnerRow]:
    """The owner rows of the entity; empty if it is not stored."""
    coded = state.matrix.snapshot.coded
    id = coded.tree.find(entity)
    rows = () if id is None else coded.owners.of(id)
    return [
        OwnerRow(entity, coded.memberships.principals[owner], coded.ownerships[label])
        for owner, label in rows
    ]


def owned_by(state: RealmState, owner: Principal, container: Entity) -> Iterator[OwnerRow]:
    """The owner rows of the owner for the container and its descendants."""
    snapshot = state.matrix.snapshot
    id, place = snapshot.coded.memberships.ids.get(owner), snapshot.coded.tree.find(container)
    if id is None or place is None or id not in snapshot.owned_by:
        return
    tree = snapshot.coded.tree
    for owned in snapshot.owned_by[id] & tree.subtree(place):
        yield from (row for row in owners_of(state, tree.entity(owned)) if row.owner == owner)


def set_owner(transaction: WriteTransaction, realm: str, entity: Entity, owner: Principal) -> None:
    """Makes the principal the entity's only owner. Raises `Unknown` if it is not stored."""
    new = OwnerRow(entity, owner)
    rows = owners_of(transaction.realm(realm), entity)
    removed = (OwnerChanged(row, False) for row in rows if row != new)
    transaction.change(realm, *removed, OwnerChanged(new, True))
