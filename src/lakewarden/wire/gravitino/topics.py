"""Topics of messaging catalogs.

SOURCE: gravitino reference 3.2 and 4.3.
"""

from __future__ import annotations

from typing import Final

from lakewarden.wire.exchange import Exchange
from lakewarden.wire.gravitino.bodies import Body, read
from lakewarden.wire.gravitino.kinds import SCHEMA, Created, Kind, described, routes_of
from lakewarden.wire.gravitino.updates import RemoveProperty, SetProperty, UpdateComment


class Create(Body):
    """The body of POST …/topics."""

    name: str
    comment: str | None = None
    properties: dict[str, str] | None = None


def _read(exchange: Exchange) -> Created:
    body = read(exchange, Create)
    return body.name, described(body.comment, body.properties)


TOPICS: Final = Kind(
    type="topic",
    within="schema",
    path=SCHEMA + "/topics",
    read=_read,
    updates=UpdateComment | SetProperty | RemoveProperty,
    family="messaging",
)

ROUTES: Final = routes_of(TOPICS)
