"""Lists without full text search: domains, the top of the glossary, queries.

Each has the entities that view authorization allows, sorted by URN, and their total. None contains
softly deleted entities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.aspect_record import aspect
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edges import children
from lakewarden.systems.datahub.http.graphql.paging import contains_words, page
from lakewarden.systems.datahub.http.graphql.resolving import Field, Info, Resolvers
from lakewarden.systems.datahub.search.index import Index

Input = Mapping[str, Any]

_SEARCHED: Final = {"domain": "domainProperties", "query": "queryProperties"}
"""The aspect whose words a search for entities matches."""


def _visible(call: Call, ids: BitMap) -> list[Entity]:
    index = Index.of(call.state.matrix.snapshot)
    visible = authorization.visible_ids(call, ids - index.removed)
    return [index.tree.entity(id) for id in index.tree.ordered(visible)]


def _page(call: Call, entities: Sequence[Entity], input: Input, key: str) -> Mapping[str, Any]:
    page_entities, numbers = page(entities, input, call.exchange.services.page_rows)
    call.add_group(page_entities)
    return {**numbers, key: page_entities}


def _matching(call: Call, entities: list[Entity], query: str | None) -> list[Entity]:
    """The entities with the words of the query; this is not a full text search."""
    if (query or "*").strip() in ("", "*"):
        return entities
    call.add_group(entities)
    return [entity for entity in entities if contains_words(query, *_texts(call, entity))]


def _texts(call: Call, entity: Entity) -> Iterator[str]:
    properties = aspect(call, entity, _SEARCHED[entity.type])
    yield entity.name
    yield properties.text("name") or ""
    yield properties.text("description") or ""
    yield properties.record_or_empty("statement").text("value") or ""


def _root_ids(call: Call, type: str) -> BitMap:
    """The ids of the entities without a parent."""
    snapshot = call.state.matrix.snapshot
    parents = snapshot.coded.tree.parents
    return BitMap(id for id in snapshot.of_type(type) if parents[id] < 0)


def _domains(_: object, info: Info, input: Input) -> Mapping[str, Any]:
    call: Call = info.context
    parent = input.get("parentDomain")
    within = None if parent is None else calls.entity(parent, "domain")
    ids = _root_ids(call, "domain") if within is None else _child_ids(call, within)
    domains = _matching(call, _visible(call, ids), input.get("query"))
    return _page(call, domains, input, "domains")


def _child_ids(call: Call, domain: Entity) -> BitMap:
    snapshot = call.state.matrix.snapshot
    id = snapshot.coded.tree.find(domain)
    below = BitMap() if id is None else children(snapshot, id)
    return below & snapshot.of_type("domain") if authorization.visible(call, [domain]) else BitMap()


def _roots_resolver(type: str, key: str) -> Field:
    def resolve(_: object, info: Info, input: Input) -> Mapping[str, Any]:
        call: Call = info.context
        return _page(call, _visible(call, _root_ids(call, type)), input, key)

    return resolve


def _queries(_: object, info: Info, input: Input) -> Mapping[str, Any]:
    call: Call = info.context
    dataset, source = input.get("datasetUrn"), input.get("source")
    ids = call.state.matrix.snapshot.of_type("query")
    if dataset is not None:
        ids &= _query_ids(call, calls.entity(dataset, "dataset"))
    queries = _matching(call, _visible(call, ids), input.get("query"))
    if source is not None:
        call.add_group(queries)
        queries = [query for query in queries if _source(call, query) == source]
    return _page(call, queries, input, "queries")


def _query_ids(call: Call, dataset: Entity) -> BitMap:
    """The ids of the queries about a dataset or one of its columns."""
    coded = call.state.matrix.snapshot.coded
    id, edges = coded.tree.find(dataset), coded.relations.get("subject")
    if id is None or edges is None:
        return BitMap()
    return edges.sources_of(coded.tree.subtree(id))


def _source(call: Call, query: Entity) -> str:
    source = aspect(call, query, "queryProperties").text("source")
    return "MANUAL" if source == "MANUAL" else "SYSTEM"


RESOLVERS: Final[Resolvers] = {
    "Query": {
        "listDomains": _domains,
        "getRootGlossaryNodes": _roots_resolver("glossaryNode", "nodes"),
        "getRootGlossaryTerms": _roots_resolver("glossaryTerm", "terms"),
        "listQueries": _queries,
    },
}
