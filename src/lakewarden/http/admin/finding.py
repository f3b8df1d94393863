"""Navigation: the tree of a realm, and a search for names in all realms."""

from __future__ import annotations

from lakewarden.http.admin.bodies.entity import (
    ChildrenResponse,
    ChildResponse,
    SearchHit,
    SearchResponse,
)
from lakewarden.http.admin.endpoint import (
    PAGED,
    Endpoint,
    HandlerResult,
    Parameter,
    number,
    place_of,
    some_of,
    token_after,
)
from lakewarden.http.admin.field_types import ENTITY, NAME
from lakewarden.http.exchange import Exchange
from lakewarden.names.identities import entity_text
from lakewarden.service.children import children
from lakewarden.service.control import Denied
from lakewarden.service.name_search import KINDS, name_search
from lakewarden.service.page_size import PAGE_ROWS

_OF = Parameter("of", "the parent; default: the top level", pattern=ENTITY)
_TYPE = Parameter("type", "only entities of this type")
_Q = Parameter("q", "text that the name contains, case-insensitive")
_KINDS = some_of("kinds", "only these kinds", KINDS)
_REALM = Parameter("realm", "only in this realm", pattern=NAME)
_TYPES = Parameter("types", "only entities of these types: comma-separated list")
_LIMIT = Parameter("page.limit", "maximum number of results", "integer", minimum=1, maximum=100)


def within(exchange: Exchange) -> HandlerResult:
    """The children of an entity, or the top entities of a realm."""
    of, type = exchange.one("of") or None, exchange.one("type") or None
    text, size = exchange.one("q"), number(exchange, "page.limit", PAGE_ROWS)
    question = (exchange.path, of, type, text)
    place = place_of(exchange.one("page.token"), int, *question)
    page = children(
        exchange.state,
        exchange.actor,
        exchange.params["realm"],
        exchange.now,
        of=of,
        type=type,
        text=text,
        skip=number(exchange, "page.skip", 0) if place is None else place,
        size=size,
    )
    if isinstance(page, Denied):
        return page
    return ChildrenResponse(
        children=[
            ChildResponse(
                entity=entity_text(child.entity),
                type=child.entity.type,
                label=child.label,
                children=child.children,
                below=child.below,
            )
            for child in page.children
        ],
        total=page.total,
        page=token_after(page.skip, *question),
    )


def search(exchange: Exchange) -> HandlerResult:
    """Names that contain a text, the best match first."""
    kinds = [kind for kind in exchange.one("kinds").split(",") if kind]
    hits = name_search(
        exchange.state,
        exchange.actor,
        exchange.one("q"),
        exchange.now,
        kinds=kinds or KINDS,
        realm=exchange.one("realm") or None,
        types=[type for type in exchange.one("types").split(",") if type],
        size=number(exchange, "page.limit", 20),
    )
    return SearchResponse(
        results=[
            SearchHit(
                kind=hit.kind,
                realm=hit.realm,
                type=hit.type,
                name=hit.name,
                label=hit.label,
                container=hit.container,
            )
            for hit in hits.results
        ],
        total=hits.total,
        left_out=list(hits.left_out),
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        "/realms/{realm}/children",
        "decision.ask_own",
        within,
        "list the children of an entity",
        response=ChildrenResponse,
        query=(_OF, _TYPE, _Q, *PAGED),
    ),
    Endpoint(
        "GET",
        "/search",
        "decision.ask_own",
        search,
        "search names",
        response=SearchResponse,
        query=(_Q, _KINDS, _REALM, _TYPES, _LIMIT),
    ),
)
