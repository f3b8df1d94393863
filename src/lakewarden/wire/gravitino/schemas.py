"""Schemas: list, create, load, alter, drop with `cascade`.

A messaging catalog has one schema from the beginning, `default`, and takes no other.
SOURCE: gravitino reference 3.1, 4.3 and 6.1; KafkaCatalogOperations.
"""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.names import gravitino
from lakewarden.service.desk import Desk
from lakewarden.service.state import RealmState
from lakewarden.wire.exchange import Exchange
from lakewarden.wire.gravitino import keeping
from lakewarden.wire.gravitino.bodies import Body, Json, is_on, read
from lakewarden.wire.gravitino.errors import non_empty, unsupported
from lakewarden.wire.gravitino.guarding import is_stored
from lakewarden.wire.gravitino.kinds import (
    CATALOG,
    DEFAULT,
    MESSAGING,
    Created,
    Kind,
    catalog_type,
    described,
    routes_of,
)
from lakewarden.wire.gravitino.updates import PROPERTIES, Draft


class Create(Body):
    """The body of POST …/schemas."""

    name: str
    comment: str | None = None
    properties: dict[str, str] | None = None


def _read(exchange: Exchange) -> Created:
    body = read(exchange, Create)
    return body.name, described(body.comment, body.properties)


def _added(exchange: Exchange, desk: Desk, schema: Entity, _: Json) -> None:
    """In a messaging catalog only `default`, where an import left it out."""
    if keeping.last(schema) != DEFAULT:
        _refuse_messaging(desk.realm(exchange.realm), schema, "takes no other schema")


def _altered(exchange: Exchange, desk: Desk, schema: Entity, _: Draft) -> None:
    _refuse_messaging(desk.realm(exchange.realm), schema, "does not have it altered")


def _refuse_messaging(state: RealmState, schema: Entity, why: str) -> None:
    """Raises `Failure` 405 where the catalog's one schema is not to be changed."""
    if catalog_type(state, schema) == MESSAGING:
        raise unsupported(f"a messaging catalog has the schema `{DEFAULT}`, and {why}")


def _before_drop(exchange: Exchange, state: RealmState, schema: Entity) -> None:
    """Without `cascade` a schema that holds anything stays."""
    if is_stored(state, schema):
        _refuse_messaging(state, schema, "does not have it dropped")
    if not is_on(exchange, "cascade") and keeping.children(state, schema, lambda _: True):
        raise non_empty("schema", gravitino.full_name(schema))


SCHEMAS: Final = Kind(
    type="schema",
    within="catalog",
    path=CATALOG + "/schemas",
    read=_read,
    updates=PROPERTIES,
    added=_added,
    altered=_altered,
    before_drop=_before_drop,
)

ROUTES: Final = routes_of(SCHEMAS)
