"""Roles: create, get, list, delete.

A role is both an entity and a principal; its privileges are statements that name it. Whoever may
create roles may put any privilege on any existing object into one: granting the role to somebody
requires more.
SOURCE: gravitino reference 1.3, 3.4, 4.3 and 6.1.
"""

from __future__ import annotations

from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.service import grant, role
from lakewarden.service.effect import DocumentChanged
from lakewarden.service.member import principal_of
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http import object_store
from lakewarden.systems.gravitino.http.authorization import allow, entity, is_stored, listed, write
from lakewarden.systems.gravitino.http.bodies import Body, Json, audit_of, created, ok, read
from lakewarden.systems.gravitino.http.errors import exists
from lakewarden.systems.gravitino.http.kinds import METALAKE
from lakewarden.systems.gravitino.http.sealing import split_secrets
from lakewarden.systems.gravitino.http.securable import (
    ObjectBody,
    audit_details,
    grants_of,
    objects_body,
)
from lakewarden.systems.gravitino.http.updates import checked_properties


class Create(Body):
    """The body of POST …/roles; the list of objects may be empty, but must be present."""

    name: str
    securable_objects: list[ObjectBody]
    properties: dict[str, str] | None = None


def list_roles(exchange: Exchange) -> Reply:
    """The names of the roles that the caller holds or owns; all roles if the caller may see all."""
    roles = listed(exchange, "role.list", entity(exchange, "metalake"))
    return ok(names=[gravitino.full_name(role_entity) for role_entity in roles])


def create(exchange: Exchange) -> Reply:
    """Creates a role, owned by the caller and not yet granted to anybody."""
    metalake = entity(exchange, "metalake")
    body = read(exchange, Create)
    new = object_store.child(metalake, "role", body.name)
    properties, secret = split_secrets(checked_properties(body.properties))

    def create_role(transaction: WriteTransaction) -> Json:
        state = transaction.realm(exchange.realm)
        grants = grants_of(state, metalake.name, body.securable_objects)
        if is_stored(state, new):
            raise exists("role", body.name)
        audit = created(exchange.actor.user, transaction.now)
        document: Json = {"properties": properties, "audit": audit}
        owner = exchange.actor.principal(state.realm, state.system)
        role.create(transaction, exchange.realm, new, owner, grants)
        secrets = object_store.sealed(exchange, new, secret)
        transaction.change(exchange.realm, DocumentChanged(new, document), *secrets)
        return role_body(transaction.realm(exchange.realm), new, document)

    details = {"role": body.name, "objects": audit_details(body.securable_objects)}
    return ok(role=write(exchange, "role.create", metalake, create_role, details=details))


def get(exchange: Exchange) -> Reply:
    """One role, with its privileges."""
    target = entity(exchange, "role")
    state = allow(exchange, "role.load", target)
    return ok(role=role_body(state, target, object_store.document(exchange, target)))


def delete(exchange: Exchange) -> Reply:
    """Deletes a role and its memberships; `dropped` is false if it did not exist."""
    target = entity(exchange, "role")

    def delete_role(transaction: WriteTransaction) -> bool:
        if not is_stored(transaction.realm(exchange.realm), target):
            return False
        role.delete(transaction, exchange.realm, target)
        return True

    dropped = write(exchange, "role.drop", target, delete_role, missing=None)
    return ok(dropped=dropped, deleted=dropped)


def role_body(state: RealmState, target: Entity, document: Json) -> Json:
    """A role in the form of replies."""
    grants = grant.grants_of(state, principal_of(state, target))
    return {
        "name": gravitino.full_name(target),
        "properties": document.get("properties") or {},
        "securableObjects": objects_body(grants, state.system.model),
        "audit": audit_of(document),
    }


_ALL: Final = METALAKE + "/roles"
_ONE: Final = METALAKE + "/roles/{role}"

ROUTES: Final = (
    Route("GET", _ALL, "role.list", list_roles),
    Route("POST", _ALL, "role.create", create),
    Route("GET", _ONE, "role.load", get),
    Route("DELETE", _ONE, "role.drop", delete),
)
