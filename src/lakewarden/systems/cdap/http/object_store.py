"""How objects are stored: an entity in the kernel's tree, and a document beside it.

A document has one member for each kind of data of an entity (`config`, `preferences`, …); each
module owns the members that it names. The effects of a creation or a deletion are declared by its
operation: `holds` grants the creator every action, `drop` removes all grants on the deleted entity.
Unless an operation says so, grants stay as they are.
SOURCE: cdap reference 2 (K12, K25) and 1.1.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from pyroaring import BitMap

from lakewarden.http.exchange import Exchange
from lakewarden.kernel.change import EntityAdded, EntityDropped
from lakewarden.kernel.entity import Entity
from lakewarden.service.effect import DocumentChanged
from lakewarden.service.entities import DROP
from lakewarden.service.ports import Reading
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http.authorization import is_on, is_stored
from lakewarden.systems.cdap.http.bodies import Json
from lakewarden.systems.cdap.http.errors import not_found
from lakewarden.systems.cdap.use_cases import pattern_grants

HOLDS = "holds"

METADATA: Final = "metadata"
"""The member with the metadata of users: of a document, or of a part in it."""


def documents(exchange: Exchange, entities: Sequence[Entity]) -> list[Json]:
    """The documents of the entities, in their order; empty if there is none."""
    if not entities:
        return []
    with exchange.service.reading() as reading:
        return documents_in(reading, exchange.realm, entities)


def document(exchange: Exchange, entity: Entity) -> Json:
    """The document of one entity."""
    return documents(exchange, [entity])[0]


def documents_in(reading: Reading, realm: str, entities: Sequence[Entity]) -> list[Json]:
    """As `documents`, within a reading or a write."""
    documents_by_entity = reading.documents(realm, list(entities))
    return [dict(documents_by_entity.get(entity) or {}) for entity in entities]


def document_in(transaction: WriteTransaction, realm: str, entity: Entity) -> Json:
    """The document of one entity, within a write."""
    return documents_in(transaction.store, realm, [entity])[0]


def add(
    exchange: Exchange, transaction: WriteTransaction, operation: str, entity: Entity, body: Json
) -> None:
    """Stores a new entity with its document; its creator gets the grants of the operation.

    Raises `Failure` 404 if its container does not exist.
    """
    above = cdap.parent(entity)
    if above is not None:
        if not is_stored(transaction.realm(exchange.realm), above):
            raise not_found(above)
        ensure(transaction, exchange.realm, above)
    transaction.change(exchange.realm, EntityAdded(entity, above), DocumentChanged(entity, body))
    state = transaction.realm(exchange.realm)
    if is_on(exchange) and HOLDS in state.matrix.operation(operation).effects:
        creator = exchange.actor.principal(state.realm, state.system)
        every = pattern_grants.grantable(state.system.model)
        pattern_grants.grant(transaction, exchange.realm, creator, entity, every)


def ensure(transaction: WriteTransaction, realm: str, entity: Entity) -> None:
    """Stores an entity that exists without having been created, once something depends on it."""
    if not transaction.realm(realm).matrix.snapshot.coded.is_known(entity):
        transaction.change(realm, EntityAdded(entity, cdap.parent(entity)))


def put(transaction: WriteTransaction, realm: str, entity: Entity, **members: object) -> None:
    """Sets members of the entity's document; a None removes the member."""
    ensure(transaction, realm, entity)
    body = {**document_in(transaction, realm, entity), **members}
    document = {name: value for name, value in body.items() if value is not None}
    transaction.change(realm, DocumentChanged(entity, document))


def drop(
    exchange: Exchange, transaction: WriteTransaction, operation: str, *entities: Entity
) -> None:
    """Removes entities with all their contents, the deepest first.

    Grants on all of them, also on names in them that were never stored, are removed if the
    operation says so.
    """
    _drop(exchange, transaction, operation, frozenset(entities), frozenset())


def empty(
    exchange: Exchange, transaction: WriteTransaction, operation: str, entity: Entity
) -> None:
    """Removes the contents of an entity, but not the entity."""
    _drop(exchange, transaction, operation, frozenset({entity}), frozenset({entity}))


def _drop(
    exchange: Exchange,
    transaction: WriteTransaction,
    operation: str,
    containers: frozenset[Entity],
    left: frozenset[Entity],
) -> None:
    """Removes the containers and all their contents, except those that are left.

    COST: all at once, because each change of a realm rebuilds the affected data.
    """
    realm = exchange.realm
    state = transaction.realm(realm)
    tree = state.matrix.snapshot.coded.tree
    ids = BitMap(id for id in map(tree.find, containers) if id is not None)
    stored = {tree.entity(id) for id in tree.below(ids) & tree.stored} - left
    deepest_first = sorted(stored, key=lambda place: (-_depth(place), place))
    transaction.change(realm, *map(EntityDropped, deepest_first))
    if DROP in state.matrix.operation(operation).effects:
        pattern_grants.remove_grants(
            transaction, realm, lambda place: place not in left and is_inside(place, containers)
        )


def is_inside(entity: Entity, containers: Collection[Entity]) -> bool:
    """Whether the entity, by its name, is one of the containers or is inside one.

    >>> is_inside(Entity("program", "sales.a.flow.f"), [Entity("namespace", "sales")])
    True
    """
    at: Entity | None = entity
    while at is not None:
        if at in containers:
            return True
        at = cdap.parent(at)
    return False


def _depth(entity: Entity) -> int:
    above = cdap.parent(entity)
    return 0 if above is None else 1 + _depth(above)
