"""Drops a container of people (a Gravitino metalake), or one of its members, without leftovers.

The entities below it are dropped with it. But its memberships and role assignments are stored by
name, and would reappear with a new container or role of that name.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyroaring import BitMap

from lakewarden.kernel.change import EntityDropped, MembershipChanged, PrincipalChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import ROLE, Principal, members_of
from lakewarden.kernel.relations import MembershipRow
from lakewarden.service.grant import removal_changes
from lakewarden.service.member import is_elsewhere, remove
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction


def drop(transaction: WriteTransaction, realm: str, container: Entity) -> None:
    """Removes the container with everything below it, including its roles and records of people.

    A user or a group is removed from its container. Raises `Unknown` if it is not stored.
    """
    state = transaction.realm(realm)
    kind = state.system.model.principal_kind(container)
    is_person = kind is not None and kind[0] != ROLE
    if is_person and state.system.spelling.parent(container) is not None:
        remove(transaction, realm, container)
        return
    people = _people(state, container)
    roles = frozenset(principal for principal in people.values() if principal.kind == ROLE)
    sets = roles | {members_of(container.name)}
    removed = (
        principal
        for record, principal in people.items()
        if not is_elsewhere(state, principal, {record})
    )
    transaction.change(
        realm,
        *(MembershipChanged(row, False) for row in _members(state, sets)),
        *removal_changes(state, roles),
        *(PrincipalChanged(principal, False) for principal in sorted(set(removed))),
    )
    transaction.change(realm, EntityDropped(container))


def _people(state: RealmState, container: Entity) -> dict[Entity, Principal]:
    """The users, groups and roles with a record in the container, by their entities."""
    snapshot, model = state.matrix.snapshot, state.system.model
    tree = snapshot.coded.tree
    id = tree.find(container)
    if id is None:
        return {}
    types = (name for name, declared in model.types.items() if declared.principal)
    of_people = BitMap.union(BitMap(), *map(snapshot.of_type, types))
    below = (tree.entity(other) for other in tree.subtree(id) & tree.stored & of_people)
    kinds = ((entity, model.principal_kind(entity)) for entity in below)
    return {entity: Principal(*kind) for entity, kind in kinds if kind is not None}


def _members(state: RealmState, sets: frozenset[Principal]) -> Iterator[MembershipRow]:
    """The members of any of the sets, and the memberships of the sets themselves."""
    memberships = state.matrix.snapshot.coded.memberships
    rows = set[MembershipRow]()
    for set_ in sets:
        id = memberships.ids.get(set_)
        if id is not None:
            rows |= {
                MembershipRow(memberships.principals[m], set_)
                for m in memberships.members.get(id, ())
            }
            rows |= {
                MembershipRow(set_, memberships.principals[g]) for g in memberships.of.get(id, ())
            }
    yield from sorted(rows)
