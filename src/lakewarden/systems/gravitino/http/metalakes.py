"""Metalakes: list, create, load, alter, enable, disable, drop.

The creator of a metalake becomes its first user and its owner.
SOURCE: gravitino reference 3.1, 4.3, 4.4 and 6.1.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.change import (
    AttributeChanged,
)
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.service import container_removal, member
from lakewarden.service.effect import DocumentChanged
from lakewarden.service.state import RealmState
from lakewarden.service.switched_off import is_off
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http import object_store
from lakewarden.systems.gravitino.http.authorization import (
    allow,
    entity,
    is_stored,
    listed,
    write,
)
from lakewarden.systems.gravitino.http.bodies import Body, Json, Switch, created, is_on, ok, read
from lakewarden.systems.gravitino.http.errors import in_use, non_empty
from lakewarden.systems.gravitino.http.kinds import METALAKE, described, plain
from lakewarden.systems.gravitino.http.metalake_renaming import rename
from lakewarden.systems.gravitino.http.updates import SHARED, apply_shared, read_updates


class Create(Body):
    """The body of POST /metalakes."""

    name: str
    comment: str | None = None
    properties: dict[str, str] | None = None


def list_all(exchange: Exchange) -> Reply:
    """The metalakes of which the caller is a user."""
    metalakes = listed(exchange, "metalake.list")
    bodies = object_store.documents(exchange, metalakes)
    return ok(metalakes=[plain(e.name, body) for e, body in zip(metalakes, bodies, strict=True)])


def create(exchange: Exchange) -> Reply:
    """A new metalake, with the caller as owner and first user."""
    body = read(exchange, Create)
    gravitino.check_new_name("metalake", body.name)
    new = gravitino.parse("metalake", body.name)
    document = described(body.comment, body.properties)

    def add_metalake(transaction: WriteTransaction) -> Json:
        stored = object_store.add(exchange, transaction, new, document)
        _add_first_user(exchange, transaction, new)
        return stored

    stored = write(exchange, "metalake.create", NO_RESOURCE, add_metalake)
    return ok(metalake=plain(body.name, stored))


def _add_first_user(exchange: Exchange, transaction: WriteTransaction, metalake: Entity) -> None:
    state = transaction.realm(exchange.realm)
    user = exchange.actor.principal(state.realm, state.system)
    record = gravitino.entity(metalake.name, "user", user.name)
    member.add(transaction, exchange.realm, record)
    audit = created(exchange.actor.user, transaction.now)
    transaction.change(exchange.realm, DocumentChanged(record, {"audit": audit}))


def load(exchange: Exchange) -> Reply:
    """One metalake."""
    metalake = entity(exchange, "metalake")
    allow(exchange, "metalake.load", metalake)
    return ok(metalake=plain(metalake.name, object_store.document(exchange, metalake)))


def alter(exchange: Exchange) -> Reply:
    """The metalake after the updates, all of them or none."""
    metalake = entity(exchange, "metalake")
    updates = read_updates(exchange, SHARED)

    def apply_updates(transaction: WriteTransaction) -> Json:
        draft = object_store.draft(transaction, exchange.realm, metalake)
        for update in updates:
            apply_shared(draft, update)
        name, draft.name = draft.name, metalake.name
        object_store.save(exchange, transaction, metalake, draft)
        if name != metalake.name:
            rename(exchange, transaction, metalake, name)
        return plain(name, draft.body)

    return ok(metalake=write(exchange, "metalake.alter", metalake, apply_updates))


def enable(exchange: Exchange) -> Reply:
    """Enables or disables the metalake."""
    return switch(exchange, "metalake")


def switch(exchange: Exchange, type: str) -> Reply:
    """Enables or disables a metalake or a catalog.

    The attribute decides; the property is only shown while the object is disabled.
    """
    target = entity(exchange, type)
    on = read(exchange, Switch).in_use

    def set_in_use(transaction: WriteTransaction) -> None:
        draft = object_store.draft(transaction, exchange.realm, target)
        draft.properties.pop(gravitino.IN_USE, None)
        if not on:
            draft.properties[gravitino.IN_USE] = "false"
        object_store.save(exchange, transaction, target, draft)
        values = () if on else ("false",)
        transaction.change(exchange.realm, AttributeChanged(target, gravitino.IN_USE, values))

    write(exchange, f"{type}.set", target, set_in_use)
    return ok()


def drop(exchange: Exchange) -> Reply:
    """Removes the metalake with all that is in it; `dropped` is false if there was none."""
    metalake = entity(exchange, "metalake")

    def drop_metalake(transaction: WriteTransaction) -> bool:
        state = transaction.realm(exchange.realm)
        if not is_stored(state, metalake):
            return False
        check_drop(exchange, state, metalake, "catalog")
        container_removal.drop(transaction, exchange.realm, metalake)
        return True

    return ok(dropped=write(exchange, "metalake.drop", metalake, drop_metalake, missing=None))


def check_drop(
    exchange: Exchange,
    state: RealmState,
    container: Entity,
    below: str,
    *,
    besides: Collection[str] = (),
) -> None:
    """Raises `Failure` 409 unless the drop is forced, or the object is disabled and empty.

    It is empty if it contains nothing of the type `below` except the names in `besides`.
    """
    if is_on(exchange, "force"):
        return
    if not is_off(state, container):
        raise in_use(container.type, gravitino.full_name(container))

    def counts(entity: Entity) -> bool:
        return entity.type == below and object_store.last(entity) not in besides

    if object_store.children(state, container, counts):
        raise non_empty(container.type, gravitino.full_name(container))


ROUTES: Final = (
    Route("GET", "/api/metalakes", "metalake.list", list_all),
    Route("POST", "/api/metalakes", "metalake.create", create),
    Route("GET", METALAKE, "metalake.load", load),
    Route("PUT", METALAKE, "metalake.alter", alter),
    Route("PATCH", METALAKE, "metalake.set", enable),
    Route("DELETE", METALAKE, "metalake.drop", drop),
)
