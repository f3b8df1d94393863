"""Edges between entities that aspects state in addition to facts: lineage and similar relations.

An aspect belongs to the source of an edge. Edges between columns are an exception: they are stated
by the dataset or task that derives one column from another. The target of an edge is in the search
index (`term`), so the edge can also be found from its target.

SOURCE: the relationships that the records of acryl-datahub 1.7.0.17 declare.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.service.search_terms import value_term
from lakewarden.systems.datahub.aspects.fields import without_avro_type

COLUMN: Final = "schemaField"
"""The type of columns."""

MADE_OF: Final = "DownstreamOf"
"""The type of the edges between columns, and of those between datasets."""

_COLUMNS: Final = f"urn:li:{COLUMN}:"

Values = Mapping[str, Mapping[str, Any]]
"""Aspects by name."""


class Lineage(Enum):
    """The side of an edge's target, seen from its source."""

    UPSTREAM = "UPSTREAM"
    DOWNSTREAM = "DOWNSTREAM"


class _EdgePath(NamedTuple):
    """The place of edges in an aspect: the path of a URN, with `*` for each member of a list."""

    aspect: str
    path: tuple[str, ...]
    lineage: Lineage | None


def _edge_paths(*paths: str, lineage: Lineage | None = None) -> tuple[_EdgePath, ...]:
    split = (path.split("/") for path in paths)
    return tuple(_EdgePath(aspect, tuple(path), lineage) for aspect, *path in split)


def _upstream(*paths: str) -> tuple[_EdgePath, ...]:
    return _edge_paths(*paths, lineage=Lineage.UPSTREAM)


def _downstream(*paths: str) -> tuple[_EdgePath, ...]:
    return _edge_paths(*paths, lineage=Lineage.DOWNSTREAM)


BELONGING: Final = "AssociatedWith"
"""The type of edges to applications; edges to domains are facts."""

TYPES: Final[Mapping[str, tuple[_EdgePath, ...]]] = {
    BELONGING: _edge_paths("applications/applications/*"),
    "ChildOf": _edge_paths("dataProcessInstanceRelationships/parentInstance"),
    "Consumes": (
        *_upstream("chartInfo/inputs/*", "chartInfo/inputEdges/*/destinationUrn"),
        *_upstream("dashboardInfo/datasets/*", "dashboardInfo/datasetEdges/*/destinationUrn"),
        *_upstream("dataJobInputOutput/inputDatasets/*"),
        *_upstream("dataJobInputOutput/inputDatasetEdges/*/destinationUrn"),
        *_upstream("mlModelProperties/mlFeatures/*"),
        *_upstream("metricUpstreams/datasetUpstreams/*/destinationUrn"),
        *_edge_paths("dataProcessInstanceInput/inputs/*"),
    ),
    "Contains": (
        *_upstream("dashboardInfo/charts/*", "dashboardInfo/chartEdges/*/destinationUrn"),
        *_edge_paths("mlFeatureTableProperties/mlFeatures/*"),
    ),
    "DashboardContainsDashboard": _upstream("dashboardInfo/dashboards/*/destinationUrn"),
    "DataProcessInstanceConsumes": _upstream(
        "dataProcessInstanceInput/inputEdges/*/destinationUrn"
    ),
    "DataProcessInstanceProduces": _downstream(
        "dataProcessInstanceOutput/outputEdges/*/destinationUrn"
    ),
    "DerivedFrom": _upstream(
        *("mlFeatureProperties/sources/*", "mlPrimaryKeyProperties/sources/*"),
        "metricRelationships/derivedFrom/*/destinationUrn",
    ),
    MADE_OF: _upstream(
        "upstreamLineage/upstreams/*/dataset",
        "dataJobInputOutput/inputDatajobs/*",
        "dataJobInputOutput/inputDatajobEdges/*/destinationUrn",
    ),
    "HasA": _edge_paths("glossaryRelatedTerms/hasRelatedTerms/*"),
    "HasValue": _edge_paths("glossaryRelatedTerms/values/*"),
    "InstanceOf": _edge_paths("dataProcessInstanceRelationships/parentTemplate"),
    "IsA": _edge_paths("glossaryRelatedTerms/isRelatedTerms/*"),
    "IsRelatedTo": _edge_paths("glossaryRelatedTerms/relatedTerms/*"),
    "KeyedBy": _edge_paths("mlFeatureTableProperties/mlPrimaryKeys/*"),
    "IsPartOf": _edge_paths("metricRelationships/parentMetric"),
    "MemberOf": _downstream("mlModelProperties/groups/*"),
    "ModeledBy": _edge_paths("metricInfo/semanticModel"),
    "Produces": (
        *_downstream("dataJobInputOutput/outputDatasets/*"),
        *_downstream("dataJobInputOutput/outputDatasetEdges/*/destinationUrn"),
        *_edge_paths("dataProcessInstanceOutput/outputs/*"),
    ),
    "RelatedAsset": _edge_paths("documentInfo/relatedAssets/*/asset"),
    "RelatedDocument": _edge_paths("documentInfo/relatedDocuments/*/document"),
    "ReportsTo": _edge_paths("corpUserInfo/managerUrn"),
    "SiblingOf": _edge_paths("siblings/siblings/*"),
    "TrainedBy": _upstream(
        "mlModelProperties/trainingJobs/*", "mlModelGroupProperties/trainingJobs/*"
    ),
    "UpstreamOf": _edge_paths("dataProcessInstanceRelationships/upstreamInstances/*"),
    "UsedBy": _downstream(
        "mlModelProperties/downstreamJobs/*", "mlModelGroupProperties/downstreamJobs/*"
    ),
    "VersionOf": _edge_paths("versionProperties/versionSet"),
}
"""The places of edges, by type."""

LINEAGE: Final = frozenset(
    name for name, places in TYPES.items() if any(place.lineage for place in places)
)
"""The types of lineage edges."""

_OF_COLUMNS: Final = ("upstreamLineage", "dataJobInputOutput")
_MENTIONED: Final = "edge of a column"


class Edge(NamedTuple):
    """An edge, and its other properties in the aspect."""

    type: str
    source: str
    target: str
    lineage: Lineage | None
    properties: Mapping[str, Any]


def stated_edges(entity: Entity, aspects: Values) -> Iterator[Edge]:
    """The edges in an entity's aspects; there may be duplicates."""
    for name, places in TYPES.items():
        for aspect, path, lineage in places:
            value = aspects.get(aspect)
            for target, properties in _urns_at(value, path, {}) if value else ():
                yield Edge(name, entity.name, target, lineage, properties)
    yield from _column_edges(aspects)


def _column_edges(aspects: Values) -> Iterator[Edge]:
    for aspect in _OF_COLUMNS:
        value = aspects.get(aspect)
        for lineage_entry in _edges_at(value, "fineGrainedLineages") if value else ():
            if isinstance(lineage_entry, Mapping):
                columns = list(_columns(lineage_entry, "downstreams"))
                for of in _columns(lineage_entry, "upstreams"):
                    yield from (
                        Edge(MADE_OF, column, of, Lineage.UPSTREAM, lineage_entry)
                        for column in columns
                    )


def _columns(holder: Mapping[str, Any], key: str) -> Iterator[str]:
    for urn in _edges_at(holder, key):
        if isinstance(urn, str) and is_column(urn):
            yield urn


def _edges_at(holder: Mapping[str, Any], key: str) -> Sequence[Any]:
    values = without_avro_type(holder.get(key))
    return [without_avro_type(value) for value in values] if isinstance(values, list) else ()


def _urns_at(
    value: Any, path: Sequence[str], properties: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The URNs at a path, each with the object that contains it."""
    value = without_avro_type(value)
    if not path:
        if isinstance(value, str) and value:
            yield value, properties
        return
    first, *deeper = path
    if first == "*":
        for member in value if isinstance(value, list) else ():
            yield from _urns_at(member, deeper, {})
    elif isinstance(value, Mapping):
        yield from _urns_at(value.get(first), deeper, {} if deeper else value)


def term(type: str, target: str) -> str:
    """The index term of entities that state an edge of the type to a URN."""
    return value_term(f"edge {type}", target)


def column_term(urn: str) -> str:
    """The index term of entities that state that a column is derived from others."""
    return value_term(_MENTIONED, urn)


def terms(edges: Iterable[Edge], *, of_columns: bool) -> Iterator[str]:
    """The terms of edges: of those between columns, or of the others."""
    for edge in edges:
        if is_column(edge.source) is of_columns:
            yield term(edge.type, edge.target)
            if of_columns:
                yield column_term(edge.source)


def is_column(urn: str) -> bool:
    """Whether a URN is a column's."""
    return urn.startswith(_COLUMNS)
