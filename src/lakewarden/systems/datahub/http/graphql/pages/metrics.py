"""The metrics of a metric or a semantic model. SOURCE: records of acryl-datahub 1.7.0.17."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http import view_authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.resolving import Field, Info, Resolvers
from lakewarden.systems.datahub.http.graphql.search.results import scroll_page
from lakewarden.systems.datahub.http.searching import search_session
from lakewarden.systems.datahub.search.neighbours import Neighbours


def _metrics_of(edge: str) -> Field:
    """The metrics with an edge to this entity, from the results of a search, page by page."""

    def resolve(entity: Entity, info: Info, input: Mapping[str, Any]) -> Mapping[str, Any]:
        call: Call = info.context
        with search_session(call.exchange, view_authorization.hits) as search:
            ids = Neighbours(search.texts()).sources(entity, [edge])
            ids &= search.index.of_type("metric")
            urns = [search.index.tree.entity(id).name for id in ids]
        return scroll_page(info, {**input, "types": ["METRIC"]}, among=urns)

    return resolve


RESOLVERS: Final[Resolvers] = {
    "Metric": {"childMetrics": _metrics_of("IsPartOf")},
    "SemanticModel": {"metrics": _metrics_of("ModeledBy")},
}
