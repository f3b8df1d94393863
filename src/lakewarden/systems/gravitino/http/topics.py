"""Topics of messaging catalogs.

SOURCE: gravitino reference 3.2 and 4.3.
"""

from __future__ import annotations

from typing import Final

from lakewarden.http.exchange import Exchange
from lakewarden.systems.gravitino.http.bodies import Body, read
from lakewarden.systems.gravitino.http.kinds import SCHEMA, Created, Kind, described, routes_of
from lakewarden.systems.gravitino.http.updates import RemoveProperty, SetProperty, UpdateComment


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
