"""Shared by users and groups of a metalake: their bodies, and adding and removing.

SOURCE: gravitino reference 3.4, 4.3, 4.4 and 6.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from lakewarden.http.exchange import Exchange, Reply
from lakewarden.kernel.entity import Entity
from lakewarden.names.canonical import quoted
from lakewarden.service import member
from lakewarden.service.effect import DocumentChanged
from lakewarden.service.owner import owners_of
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http.authorization import allow, entity, is_stored, listed, write
from lakewarden.systems.gravitino.http.bodies import Body, Json, audit_of, created, is_on, ok, read
from lakewarden.systems.gravitino.http.errors import exists, illegal, unsupported
from lakewarden.systems.gravitino.http.object_store import documents


class Add(Body):
    """The body that adds a user or a group; further members from newer clients are not stored."""

    name: str
    enabled: bool | None = None

    def record(self, metalake: Entity, type: str) -> Entity:
        """The entity of the new user or group; raises `BadInput` for an invalid name.

        Raises `Failure` 405 for a disabled user or group, which is not supported.
        """
        if self.enabled is False:
            raise unsupported(f"a {type} cannot be disabled; remove it instead")
        gravitino.check_new_name(type, self.name)
        return gravitino.entity(metalake.name, type, self.name)


def list_all(exchange: Exchange, type: str) -> Reply:
    """The users or groups that the caller may see: names, or with `details=true` whole records."""
    records = listed(exchange, f"{type}.list", entity(exchange, "metalake"))
    if not is_on(exchange, "details"):
        return ok(names=[gravitino.full_name(record) for record in records])
    return ok(**{f"{type}s": person_bodies(exchange, exchange.realm_state, records)})


def get_one(exchange: Exchange, type: str) -> Reply:
    """One user or group, with its roles."""
    record = entity(exchange, type)
    state = allow(exchange, f"{type}.load", record)
    return ok(**{type: person_bodies(exchange, state, [record])[0]})


def add_one(exchange: Exchange, type: str) -> Reply:
    """Adds a user or group."""
    metalake = entity(exchange, "metalake")
    record = read(exchange, Add).record(metalake, type)
    name = gravitino.full_name(record)
    body = write(
        exchange,
        f"{type}.add",
        metalake,
        lambda transaction: add(exchange, transaction, record),
        details={type: name},
    )
    return ok(**{type: body})


def remove_one(exchange: Exchange, type: str) -> Reply:
    """Removes a user or group; `removed` is false if there was none."""
    record = entity(exchange, type)
    removed = write(
        exchange,
        f"{type}.remove",
        record,
        lambda transaction: remove_person(exchange, transaction, record),
        missing=None,
    )
    return ok(removed=removed)


def add(exchange: Exchange, transaction: WriteTransaction, record: Entity) -> Json:
    """Adds the user or group, and returns its reply form; raises `Failure` 409."""
    if is_stored(transaction.realm(exchange.realm), record):
        raise exists(record.type, gravitino.full_name(record))
    document: Json = {"audit": created(exchange.actor.user, transaction.now)}
    member.add(transaction, exchange.realm, record)
    transaction.change(exchange.realm, DocumentChanged(record, document))
    return person_body(transaction.realm(exchange.realm), record, document)


def remove_person(exchange: Exchange, transaction: WriteTransaction, record: Entity) -> bool:
    """Removes the user or group; returns False if it does not exist.

    Raises `Failure` 400 for the owner of the metalake.
    """
    state = transaction.realm(exchange.realm)
    if not is_stored(state, record):
        return False
    metalake = Entity("metalake", gravitino.metalake(record))
    principal = member.principal_of(state, record)
    if any(row.owner == principal for row in owners_of(state, metalake)):
        raise illegal(
            f"{record.type} {quoted(principal.name)} owns the metalake {quoted(metalake.name)};"
            " set another owner first"
        )
    member.remove(transaction, exchange.realm, record)
    return True


def person_bodies(exchange: Exchange, state: RealmState, records: Sequence[Entity]) -> list[Json]:
    """Users or groups in the form of replies."""
    bodies = documents(exchange, records)
    return [person_body(state, record, body) for record, body in zip(records, bodies, strict=True)]


def person_body(state: RealmState, record: Entity, document: Json) -> Json:
    """One user or group: name, granted roles, audit."""
    container = Entity("metalake", gravitino.metalake(record))
    roles = member.roles_of(state, member.principal_of(state, record), container)
    return {
        "name": gravitino.full_name(record),
        "roles": [gravitino.full_name(role) for role in roles],
        "audit": audit_of(document),
    }
