"""The contents of a domain, a container or a data product, by searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.pages.roots import visible_or_null
from lakewarden.systems.datahub.http.graphql.references import follow, naming
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.http.graphql.search.results import scroll_page, search_page

Input = Mapping[str, Any]

_PRODUCTS: Final = "dataProducts"
_SIBLINGS: Final = naming(("siblings", "siblings"))


def _search_resolver(field: str) -> Callable[..., Mapping[str, Any]]:
    """A search for entities that refer to this one in the field, with the input's own criteria."""

    def resolve(entity: Entity, info: Info, input: Input | None = None) -> Mapping[str, Any]:
        return _search(entity, info, field, input or {})

    return resolve


def _search(entity: Entity, info: Info, field: str, input: Input) -> Mapping[str, Any]:
    own = {"field": field, "values": [entity.name]}
    filters = [*(input.get("filters") or ()), own]
    question = {**input, "query": input.get("query") or "*", "filters": filters}
    return search_page(info, question, question.get("types"))


def _assets(_: object, info: Info, urn: str, input: Input) -> Mapping[str, Any] | None:
    product = visible_or_null(info.context, [calls.entity(urn, "dataProduct")])[0]
    return None if product is None else _search(product, info, _PRODUCTS, input)


def _siblings(dataset: Entity, info: Info, input: Input) -> Mapping[str, Any]:
    """The results among the siblings; nothing if there are none."""
    siblings = follow(info.context, dataset, _SIBLINGS)
    if not siblings:
        return {"count": 0, "total": 0, "searchResults": [], "facets": []}
    own = {"field": "urn", "values": [sibling.name for sibling in siblings]}
    groups: Sequence[Input] = input.get("orFilters") or ({},)
    within = [{"and": [*(group.get("and") or ()), own]} for group in groups]
    return scroll_page(info, {**input, "orFilters": within})


RESOLVERS: Final[Resolvers] = {
    "Query": {"listDataProductAssets": _assets},
    "Dataset": {"siblingsSearch": _siblings},
    "Container": {"entities": _search_resolver("container")},
    "DataProduct": {"entities": _search_resolver(_PRODUCTS)},
    "Domain": {"entities": _search_resolver("domains")},
}
