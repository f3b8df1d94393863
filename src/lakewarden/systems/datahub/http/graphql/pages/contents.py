"""What is in a domain, a container, a data product: searches of what belongs to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.pages.roots import shown
from lakewarden.systems.datahub.http.graphql.references import follow, naming
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.http.graphql.search.results import scrolled, searched

Input = Mapping[str, Any]

_PRODUCTS: Final = "dataProducts"
_SIBLINGS: Final = naming(("siblings", "siblings"))


def _belonging(field: str) -> Callable[..., Mapping[str, Any]]:
    """A search of what names the entity in the field; the input's own criteria hold as well."""

    def resolve(entity: Entity, info: Info, input: Input | None = None) -> Mapping[str, Any]:
        return _searched(entity, info, field, input or {})

    return resolve


def _searched(entity: Entity, info: Info, field: str, input: Input) -> Mapping[str, Any]:
    own = {"field": field, "values": [entity.name]}
    filters = [*(input.get("filters") or ()), own]
    question = {**input, "query": input.get("query") or "*", "filters": filters}
    return searched(info, question, question.get("types"))


def _assets(_: object, info: Info, urn: str, input: Input) -> Mapping[str, Any] | None:
    product = shown(info.context, [calls.entity(urn, "dataProduct")])[0]
    return None if product is None else _searched(product, info, _PRODUCTS, input)


def _siblings(dataset: Entity, info: Info, input: Input) -> Mapping[str, Any]:
    """What is found among the siblings; if there are none, nothing."""
    siblings = follow(info.context, dataset, _SIBLINGS)
    if not siblings:
        return {"count": 0, "total": 0, "searchResults": [], "facets": []}
    own = {"field": "urn", "values": [sibling.name for sibling in siblings]}
    groups: Sequence[Input] = input.get("orFilters") or ({},)
    within = [{"and": [*(group.get("and") or ()), own]} for group in groups]
    return scrolled(info, {**input, "orFilters": within})


RESOLVERS: Final[Resolvers] = {
    "Query": {"listDataProductAssets": _assets},
    "Dataset": {"siblingsSearch": _siblings},
    "Container": {"entities": _belonging("container")},
    "DataProduct": {"entities": _belonging(_PRODUCTS)},
    "Domain": {"entities": _belonging("domains")},
}
