"""Links between entities of several realms that are one asset."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import field

from lakewarden.http.admin.bodies import PagedResponse, RequestBody, ResponseBody
from lakewarden.http.admin.endpoint import PAGED, Endpoint, HandlerResult, Parameter, cut_of
from lakewarden.http.admin.field_types import (
    ENTITY,
    NAME,
    READABLE,
    EntityText,
    RealmName,
    described,
)
from lakewarden.http.admin.problem import written
from lakewarden.http.exchange import Exchange
from lakewarden.service import links
from lakewarden.service.control import Denied
from lakewarden.service.link import Asset, Link
from lakewarden.service.link_suggestions import suggestions
from lakewarden.service.links import MAX_KEEPER

LIMIT: Final = 32 * 1024 * 1024
"""Bytes of a body that brings links, as for a load of rows."""

_KEEPER = described(maxLength=MAX_KEEPER, pattern=READABLE)


class LinkEnd(RequestBody, kw_only=True):
    """An entity of a realm."""

    realm: RealmName
    entity: EntityText


class LinkRequest(RequestBody, kw_only=True):
    """Two entities that are one asset. `keeper`: the rules that say so; empty for people."""

    one: LinkEnd
    other: LinkEnd
    keeper: Annotated[str, _KEEPER] = ""


class LinkResponse(ResponseBody, kw_only=True):
    """A link, and who keeps it."""

    one: LinkEnd
    other: LinkEnd
    keeper: str


class LinksResponse(PagedResponse, kw_only=True):
    """Links in order; and the realms whose links the caller may not see."""

    links: list[LinkResponse]
    left_out: list[str]


class LinkRuleResponse(ResponseBody, kw_only=True):
    """A rule, as a file of rules has it, and how many of the suggested links it makes."""

    name: str
    realms: dict[str, str]
    ignore_case: bool
    pairs: int


class SuggestionResponse(ResponseBody, kw_only=True):
    """Two entities that the rule would link."""

    one: LinkEnd
    other: LinkEnd
    rule: str


class SuggestionsResponse(PagedResponse, kw_only=True):
    """Links that are not there yet, in order; and the rules that would make them."""

    suggestions: list[SuggestionResponse]
    rules: list[LinkRuleResponse]


class LinkRows(RequestBody, kw_only=True):
    """Links that rules found: realm and entity of either end. `prune`: no others of theirs."""

    keeper: Annotated[str, described(minLength=1, maxLength=MAX_KEEPER, pattern=READABLE)]
    prune: bool = False
    links: list[tuple[str, str, str, str]] = field(default_factory=list)


class LinksLoadResponse(ResponseBody, kw_only=True):
    """How many links are new and gone, and how many were there, kept by others."""

    new: int
    gone: int
    left: int
    pruned: bool
    revision: int


def listed(exchange: Exchange) -> HandlerResult:
    """The links that the caller may see."""
    realm, entity = exchange.one("realm") or None, exchange.one("entity") or None
    link_list = links.listed(exchange.state, exchange.actor, exchange.now, realm, entity)
    if isinstance(link_list, Denied):
        return link_list
    shown, page = cut_of(exchange, link_list.links, lambda one: _place(one[0]), realm, entity)
    return LinksResponse(
        links=[_response(one, keeper) for one, keeper in shown],
        left_out=list(link_list.left_out),
        total=len(link_list.links),
        page=page,
    )


def _place(of: Link) -> str:
    """A text in the order of the links, as they are listed."""
    return "\0".join(part for end in of for part in (end.realm, *end.entity))


def suggested(exchange: Exchange) -> HandlerResult:
    """Links between two realms that rules about names would make."""
    realm, other = exchange.one("realm"), exchange.one("other")
    found = suggestions(exchange.state, exchange.actor, realm, other, exchange.now)
    if isinstance(found, Denied):
        return found
    shown, page = cut_of(exchange, found.links, lambda one: _place(one[0]), realm, other)
    return SuggestionsResponse(
        suggestions=[
            SuggestionResponse(one=end_of(pair.one), other=end_of(pair.other), rule=rule)
            for pair, rule in shown
        ],
        rules=[
            LinkRuleResponse(
                name=rule.name,
                realms=dict(rule.patterns),
                ignore_case=rule.ignore_case,
                pairs=rule.pairs,
            )
            for rule in found.rules
        ],
        total=len(found.links),
        page=page,
    )


def put(exchange: Exchange, body: LinkRequest) -> HandlerResult:
    """Links two entities."""
    one, other = ((end.realm, end.entity) for end in (body.one, body.other))
    made = exchange.write(lambda transaction: links.put(transaction, one, other, body.keeper))
    return made if isinstance(made, Denied) else _response(made, body.keeper)


def remove(exchange: Exchange) -> HandlerResult:
    """Takes a link away."""
    one = (exchange.one("one_realm"), exchange.one("one"))
    other = (exchange.one("other_realm"), exchange.one("other"))
    return exchange.write(lambda transaction: links.remove(transaction, one, other))


def load(exchange: Exchange, body: LinkRows) -> HandlerResult:
    """Brings in the links that rules found."""
    rows = [((a, one), (b, other)) for a, one, b, other in body.links]
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
    """The entity of a realm as a body has it."""
    return LinkEnd(realm=asset.realm, entity=written(asset.entity))


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
