"""Links between entities of several realms that are the same asset."""

from __future__ import annotations

from typing import Final

from lakewarden.http.admin.bodies.link import (
    LinkEnd,
    LinkRequest,
    LinkResponse,
    LinkRows,
    LinkRuleResponse,
    LinksLoadResponse,
    LinksResponse,
    SuggestionResponse,
    SuggestionsResponse,
)
from lakewarden.http.admin.endpoint import PAGED, Endpoint, HandlerResult, Parameter, cut_of
from lakewarden.http.admin.field_types import ENTITY, NAME
from lakewarden.http.exchange import Exchange
from lakewarden.names.identities import entity_text
from lakewarden.service import links
from lakewarden.service.control import Denied
from lakewarden.service.link import Asset, Link
from lakewarden.service.link_suggestions import suggestions

LIMIT: Final = 32 * 1024 * 1024
"""The size limit of a body with links, as for a load of rows."""


def listed(exchange: Exchange) -> HandlerResult:
    """The links that are visible to the caller."""
    realm, entity = exchange.one("realm") or None, exchange.one("entity") or None
    link_list = links.listed(exchange.state, exchange.actor, exchange.now, realm, entity)
    if isinstance(link_list, Denied):
        return link_list
    on_page, page = cut_of(
        exchange, link_list.links, lambda entry: _sort_key(entry[0]), realm, entity
    )
    return LinksResponse(
        links=[_response(linked, keeper) for linked, keeper in on_page],
        left_out=list(link_list.left_out),
        total=len(link_list.links),
        page=page,
    )


def _sort_key(of: Link) -> str:
    """A sort key in the order of links."""
    return "\0".join(part for end in of for part in (end.realm, *end.entity))


def suggested(exchange: Exchange) -> HandlerResult:
    """Suggests links between two realms by rules about names."""
    realm, other = exchange.one("realm"), exchange.one("other")
    suggested_links = suggestions(exchange.state, exchange.actor, realm, other, exchange.now)
    if isinstance(suggested_links, Denied):
        return suggested_links
    on_page, page = cut_of(
        exchange, suggested_links.links, lambda entry: _sort_key(entry[0]), realm, other
    )
    return SuggestionsResponse(
        suggestions=[
            SuggestionResponse(one=end_of(pair.one), other=end_of(pair.other), rule=rule)
            for pair, rule in on_page
        ],
        rules=[
            LinkRuleResponse(
                name=rule.name,
                realms=dict(rule.patterns),
                ignore_case=rule.ignore_case,
                pairs=rule.pairs,
            )
            for rule in suggested_links.rules
        ],
        total=len(suggested_links.links),
        page=page,
    )


def put(exchange: Exchange, body: LinkRequest) -> HandlerResult:
    """Links two entities."""
    first, second = ((end.realm, end.entity) for end in (body.one, body.other))
    linked = exchange.write(lambda transaction: links.put(transaction, first, second, body.keeper))
    return linked if isinstance(linked, Denied) else _response(linked, body.keeper)


def remove(exchange: Exchange) -> HandlerResult:
    """Removes a link."""
    first = (exchange.one("one_realm"), exchange.one("one"))
    other = (exchange.one("other_realm"), exchange.one("other"))
    return exchange.write(lambda transaction: links.remove(transaction, first, other))


def load(exchange: Exchange, body: LinkRows) -> HandlerResult:
    """Stores the links that rules make."""
    rows = [((a, first), (b, second)) for a, first, b, second in body.links]
    result = exchange.write(
        lambda transaction: links.load_links(transaction, rows, body.keeper, prune=body.prune)
    )
    if isinstance(result, Denied):
        return result
    return LinksLoadResponse(
        new=result.new,
        gone=result.gone,
        left=result.left,
        pruned=result.pruned,
        revision=exchange.state.revision,
    )


def end_of(asset: Asset) -> LinkEnd:
    """The response body of an entity of a realm."""
    return LinkEnd(realm=asset.realm, entity=entity_text(asset.entity))


def _response(of: Link, keeper: str) -> LinkResponse:
    return LinkResponse(one=end_of(of.one), other=end_of(of.other), keeper=keeper)


def _end(name: str, title: str, pattern: str) -> Parameter:
    return Parameter(name, title, required=True, pattern=pattern)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/links",
        "link.list",
        listed,
        "list links",
        response=LinksResponse,
        query=(
            Parameter("realm", "only links into this realm", pattern=NAME),
            Parameter("entity", "only links of this entity in the realm", pattern=ENTITY),
            *PAGED,
        ),
    ),
    Endpoint(
        "GET",
        "/links/suggestions",
        "link.put",
        suggested,
        "list the links that name rules suggest between two realms",
        response=SuggestionsResponse,
        query=(
            Parameter("realm", "one realm", required=True, pattern=NAME),
            Parameter("other", "the other realm", required=True, pattern=NAME),
            *PAGED,
        ),
    ),
    Endpoint(
        "PUT",
        "/links",
        "link.put",
        put,
        "link two entities",
        request=LinkRequest,
        response=LinkResponse,
    ),
    Endpoint(
        "DELETE",
        "/links",
        "link.remove",
        remove,
        "delete a link",
        query=(
            _end("one_realm", "the realm of the first entity", NAME),
            _end("one", "the entity there", ENTITY),
            _end("other_realm", "the realm of the second entity", NAME),
            _end("other", "the entity there", ENTITY),
        ),
    ),
    Endpoint(
        "POST",
        "/links/load",
        "link.put",
        load,
        "load the links that rules produced",
        request=LinkRows,
        response=LinksLoadResponse,
        body_limit=LIMIT,
    ),
)
