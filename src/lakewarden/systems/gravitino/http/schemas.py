"""Schemas: list, create, load, alter, drop with `cascade`.

A messaging catalog has the schema `default` from the start, and accepts no other.
SOURCE: gravitino reference 3.1, 4.3 and 6.1; KafkaCatalogOperations.
"""

from __future__ import annotations

from typing import Final

from lakewarden.http.exchange import Exchange
from lakewarden.kernel.entity import Entity
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http import object_store
from lakewarden.systems.gravitino.http.authorization import is_stored
from lakewarden.systems.gravitino.http.bodies import Body, is_on, read
from lakewarden.systems.gravitino.http.errors import illegal, non_empty, unsupported
from lakewarden.systems.gravitino.http.kinds import (
    CATALOG,
    DEFAULT,
    MESSAGING,
    Created,
    Kind,
    catalog_type,
    described,
    routes_of,
)
from lakewarden.systems.gravitino.http.updates import PROPERTIES, Draft


class Create(Body):
    """The body of POST …/schemas."""

    name: str
    comment: str | None = None
    properties: dict[str, str] | None = None


def _read(exchange: Exchange) -> Created:
    body = read(exchange, Create)
    return body.name, described(body.comment, body.properties)


def _before_add(state: RealmState, schema: Entity) -> None:
    """In a messaging catalog, only `default` can be added, if an import left it out."""
    is_left_out = object_store.last(schema) == DEFAULT and not is_stored(state, schema)
    if catalog_type(state, schema) == MESSAGING and not is_left_out:
        raise unsupported(f"a messaging catalog has the schema `{DEFAULT}`, and takes no other")


def _altered(exchange: Exchange, transaction: WriteTransaction, schema: Entity, _: Draft) -> None:
    _refuse_messaging(transaction.realm(exchange.realm), schema, "altered")


def _refuse_messaging(state: RealmState, schema: Entity, action: str) -> None:
    """Raises `Failure` in a messaging catalog: 400 for its own schema, 405 for any other."""
    if catalog_type(state, schema) != MESSAGING:
        return
    if object_store.last(schema) == DEFAULT:
        raise illegal(f"the schema `{DEFAULT}` of a messaging catalog cannot be {action}")
    raise unsupported(f"schemas of a messaging catalog cannot be {action}")


def _before_drop(exchange: Exchange, state: RealmState, schema: Entity) -> None:
    """Refuses to drop a schema that is not empty, unless `cascade` is set."""
    _refuse_messaging(state, schema, "dropped")
    if not is_on(exchange, "cascade") and object_store.children(state, schema, lambda _: True):
        raise non_empty("schema", gravitino.full_name(schema))


SCHEMAS: Final = Kind(
    type="schema",
    within="catalog",
    path=CATALOG + "/schemas",
    read=_read,
    updates=PROPERTIES,
    before_add=_before_add,
    altered=_altered,
    before_drop=_before_drop,
)

ROUTES: Final = routes_of(SCHEMAS)
