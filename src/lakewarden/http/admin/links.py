"""Links between entities of several realms that are one asset."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import field

from lakewarden.http.admin.bodies import Body, Given, Paged
from lakewarden.http.admin.endpoint import PAGED, Answered, Endpoint, Parameter, cut_of
from lakewarden.http.admin.problem import written
from lakewarden.http.admin.words import ENTITY, NAME, READABLE, EntityText, RealmName, described
from lakewarden.http.exchange import Exchange
from lakewarden.service import links
from lakewarden.service.control import Denied
from lakewarden.service.link import Asset, Link
from lakewarden.service.link_suggestions import suggestions
from lakewarden.service.links import MAX_KEEPER

LIMIT: Final = 32 * 1024 * 1024
"""Bytes of a body that brings links, as for a load of rows."""

_KEEPER = described(maxLength=MAX_KEEPER, pattern=READABLE)


class End(Body, kw_only=True):
    """An entity of a realm."""

    realm: RealmName
    entity: EntityText


class LinkSent(Body, kw_only=True):
    """Two entities that are one asset. `keeper`: the rules that say so; empty for people."""

    one: End
    other: End
    keeper: Annotated[str, _KEEPER] = ""


class LinkGiven(Given, kw_only=True):
    """A link, and who keeps it."""

    one: End
    other: End
    keeper: str


class LinksGiven(Paged, kw_only=True):
    """Links in order; and the realms whose links the caller may not see."""

    links: list[LinkGiven]
    left_out: list[str]


class RuleGiven(Given, kw_only=True):
    """A rule, as a file of rules has it, and how many of the suggested links it makes."""

    name: str
    realms: dict[str, str]
    ignore_case: bool
    pairs: int


class SuggestionGiven(Given, kw_only=True):
    """Two entities that the rule would link."""

    one: End
    other: End
    rule: str


class SuggestionsGiven(Paged, kw_only=True):
    """Links that are not there yet, in order; and the rules that would make them."""

    suggestions: list[SuggestionGiven]
    rules: list[RuleGiven]


class LinkRows(Body, kw_only=True):
    """Links that rules found: realm and entity of either end. `prune`: no others of theirs."""

    keeper: Annotated[str, described(minLength=1, maxLength=MAX_KEEPER, pattern=READABLE)]
    prune: bool = False
    links: list[tuple[str, str, str, str]] = field(default_factory=list)


class LinksLoaded(Given, kw_only=True):
    """How many links are new and gone, and how many were there, kept by others."""

    new: int
    gone: int
    left: int
    pruned: bool
    revision: int


def listed(exchange: Exchange) -> Answered:
    """The links that the caller may see."""
    realm, entity = exchange.one("realm") or None, exchange.one("entity") or None
    found = links.listed(exchange.state, exchange.actor, exchange.now, realm, entity)
    if isinstance(found, Denied):
        return found
    shown, page = cut_of(exchange, found.links, lambda one: _place(one[0]), realm, entity)
    return LinksGiven(
        links=[_given(one, keeper) for one, keeper in shown],
        left_out=list(found.left_out),
        total=len(found.links),
        page=page,
    )


def _place(of: Link) -> str:
    """A text in the order of the links, as they are listed."""
    return "\0".join(part for end in of for part in (end.realm, *end.entity))


def suggested(exchange: Exchange) -> Answered:
    """Links between two realms that rules about names would make."""
    realm, other = exchange.one("realm"), exchange.one("other")
    found = suggestions(exchange.state, exchange.actor, realm, other, exchange.now)
    if isinstance(found, Denied):
        return found
    shown, page = cut_of(exchange, found.links, lambda one: _place(one[0]), realm, other)
    return SuggestionsGiven(
        suggestions=[
            SuggestionGiven(one=end_of(pair.one), other=end_of(pair.other), rule=rule)
            for pair, rule in shown
        ],
        rules=[
            RuleGiven(
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


def put(exchange: Exchange, body: LinkSent) -> Answered:
    """Links two entities."""
    one, other = ((end.realm, end.entity) for end in (body.one, body.other))
    made = exchange.write(lambda transaction: links.put(transaction, one, other, body.keeper))
    return made if isinstance(made, Denied) else _given(made, body.keeper)


def remove(exchange: Exchange) -> Answered:
    """Takes a link away."""
    one = (exchange.one("one_realm"), exchange.one("one"))
    other = (exchange.one("other_realm"), exchange.one("other"))
    return exchange.write(lambda transaction: links.remove(transaction, one, other))


def load(exchange: Exchange, body: LinkRows) -> Answered:
    """Brings in the links that rules found."""
    rows = [((a, one), (b, other)) for a, one, b, other in body.links]
    found = exchange.write(
        lambda transaction: links.bring(transaction, rows, body.keeper, prune=body.prune)
    )
    if isinstance(found, Denied):
        return found
    return LinksLoaded(
        new=found.new,
        gone=found.gone,
        left=found.left,
        pruned=found.pruned,
        revision=exchange.state.revision,
    )


def end_of(asset: Asset) -> End:
    """The entity of a realm as a body has it."""
    return End(realm=asset.realm, entity=written(asset.entity))


def _given(of: Link, keeper: str) -> LinkGiven:
    return LinkGiven(one=end_of(of.one), other=end_of(of.other), keeper=keeper)


def _end(name: str, title: str, pattern: str) -> Parameter:
    return Parameter(name, title, required=True, pattern=pattern)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/links",
        "link.list",
        listed,
        "list links",
        gives=LinksGiven,
        query=(
            Parameter("realm", "only links into this realm", pattern=NAME),
            Parameter("entity", "only those of this entity of it", pattern=ENTITY),
            *PAGED,
        ),
    ),
    Endpoint(
        "GET",
        "/links/suggestions",
        "link.put",
        suggested,
        "links between two realms that rules about names would make",
        gives=SuggestionsGiven,
        query=(
            Parameter("realm", "one realm", required=True, pattern=NAME),
            Parameter("other", "the other realm", required=True, pattern=NAME),
            *PAGED,
        ),
    ),
    Endpoint(
        "PUT", "/links", "link.put", put, "link two entities", takes=LinkSent, gives=LinkGiven
    ),
    Endpoint(
        "DELETE",
        "/links",
        "link.remove",
        remove,
        "take a link away",
        query=(
            _end("one_realm", "the realm of one end", NAME),
            _end("one", "the entity there", ENTITY),
            _end("other_realm", "the realm of the other end", NAME),
            _end("other", "the entity there", ENTITY),
        ),
    ),
    Endpoint(
        "POST",
        "/links/load",
        "link.put",
        load,
        "load the links that rules found",
        takes=LinkRows,
        gives=LinksLoaded,
        body_limit=LIMIT,
    ),
)
