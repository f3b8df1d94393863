"""Metrics, and the models that say what they mean.

SOURCE: records of acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http import viewing
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.pages.assets import key, or_key
from lakewarden.systems.datahub.http.graphql.pages.following import (
    Fields,
    many,
    naming,
    one,
    resolved_stamp,
    under,
)
from lakewarden.systems.datahub.http.graphql.pages.part import aspect
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.http.graphql.search.results import scrolled
from lakewarden.systems.datahub.http.searching import asking
from lakewarden.systems.datahub.search.neighbours import Neighbours

_WORD: Final = "METRIC"


def _metrics_of(edge: str) -> Callable[..., Any]:
    """The metrics of which an edge leads here, of what a search finds, page by page."""

    def resolve(entity: Entity, info: Info, input: Mapping[str, Any]) -> Mapping[str, Any]:
        call: Call = info.context
        with asking(call.exchange, viewing.hits) as asked:
            ids = Neighbours(asked.texts()).sources(entity, [edge])
            ids &= asked.index.of_type("metric")
            urns = [asked.index.tree.entity(id).name for id in ids]
        return scrolled(info, {**input, "types": [_WORD]}, among=urns)

    return resolve


_SAID: Final[Fields] = {
    "name": or_key("name", 2),
    "created": resolved_stamp("created"),
    "lastModified": resolved_stamp("lastModified"),
}

RESOLVERS: Final[Resolvers] = {
    "Metric": {
        "id": key(2),
        "path": key(1),
        "info": aspect("metricInfo"),
        "semanticModel": one(naming("metricInfo", under("semanticModel"), "semanticModel")),
        "parentMetric": one(naming("metricRelationships", under("parentMetric"), "metric")),
        "childMetrics": _metrics_of("IsPartOf"),
    },
    "MetricInfo": _SAID,
    "SemanticModel": {
        "id": key(2),
        "path": key(1),
        "info": aspect("semanticModelInfo"),
        "metrics": _metrics_of("ModeledBy"),
    },
    "SemanticModelInfo": {
        **_SAID,
        "datasets": many(naming("semanticModelInfo", under("datasets"), "dataset")),
    },
}
