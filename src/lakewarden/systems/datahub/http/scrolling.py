"""Pages of entities of several types: `/openapi/v3/entity/scroll`.

The position of a page is the number of entities before it, across all types sorted by name.
SOURCE: generated interface of datahub-project/datahub's OpenAPI, version 3.
"""

from __future__ import annotations

from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.http.strict_json import read_object
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import LimitExceeded
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.http.authorization import readable_page
from lakewarden.systems.datahub.http.bodies import (
    includes_removed,
    ok,
    page_size,
    scroll_id,
    scroll_start,
)
from lakewarden.systems.datahub.http.openapi import read_bodies
from lakewarden.systems.datahub.http.search_calls import filters_of, read_page

_PATH: Final = "/openapi/v3/entity/scroll"
_MOST_TYPES: Final = 100


def scroll(exchange: Exchange) -> Reply:
    """A page of the entities of some types that the caller may read, with named aspects."""
    body = Fields(read_object(exchange.body) if exchange.body else {}, "body")
    count = page_size(exchange)
    types = sorted(set(body.texts("entities"))) or _stored_types(exchange)
    if len(types) > _MOST_TYPES:
        raise LimitExceeded(f"more than {_MOST_TYPES} types together")
    query, filters = exchange.one("query", "*") or "*", filters_of(body)
    if query.strip(" *") or filters:
        result, place = read_page(exchange, tuple(types), query, count, filters)
        names = set(body.texts("aspects"))
        shown_bodies = read_bodies(exchange, dict.fromkeys(result.entities, names))
        return ok({"scrollId": place, "entities": shown_bodies, "totalCount": result.total})
    start, removed = scroll_start(exchange), includes_removed(exchange)
    page: list[Entity] = []
    total = 0
    for type in types:
        remaining = count - len(page)
        own = readable_page(exchange, type, max(start - total, 0), remaining, removed=removed)
        page += own.entities
        total += own.total
    names = set(body.texts("aspects"))
    entities = read_bodies(exchange, dict.fromkeys(page, names))
    place = scroll_id(start, len(page), total)
    return ok({"scrollId": place, "entities": entities, "totalCount": total})


def _stored_types(exchange: Exchange) -> list[str]:
    kinds = exchange.realm_state.matrix.snapshot.coded.tree.kinds
    return sorted({kind for kind in kinds if kind} | {"dataHubPolicy"})


ROUTES: Final = (Route("POST", _PATH, "entity.read", scroll),)
