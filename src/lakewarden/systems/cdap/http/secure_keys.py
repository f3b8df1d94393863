"""Secure keys: secrets that are really stored, sealed, and readable for holders of READ.

A secret is only in the reply that reads it, and in no log line or audit row; the document of a key
only contains readable data. An existing key is never overwritten.
SOURCE: cdap reference 2.8, 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.service.effect import SecretChanged
from lakewarden.service.sealed_properties import Sealing
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap.http import object_store
from lakewarden.systems.cdap.http.authorization import (
    GUARD,
    allow,
    is_stored,
    listed,
    require,
    write,
)
from lakewarden.systems.cdap.http.bodies import Body, Json, empty_reply, ok, read, texts
from lakewarden.systems.cdap.http.errors import Failure, bad, exists, not_found
from lakewarden.systems.cdap.http.ids import inside, last, namespace

PATH: Final = "/v3/namespaces/{namespace}/securekeys"

SECRET: Final = "data"  # noqa: S105 — the name of a member
"""The name under which the secret of a key is stored."""

_TEXT: Final = "text/plain;charset=utf-8"


class KeyBody(Body):
    """The body that creates a key."""

    description: str | None = None
    data: str | None = None
    properties: dict[str, str] | None = None


def create(exchange: Exchange) -> Reply:
    """Creates a key; refused in the order of the contract: 403, 400, 404, 409."""
    key = _key(exchange)

    def add_key(transaction: WriteTransaction) -> None:
        body = read(exchange, KeyBody)
        if not body.data:
            raise bad("the data of a secure key cannot be empty")
        state = transaction.realm(exchange.realm)
        require(state, key, missing=None)
        if is_stored(state, key):
            raise exists(key)
        sealed = sealing(exchange).seal(body.data)
        document: Json = {
            "description": body.description or "",
            "createdEpochMs": int(transaction.now * 1_000),
            "properties": body.properties or {},
        }
        object_store.add(exchange, transaction, "secure_key.create", key, document)
        transaction.change(exchange.realm, SecretChanged(key, SECRET, sealed))

    write(exchange, "secure_key.create", key, add_key, ahead=True)
    return empty_reply()


def secret(exchange: Exchange) -> Reply:
    """The secret itself."""
    key = _key(exchange)
    with GUARD.reading(exchange, "secure_key.read", key) as reading:
        sealed = reading.secrets(exchange.realm, key).get(SECRET)
    if sealed is None:
        raise not_found(key)
    return Reply(200, sealing(exchange).unseal(sealed).encode(), _TEXT)


def metadata(exchange: Exchange) -> Reply:
    """The readable properties of a key."""
    key = _key(exchange)
    allow(exchange, "secure_key.read_metadata", key)
    return ok(_key_body(key, object_store.document(exchange, key)))


def names(exchange: Exchange) -> Reply:
    """The names of the keys of a namespace, each with its description."""
    keys = listed(exchange, "secure_key.list", namespace(exchange))
    bodies = object_store.documents(exchange, keys)
    return ok(
        {last(key): body.get("description") or "" for key, body in zip(keys, bodies, strict=True)}
    )


def delete(exchange: Exchange) -> Reply:
    """Deletes a key with its secret."""
    key = _key(exchange)

    def drop_key(transaction: WriteTransaction) -> None:
        object_store.drop(exchange, transaction, "secure_key.delete", key)

    write(exchange, "secure_key.delete", key, drop_key)
    return empty_reply()


def sealing(exchange: Exchange) -> Sealing:
    """Seals and opens secrets; raises `Failure` 501 if the server has no key for secrets."""
    configured = exchange.services.sealing
    if configured is None:
        raise Failure(501, "the server has no key for secrets, so it keeps no secure keys")
    return configured


def _key(exchange: Exchange) -> Entity:
    return inside(namespace(exchange), "securekey", exchange.params["key"])


def _key_body(key: Entity, body: Json) -> Json:
    return {
        "name": last(key),
        "description": body.get("description") or "",
        "createdEpochMs": body.get("createdEpochMs") or 0,
        "properties": texts(body.get("properties")),
    }


ROUTES: Final[Sequence[Route]] = (
    Route("GET", PATH, "secure_key.list", names),
    Route("PUT", f"{PATH}/{{key}}", "secure_key.create", create),
    Route("GET", f"{PATH}/{{key}}", "secure_key.read", secret),
    Route("GET", f"{PATH}/{{key}}/metadata", "secure_key.read_metadata", metadata),
    Route("DELETE", f"{PATH}/{{key}}", "secure_key.delete", delete),
)
