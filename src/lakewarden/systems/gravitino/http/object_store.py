"""How objects are stored: an entity with its owner in the kernel, and a document.

The document of an object is the JSON of its reply, without the name; secret properties are stored
apart, sealed. For a loaded metalake or catalog, members missing from the document come from the
attributes that were loaded with it. A rename also renames all descendants, because their names
begin with the object's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from lakewarden.http.catalog_effects import renaming
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.change import EntityAdded, EntityDropped, OwnerChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.obligations import is_limited
from lakewarden.kernel.relations import OwnerRow
from lakewarden.kernel.statement import Effect as StatementEffect
from lakewarden.service.effect import DocumentChanged, Effect, SecretChanged
from lakewarden.service.ports import Reading
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http.authorization import is_stored
from lakewarden.systems.gravitino.http.bodies import Json, altered, created
from lakewarden.systems.gravitino.http.errors import exists, no_such_entity
from lakewarden.systems.gravitino.http.refusals import names_are_limited
from lakewarden.systems.gravitino.http.sealing import sealing, split_secrets
from lakewarden.systems.gravitino.http.updates import Draft
from lakewarden.systems.gravitino.settings import GravitinoSettings


def child(parent: Entity, type: str, name: str) -> Entity:
    """The entity of that name in a container; raises `BadInput` for a name that is not allowed."""
    gravitino.check_new_name(type, name)
    if parent.type == "metalake":
        return gravitino.entity(parent.name, type, name)
    full = f"{gravitino.full_name(parent)}.{name}"
    return gravitino.entity(gravitino.metalake(parent), type, full)


def last(entity: Entity) -> str:
    """The last part of the name: the name of the object within its container."""
    return gravitino.parts(entity)[-1]


def documents(exchange: Exchange, entities: Sequence[Entity]) -> list[Json]:
    """The documents of the entities, in their order; empty if there is none."""
    if not entities:
        return []
    with exchange.service.reading() as reading:
        return _documents(reading, exchange.realm_state, entities)


def document(exchange: Exchange, entity: Entity) -> Json:
    """The document of one entity."""
    return documents(exchange, [entity])[0]


def draft(transaction: WriteTransaction, realm: str, entity: Entity) -> Draft:
    """The current object, as a draft; raises `Failure` 404 if it is gone."""
    state = transaction.realm(realm)
    if not is_stored(state, entity):
        raise no_such_entity(entity)
    body = _documents(transaction.store, state, [entity])[0]
    body["properties"] = dict(cast("Mapping[str, str]", body.get("properties") or {}))
    return Draft(last(entity), body)


def _documents(reading: Reading, state: RealmState, entities: Sequence[Entity]) -> list[Json]:
    documents_by_entity = reading.documents(state.realm.name, list(entities))
    return [
        {**_loaded_members(state, entity), **(documents_by_entity.get(entity) or {})}
        for entity in entities
    ]


def _loaded_members(state: RealmState, entity: Entity) -> Json:
    """The members that the attributes of a metalake or catalog provide."""
    if entity.type not in ("metalake", "catalog"):
        return {}
    coded = state.matrix.snapshot.coded
    id = coded.tree.find(entity)
    values = {} if id is None else coded.attributes.get(id, {})
    description: Json = {name: values[name][0] for name in gravitino.DESCRIBED if values.get(name)}
    begin = gravitino.PROPERTY
    properties = {
        key.removeprefix(begin): v[0] for key, v in values.items() if key.startswith(begin)
    }
    if values.get(gravitino.IN_USE):
        properties[gravitino.IN_USE] = values[gravitino.IN_USE][0]
    return {**description, "properties": properties} if properties else description


def add(
    exchange: Exchange,
    transaction: WriteTransaction,
    entity: Entity,
    body: Json,
    *,
    owned: bool = True,
) -> Json:
    """Stores a new object, `owned` by the caller or by nobody; returns its document.

    With authorization off the object gets no owner: the caller may not even be a user. Raises
    `Failure` 409 if the object already exists.
    """
    state = transaction.realm(exchange.realm)
    if is_stored(state, entity):
        raise exists(entity.type, gravitino.full_name(entity))
    owner = OwnerRow(entity, exchange.actor.principal(state.realm, state.system))
    has_owner = owned and exchange.services.of(GravitinoSettings).enable
    properties, secret = split_secrets(cast("Mapping[str, str]", body.get("properties") or {}))
    document: Json = {
        **body,
        "properties": properties,
        "audit": created(exchange.actor.user, transaction.now),
    }
    transaction.change(
        exchange.realm,
        EntityAdded(entity, gravitino.parent(entity)),
        *((OwnerChanged(owner, True),) if has_owner else ()),
        DocumentChanged(entity, document),
        *sealed(exchange, entity, secret),
    )
    return document


def save(exchange: Exchange, transaction: WriteTransaction, entity: Entity, draft: Draft) -> Entity:
    """Stores an altered object, under its new name if it was renamed; returns the entity."""
    draft.body["audit"] = altered(draft.body.get("audit"), exchange.actor.user, transaction.now)
    transaction.change(
        exchange.realm,
        DocumentChanged(entity, draft.body),
        *_secrets(exchange, transaction, entity, draft.secrets),
    )
    if draft.name == last(entity):
        return entity
    return rename(exchange, transaction, entity, draft.name)


def rename(exchange: Exchange, transaction: WriteTransaction, entity: Entity, name: str) -> Entity:
    """Renames an object below a metalake; returns the entity.

    Raises `Failure` 409 if the name is taken, and 403 as `refuse_limited` does.
    """
    refuse_limited(exchange, transaction, entity)
    parent = gravitino.parent(entity)
    assert parent is not None  # noqa: S101 — INVARIANT: metalakes have their own way
    renamed = child(parent, entity.type, name)
    if is_stored(transaction.realm(exchange.realm), renamed):
        raise exists(entity.type, gravitino.full_name(renamed))
    transaction.change(
        exchange.realm, *renaming(transaction.realm(exchange.realm), entity, renamed)
    )
    return renamed


def refuse_limited(exchange: Exchange, transaction: WriteTransaction, entity: Entity) -> None:
    """Raises `Failure` 403 if a filter or a mask binds the caller on the object, or inside it.

    Filters and masks follow a rename, but engines keep using the old name: a new object of that
    name would have none.
    """
    state = transaction.realm(exchange.realm)
    request = exchange.actor.request(state.realm, state.system, "", entity, now=transaction.now)
    has_rows = state.system.model.reaches(StatementEffect.FILTER, entity.type)
    if has_rows and is_limited(state.matrix, request):
        raise names_are_limited(entity)


def drop(exchange: Exchange, transaction: WriteTransaction, entity: Entity) -> bool:
    """Removes an object with all descendants; returns False if it does not exist."""
    if not is_stored(transaction.realm(exchange.realm), entity):
        return False
    transaction.change(exchange.realm, EntityDropped(entity))
    return True


def children(state: RealmState, entity: Entity, keep: Callable[[Entity], bool]) -> list[Entity]:
    """The descendants of an entity for which `keep` holds."""
    tree = state.matrix.snapshot.coded.tree
    id = tree.find(entity)
    if id is None:
        return []
    below = (tree.entity(other) for other in tree.subtree(id) & tree.stored if other != id)
    return [entity for entity in below if keep(entity)]


def _secrets(
    exchange: Exchange,
    transaction: WriteTransaction,
    entity: Entity,
    secrets: Mapping[str, str | None],
) -> list[Effect]:
    if not secrets:
        return []
    known = transaction.store.secrets(exchange.realm, entity)
    removed = [key for key, value in secrets.items() if value is None and key in known]
    new = {key: value for key, value in secrets.items() if value is not None}
    return [
        *(SecretChanged(entity, key, None) for key in removed),
        *sealed(exchange, entity, new),
    ]


def sealed(exchange: Exchange, entity: Entity, secrets: Mapping[str, str]) -> list[Effect]:
    """Effects that store secret properties, sealed; raises `Failure` 405 without a key."""
    if not secrets:
        return []
    seal = sealing(exchange).seal
    return [SecretChanged(entity, key, seal(value)) for key, value in secrets.items()]
