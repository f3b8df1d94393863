"""Search over Rest.li: `/entities?action=search`, `filter` and `autocomplete`.

Results are the URNs of entities that the caller may find: `entity.search`.
SOURCE: datahub reference 6.6; requests of acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from lakewarden.http.exchange import Exchange, Reply
from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.http import view_authorization
from lakewarden.systems.datahub.http.authorization import caller
from lakewarden.systems.datahub.http.bodies import fields, includes_removed, value, whole_number
from lakewarden.systems.datahub.http.searching import USUAL, search_session
from lakewarden.systems.datahub.search import scroll
from lakewarden.systems.datahub.search.facets import USUAL as USUAL_FACETS
from lakewarden.systems.datahub.search.facets import Facet
from lakewarden.systems.datahub.search.question import AnyOf, Condition, Criterion, Order, Question
from lakewarden.systems.datahub.search.search import Page

COUNT: Final = 10
_SUGGESTED: Final = 10


def search(exchange: Exchange) -> Reply:
    """Entities of a type that contain the words and match the filter."""
    body = fields(exchange)
    return _search_reply(exchange, body, (body.text("entity"),), body.text_or_none("input") or "*")


def search_across(exchange: Exchange) -> Reply:
    """As `search`, across several types; by default, the usual ones."""
    body = fields(exchange)
    types = tuple(body.texts("entities")) or USUAL
    return _search_reply(exchange, body, types, body.text_or_none("input") or "*")


def filter(exchange: Exchange) -> Reply:
    """Entities of a type that match the filter."""
    body = fields(exchange)
    return _search_reply(exchange, body, (body.text("entity"),), "*")


def autocomplete(exchange: Exchange) -> Reply:
    """Names with words that begin with those of the query."""
    body = fields(exchange)
    query, limit = body.text("query"), whole_number(body, "limit", _SUGGESTED)
    question = Question(query, (body.text("entity"),), filters_of(body), named=True)
    with search_session(exchange, view_authorization.rest_hits) as search:
        page = search.search(question).page(0, min(limit, exchange.services.page_rows))
        tree = search.index.tree
        ids = [id for id in map(tree.find, page.entities) if id is not None]
        names = search.names(ids) if ids else {}
    entities = [{"urn": entity.name} for entity in page.entities]
    suggestions = list(dict.fromkeys(names[id] for id in ids))
    return value({"query": query, "suggestions": suggestions, "entities": entities})


def _search_reply(exchange: Exchange, body: Fields, types: tuple[str, ...], query: str) -> Reply:
    start = whole_number(body, "start", 0)
    count = min(whole_number(body, "count", COUNT), exchange.services.page_rows)
    flags = body.object_or_none("searchFlags") or Fields({}, body.at("searchFlags"))
    question = Question(
        query,
        types,
        filters_of(body),
        _order(body),
        removed=flags.flag("includeSoftDeleted"),
        query_field=body.at("input"),
    )
    with search_session(exchange, view_authorization.rest_hits) as search:
        result = search.search(question)
        page = result.page(start, count)
        is_counted = not flags.flag("skipAggregates")
        facets = [search.facets.of(name, result.results) for name in USUAL_FACETS if is_counted]
    return value(
        {
            "from": start,
            "pageSize": len(page.entities),
            "numEntities": page.total,
            "entities": [
                {"entity": entity.name, "matchedFields": [], "features": {}}
                for entity in page.entities
            ],
            "metadata": {"aggregations": [_facet_body(facet) for facet in facets if facet.counts]},
        }
    )


def _facet_body(facet: Facet) -> Mapping[str, object]:
    return {
        "name": facet.field,
        "aggregations": {count.value: count.number for count in facet.counts},
        "filterValues": [
            {"value": count.value, "facetCount": count.number} for count in facet.counts
        ],
    }


def filters_of(body: Fields) -> tuple[AnyOf, ...]:
    """The `filter` of a body: groups of criteria, or the older flat list of them."""
    filter = body.object_or_none("filter")
    if filter is None:
        return ()
    groups = filter.objects("or")
    alternatives = tuple(_criteria(group.objects("and")) for group in groups)
    older = _criteria(filter.objects("criteria"))
    return tuple(group for group in (alternatives, (older,) if older else ()) if group)


def _criteria(items: Iterable[Fields]) -> tuple[Criterion, ...]:
    return tuple(_criterion(item) for item in items)


def _criterion(item: Fields) -> Criterion:
    values = item.texts("values")
    if not values and "value" in item:
        values = [item.text("value")]
    name = item.text_or_none("condition") or Condition.EQUAL.value
    try:
        condition = Condition(name)
    except ValueError:
        expected = ", ".join(condition_value.value for condition_value in Condition)
        raise BadInput(f"expected one of: {expected}", where=item.at("condition")) from None
    return Criterion(item.text("field"), tuple(values), condition, item.flag("negated"))


def _order(body: Fields) -> tuple[Order, ...]:
    orders = body.objects("sortCriteria")
    single = body.object_or_none("sort")
    if not orders and single is not None:
        orders = [single]
    return tuple(
        Order(each.text("field"), each.text_or_none("order") == "DESCENDING") for each in orders
    )


def read_page(
    exchange: Exchange,
    types: tuple[str, ...],
    query: str,
    count: int,
    filters: tuple[AnyOf, ...] = (),
) -> tuple[Page, str | None]:
    """A page of readable entities with the words, and the position of the next page."""
    question = Question(query, types, filters, removed=includes_removed(exchange))
    known = scroll.digest(question, exchange.realm, caller(exchange).name)
    with search_session(exchange, view_authorization.rest_readable) as search:
        result = search.search(question)
        if scroll_id := exchange.one("scrollId"):
            page = result.after(scroll.read_scroll_id(scroll_id, known), count)
        else:
            page = result.page(0, count)
    place = page.place
    return page, None if place is None else scroll.scroll_id(known, place)


ACTIONS: Final[Mapping[str, tuple[str, Callable[[Exchange], Reply]]]] = {
    "autocomplete": ("entity.search", autocomplete),
    "filter": ("entity.search", filter),
    "search": ("entity.search", search),
    "searchAcrossEntities": ("entity.search", search_across),
}
"""The values of `?action=`, and their operations."""
