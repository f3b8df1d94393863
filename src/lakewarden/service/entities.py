"""Entities of a realm: list, read, store, move and remove them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pyroaring import BitMap

from lakewarden.kernel.change import (
    EntityAdded,
    EntityDropped,
    EntityMoved,
    OwnerChanged,
    StatementRemoved,
)
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.facts import Coded
from lakewarden.kernel.listing import Page, page_of
from lakewarden.kernel.relations import OwnerRow
from lakewarden.kernel.statement import On
from lakewarden.names.label import label
from lakewarden.service import container_removal, control
from lakewarden.service.actor import Actor
from lakewarden.service.cancellation import checked
from lakewarden.service.control import Denied
from lakewarden.service.effect import Effect
from lakewarden.service.page_size import MAX_PAGE, check_page_size
from lakewarden.service.realm import CONTROL
from lakewarden.service.state import RealmState, State
from lakewarden.service.system import System
from lakewarden.service.write_transaction import WriteTransaction

DROP: Final = "drop"
"""The effect of operations that also remove grants on the dropped entity."""


@dataclass(frozen=True, slots=True)
class EntityRecord:
    """A stored entity with its owners, attributes, and related entities by kind."""

    entity: Entity
    parent: Entity | None
    owners: tuple[OwnerRow, ...]
    attributes: dict[str, tuple[str, ...]]
    relations: dict[str, tuple[Entity, ...]]


def listed(  # noqa: PLR0913 — filters, position and caller
    state: State,
    actor: Actor,
    realm: str,
    now: float,
    *,
    type: str | None = None,
    within: str | None = None,
    text: str = "",
    size: int = MAX_PAGE,
    after: str | None = None,
    skip: int = 0,
) -> Page | Denied:
    """A page of the stored entities of a realm, ordered by place.

    `text` filters by a part of the label, ignoring case; `skip` is the number of skipped entities.
    """
    refused = control.denied_in(state, actor, "entity.list", realm, now)
    if refused is not None:
        return refused
    check_page_size(size)
    realm_state = state.realm(realm)
    snapshot, system = realm_state.matrix.snapshot, realm_state.system
    ids = snapshot.coded.tree.stored
    if type is not None:
        system.model.check_type(type)
        ids = ids & snapshot.coded.tree.of_type(type)
    if within is not None:
        number = snapshot.coded.tree.find(system.entity(within))
        above = BitMap() if number is None else BitMap([number])
        ids = ids & (snapshot.coded.tree.below(above) - above)
    if text:
        folded, tree = text.casefold(), snapshot.coded.tree
        ids = BitMap(
            id
            for id in checked(ids)
            if folded in label(tree.entity(id), system.spelling).casefold()
        )
    start = None if after is None else system.entity(after)
    return page_of(realm_state.matrix, ids, size, start, skip)


def load(state: State, actor: Actor, realm: str, text: str, now: float) -> EntityRecord | Denied:
    """One stored entity; raises `Unknown` if it is not stored and the caller may know that."""
    refused = control.denied_in(state, actor, "entity.load", realm, now)
    if refused is not None:
        return refused
    realm_state = state.realm(realm)
    return _stored(realm_state, parse_entity(realm_state, text))


def parse_entity(realm_state: RealmState, text: str) -> Entity:
    """The entity that a text names, stored or not; raises `BadInput`."""
    entity = realm_state.system.entity(text)
    if entity == NO_RESOURCE or not entity.name:
        raise BadInput(f"`{text}` does not name an entity")
    return entity


def _stored(realm_state: RealmState, entity: Entity) -> EntityRecord:
    coded = realm_state.matrix.snapshot.coded
    id = coded.tree.find(entity)
    if id is None or id not in coded.tree.stored:
        raise Unknown("entity", str(entity))
    above = int(coded.tree.parents[id])
    related = {
        kind: tuple(coded.tree.entity(target) for target, _ in edges.of(id))
        for kind, edges in coded.relations.items()
        if edges.of(id)
    }
    return EntityRecord(
        entity,
        coded.tree.entity(above) if above >= 0 else None,
        _owners(coded, id, entity),
        dict(coded.attributes.get(id, {})),
        related,
    )


def _owners(coded: Coded, id: int, entity: Entity) -> tuple[OwnerRow, ...]:
    return tuple(
        OwnerRow(entity, coded.memberships.principals[owner], coded.ownerships[label])
        for owner, label in coded.owners.of(id)
    )


def put(
    transaction: WriteTransaction,
    realm: str,
    text: str,
    parent: str | None = None,
    owners: Sequence[tuple[str, str]] | None = None,
) -> EntityRecord | Denied:
    """Stores a new entity, or moves a stored one; `owners`, if given, replace its owners.

    Without `parent` a new entity is placed by its name. If the name determines the parent, no other
    one is accepted. Owners are pairs of a principal and an ownership type, empty for none. Raises
    `BadInput`, `Unknown`, `Conflict` like the kernel's changes.
    """
    refused = control.authorize_in_realm(transaction, "entity.put", realm, entity=text)
    if refused is not None:
        return refused
    _refuse_control(realm)
    realm_state = transaction.realm(realm)
    entity = parse_entity(realm_state, text)
    above = (
        realm_state.system.spelling.parent(entity)
        if parent is None
        else parse_entity(realm_state, parent)
    )
    if above is not None:
        realm_state.system.check_parent(entity, above)
    coded = realm_state.matrix.snapshot.coded
    if not coded.is_known(entity):
        transaction.change(realm, EntityAdded(entity, above))
    elif parent is not None and _stored(realm_state, entity).parent != above:
        transaction.change(realm, EntityMoved(entity, above))
    if owners is not None:
        transaction.change(realm, *_owner_effects(transaction.realm(realm), entity, owners))
    return _stored(transaction.realm(realm), entity)


def _owner_effects(
    realm_state: RealmState, entity: Entity, owners: Sequence[tuple[str, str]]
) -> Sequence[Effect]:
    declared = realm_state.system.model.types.get(entity.type)
    if owners and declared is not None and not declared.owned:
        raise BadInput(f"a {entity.type} cannot have owners")
    new = {OwnerRow(entity, realm_state.system.principal(owner), kind) for owner, kind in owners}
    old = set(_stored(realm_state, entity).owners)
    removed = [OwnerChanged(row, False) for row in sorted(old - new)]
    return [*removed, *(OwnerChanged(row, True) for row in sorted(new - old))]


def drop(transaction: WriteTransaction, realm: str, text: str) -> Denied | None:
    """Removes an entity with its dependent rows, and the entities inside it by name.

    If entities have members, the removed users, groups and roles lose their grants: a new one with
    the same name starts without any. Does nothing if the entity is not stored.
    """
    refused = control.authorize_in_realm(transaction, "entity.drop", realm, entity=text)
    if refused is not None:
        return refused
    _refuse_control(realm)
    realm_state = transaction.realm(realm)
    entity = parse_entity(realm_state, text)
    if realm_state.matrix.snapshot.coded.is_known(entity):
        removed = [*_inside(realm_state, entity), entity]
        model = realm_state.system.model
        for one in removed if model.membership_types else ():
            if one == entity or model.principal_kind(one) is not None:
                container_removal.drop(transaction, realm, one)
        stored = transaction.realm(realm).matrix.snapshot.coded.is_known
        transaction.change(realm, *map(EntityDropped, filter(stored, removed)))
        transaction.change(realm, *map(StatementRemoved, _dropped_grants(realm_state, entity)))
    return None


def _dropped_grants(realm_state: RealmState, entity: Entity) -> list[str]:
    """The grants on an entity and on the names in it, if the model's deletions remove grants.

    If statements bind to identity, the drop has already removed them. Shipped statements stay.
    """
    system = realm_state.system
    operations = system.model.operations.values()
    if system.model.binds_identity or not any(DROP in one.effects for one in operations):
        return []
    shipped = system.model.default_ids
    return sorted(
        id
        for id, statement in realm_state.matrix.snapshot.table.statements.items()
        if isinstance(statement.scope, On) and not statement.obliges and id not in shipped
        if entity in (statement.scope.entity, *_ancestors_by_name(system, statement.scope.entity))
    )


def _inside(realm_state: RealmState, entity: Entity) -> list[Entity]:
    """The stored entities inside the entity by name that are not dropped with it, deepest first."""
    tree, system = realm_state.matrix.snapshot.coded.tree, realm_state.system
    id = tree.find(entity)
    if id is None or not system.model.judged(entity.type):
        return []
    below = [tree.entity(other) for other in (tree.subtree(id) & tree.stored) - BitMap([id])]
    above = {other: list(_ancestors_by_name(system, other)) for other in below}
    inside = [other for other in below if entity in above[other]]
    return sorted(inside, key=lambda other: (-len(above[other]), other))


def _ancestors_by_name(system: System, entity: Entity) -> Iterator[Entity]:
    """The ancestors of the entity by its name, nearest first."""
    at = system.spelling.parent(entity)
    while at is not None:
        yield at
        at = system.spelling.parent(at)


def _refuse_control(realm: str) -> None:
    if realm == CONTROL:
        raise BadInput(
            f"the entities of `{CONTROL}` are the realms: create and drop realms instead"
        )
