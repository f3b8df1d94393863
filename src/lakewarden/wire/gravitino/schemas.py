"""Schemas: list, create, load, alter, drop with `cascade`.

SOURCE: gravitino reference 3.1, 4.3 and 6.1.
"""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.names import gravitino
from lakewarden.service.state import RealmState
from lakewarden.wire.exchange import Exchange
from lakewarden.wire.gravitino import keeping
from lakewarden.wire.gravitino.bodies import Body, is_on, read
from lakewarden.wire.gravitino.errors import non_empty
from lakewarden.wire.gravitino.kinds import CATALOG, Created, Kind, described, routes_of
from lakewarden.wire.gravitino.updates import PROPERTIES


class Create(Body):
    """The body of POST …/schemas."""

    name: str
    comment: str | None = None
    properties: dict[str, str] | None = None


def _read(exchange: Exchange) -> Created:
    body = read(exchange, Create)
    return body.name, described(body.comment, body.properties)


def _before_drop(exchange: Exchange, state: RealmState, schema: Entity) -> None:
    """Without `cascade` a schema that holds anything stays."""
    if not is_on(exchange, "cascade") and keeping.children(state, schema, lambda _: True):
        raise non_empty("schema", gravitino.full_name(schema))


SCHEMAS: Final = Kind(
    type="schema",
    within="catalog",
    path=CATALOG + "/schemas",
    read=_read,
    updates=PROPERTIES,
    before_drop=_before_drop,
)

ROUTES: Final = routes_of(SCHEMAS)
