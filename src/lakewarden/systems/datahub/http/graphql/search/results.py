"""Pages of results, and their facets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final

from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.service.search_terms import SearchQuery, parse_query, words
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.searched import URN, display_name, fields, name_in_urn
from lakewarden.systems.datahub.http import view_authorization
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.kinds import type_word
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.http.graphql.search.inputs import page_bounds, question
from lakewarden.systems.datahub.http.searching import SearchSession, search_session
from lakewarden.systems.datahub.search import scroll
from lakewarden.systems.datahub.search.facets import MOST, USUAL, Facet
from lakewarden.systems.datahub.search.question import AnyOf, Condition, Criterion, Question
from lakewarden.systems.datahub.search.search import Page, Search

Shown = Mapping[str, Any]

MOST_FACETS: Final = 50
"""The maximum number of facets of one question."""

_TITLES: Final = {
    "_entityType": "Type",
    "container": "Container",
    "domains": "Domain",
    "glossaryTerms": "Glossary Term",
    "origin": "Environment",
    "owners": "Owned By",
    "platform": "Platform",
    "tags": "Tag",
    "typeNames": "Sub Type",
}


def _search(_: object, info: Info, input: Mapping[str, Any]) -> Shown:
    return search_page(info, input, [input["type"]])


def _search_across(_: object, info: Info, input: Mapping[str, Any]) -> Shown:
    return search_page(info, input, input.get("types"))


def search_page(
    info: Info,
    input: Mapping[str, Any],
    types: Sequence[str] | None,
    among: Sequence[str] | None = None,
) -> Shown:
    """A page of search results of the types; `among`: restricted to these URNs."""
    call: Call = info.context
    start, count = page_bounds(call, input)
    limited = _restricted_to(question(call, input, types), among)
    with search_session(call.exchange, view_authorization.hits) as session:
        search = session.search(limited)
        page = search.page(start, count)
        facets = usual_facets(info, session, search.results, input)
    page_hits = hits(call, page.entities, limited, input)
    numbered = {"start": start, "count": len(page_hits), "total": page.total}
    return {**numbered, "searchResults": page_hits, "facets": facets, "suggestions": []}


def _scroll_across(_: object, info: Info, input: Mapping[str, Any]) -> Shown:
    return scroll_page(info, input)


def scroll_page(info: Info, input: Mapping[str, Any], among: Sequence[str] | None = None) -> Shown:
    """A page of search results, and the next position; `among`: restricted to these URNs."""
    call: Call = info.context
    _, count = page_bounds(call, input)
    limited = _restricted_to(question(call, input, input.get("types")), among)
    known = scroll.digest(limited, call.exchange.realm, call.actor.name)
    with search_session(call.exchange, view_authorization.hits) as session:
        search = session.search(limited)
        page = _scroll_from(search, input.get("scrollId"), known, count)
        facets = usual_facets(info, session, search.results, input)
    page_hits = hits(call, page.entities, limited, input)
    return {
        "nextScrollId": None if page.place is None else scroll.scroll_id(known, page.place),
        "count": len(page_hits),
        "total": page.total,
        "searchResults": page_hits,
        "facets": facets,
    }


def _restricted_to(search_question: Question, among: Sequence[str] | None) -> Question:
    """The question restricted to these URNs."""
    if among is None:
        return search_question
    only: AnyOf = ((Criterion("urn", tuple(among), Condition.IN),),)
    return replace(search_question, filters=(*search_question.filters, only))


def _scroll_from(search: Search, id: str | None, known: str, count: int) -> Page:
    return search.after(scroll.read_scroll_id(id, known), count) if id else search.page(0, count)


def _aggregate_across(_: object, info: Info, input: Mapping[str, Any]) -> Shown:
    call: Call = info.context
    fields = [name for name in input.get("facets") or () if name]
    if len(fields) > MOST_FACETS:
        raise BadInput(f"more than {MOST_FACETS} facets", where="facets")
    search_question = question(call, input, input.get("types"))
    with search_session(call.exchange, view_authorization.hits) as session:
        search = session.search(search_question)
        facets = _facets(info, session, search.results, input, fields or USUAL)
    return {"facets": facets}


def usual_facets(
    info: Info, session: SearchSession, ids: BitMap, input: Mapping[str, Any]
) -> list[Shown]:
    """The usual facets, unless the caller or the document requests none."""
    flags = input.get("searchFlags") or {}
    if flags.get("skipAggregates") is True or not _is_selected(info, "facets"):
        return []
    return _facets(info, session, ids, input, USUAL)


def _facets(
    info: Info, session: SearchSession, ids: BitMap, input: Mapping[str, Any], names: Iterable[str]
) -> list[Shown]:
    flags = input.get("searchFlags") or {}
    most = flags.get("maxAggValues")
    most = MOST if most is None else max(0, min(most, info.context.exchange.services.page_rows))
    counts_of = session.facets
    facets = [counts_of.of(name, ids, most) for name in dict.fromkeys(names)]
    entities = {count.value: _entity(count.value) for facet in facets for count in facet.counts}
    visible = set(
        authorization.visible(
            info.context, [entity for entity in entities.values() if entity is not None]
        )
    )
    info.context.add_group(visible)
    visible_entities = {value: entity for value, entity in entities.items() if entity in visible}
    return [facet_body(info, facet, visible_entities) for facet in facets]


def facet_body(info: Info, facet: Facet, entities: Mapping[str, Entity | None]) -> Shown:
    """A facet; `entities` are the visible ones, by the values that name them."""
    is_type = facet.field == "_entityType"

    def aggregation(value: str, count: int) -> Shown:
        entity = entities.get(value)
        return {
            "value": type_word(Entity(value, ""), info) if is_type else value,
            "count": count,
            "entity": entity,
            "displayName": None if entity is None else name_in_urn(entity),
        }

    return {
        "field": facet.field,
        "displayName": _TITLES.get(facet.field),
        "entity": None,
        "aggregations": [aggregation(*count) for count in facet.counts],
    }


def _entity(value: str) -> Entity | None:
    if not value.startswith(URN):
        return None
    try:
        return datahub.parse("", value)
    except BadInput:
        return None


def hits(
    call: Call, entities: Sequence[Entity], wanted_question: Question, input: Mapping[str, Any]
) -> list[Shown]:
    """The results of a page. A result whose page is hidden only shows that it exists."""
    flags = input.get("searchFlags") or {}
    visible = set(authorization.visible(call, entities))
    call.add_group(visible)
    query = (
        parse_query(wanted_question.query) if flags.get("skipHighlighting") is not True else None
    )
    extra = [str(name) for name in flags.get("fetchExtraFields") or ()]
    aspects = call.aspects(visible) if query or extra else {}

    def hit(entity: Entity) -> Shown:
        if entity not in visible:
            return _hit(_restricted_entity(call, entity))
        own = {name: aspect.value for name, aspect in aspects.get(entity, {}).items()}
        matched = _matched_fields(entity, own, query) if query else []
        return _hit(entity, matched, _extra_properties(entity, own, extra))

    return [hit(entity) for entity in entities]


def _hit(entity: Entity, matched: Sequence[Shown] = (), extra: Sequence[Shown] = ()) -> Shown:
    return {"entity": entity, "insights": [], "matchedFields": matched, "extraProperties": extra}


def _restricted_entity(call: Call, entity: Entity) -> Entity:
    """A placeholder for a result whose page the caller may not see."""
    identity = f"{call.exchange.realm}\0{call.actor.name}\0{entity.name}"
    digest = blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    return Entity("restricted", f"urn:li:restricted:{digest}")


def _texts_by_field(entity: Entity, aspects: Mapping[str, Any]) -> dict[str, list[str]]:
    """The texts of an entity by field."""
    return {"urn": [entity.name], "name": [display_name(entity, aspects)], **fields(aspects)}


def _matched_fields(entity: Entity, aspects: Mapping[str, Any], query: SearchQuery) -> list[Shown]:
    return [
        {"name": field, "value": text, "entity": _entity(text)}
        for field, texts in sorted(_texts_by_field(entity, aspects).items())
        for text in texts
        if _has_some(words(text), query)
    ]


def _has_some(own: list[str], query: SearchQuery) -> bool:
    return any(term in query.whole or term.startswith(query.starting) for term in own)


def _extra_properties(
    entity: Entity, aspects: Mapping[str, Any], names: Sequence[str]
) -> list[Shown]:
    texts = _texts_by_field(entity, aspects) if names else {}
    singles = ("urn", "name")
    return [
        {"name": n, "value": json.dumps(texts[n][0] if n in singles else texts[n])}
        for n in names
        if texts.get(n)
    ]


def _is_selected(info: Info, name: str) -> bool:
    """Whether the document may select a subfield of this field; fragments are not inspected."""
    for node in info.field_nodes:
        for selection in node.selection_set.selections if node.selection_set else ():
            field = getattr(selection, "name", None)
            is_field = selection.kind == "field"
            if not is_field or (field is not None and field.value == name):
                return True
    return False


RESOLVERS: Final[Resolvers] = {
    "Query": {
        "search": _search,
        "searchAcrossEntities": _search_across,
        "scrollAcrossEntities": _scroll_across,
        "aggregateAcrossEntities": _aggregate_across,
    }
}
