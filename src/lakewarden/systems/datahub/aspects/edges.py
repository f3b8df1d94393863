"""Edges between entities that aspects state beside the facts: lineage, and what is like it.

An aspect belongs to the entity that an edge leads from, but for edges between columns: those are
stated by the dataset or the task that makes one column of another. What an edge leads to is in the
index of the search (`term`), so that it is found from its other end.

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
    """Where what an edge leads to is, seen from where it leads from."""

    UPSTREAM = "UPSTREAM"
    DOWNSTREAM = "DOWNSTREAM"


class _Place(NamedTuple):
    """Where an aspect states edges: the path of a URN, `*` for each member of a list."""

    aspect: str
    path: tuple[str, ...]
    lineage: Lineage | None


def _places(*paths: str, lineage: Lineage | None = None) -> tuple[_Place, ...]:
    split = (path.split("/") for path in paths)
    return tuple(_Place(aspect, tuple(path), lineage) for aspect, *path in split)


def _upstream(*paths: str) -> tuple[_Place, ...]:
    return _places(*paths, lineage=Lineage.UPSTREAM)


def _downstream(*paths: str) -> tuple[_Place, ...]:
    return _places(*paths, lineage=Lineage.DOWNSTREAM)


BELONGING: Final = "AssociatedWith"
"""The type of the edges to applications; to domains they are facts."""

TYPES: Final[Mapping[str, tuple[_Place, ...]]] = {
    BELONGING: _places("applications/applications/*"),
    "ChildOf": _places("dataProcessInstanceRelationships/parentInstance"),
    "Consumes": (
        *_upstream("chartInfo/inputs/*", "chartInfo/inputEdges/*/destinationUrn"),
        *_upstream("dashboardInfo/datasets/*", "dashboardInfo/datasetEdges/*/destinationUrn"),
        *_upstream("dataJobInputOutput/inputDatasets/*"),
        *_upstream("dataJobInputOutput/inputDatasetEdges/*/destinationUrn"),
        *_upstream("mlModelProperties/mlFeatures/*"),
        *_upstream("metricUpstreams/datasetUpstreams/*/destinationUrn"),
        *_places("dataProcessInstanceInput/inputs/*"),
    ),
    "Contains": (
        *_upstream("dashboardInfo/charts/*", "dashboardInfo/chartEdges/*/destinationUrn"),
        *_places("mlFeatureTableProperties/mlFeatures/*"),
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
    "HasA": _places("glossaryRelatedTerms/hasRelatedTerms/*"),
    "HasValue": _places("glossaryRelatedTerms/values/*"),
    "InstanceOf": _places("dataProcessInstanceRelationships/parentTemplate"),
    "IsA": _places("glossaryRelatedTerms/isRelatedTerms/*"),
    "IsRelatedTo": _places("glossaryRelatedTerms/relatedTerms/*"),
    "KeyedBy": _places("mlFeatureTableProperties/mlPrimaryKeys/*"),
    "IsPartOf": _places("metricRelationships/parentMetric"),
    "MemberOf": _downstream("mlModelProperties/groups/*"),
    "ModeledBy": _places("metricInfo/semanticModel"),
    "Produces": (
        *_downstream("dataJobInputOutput/outputDatasets/*"),
        *_downstream("dataJobInputOutput/outputDatasetEdges/*/destinationUrn"),
        *_places("dataProcessInstanceOutput/outputs/*"),
    ),
    "RelatedAsset": _places("documentInfo/relatedAssets/*/asset"),
    "RelatedDocument": _places("documentInfo/relatedDocuments/*/document"),
    "ReportsTo": _places("corpUserInfo/managerUrn"),
    "SiblingOf": _places("siblings/siblings/*"),
    "TrainedBy": _upstream(
        "mlModelProperties/trainingJobs/*", "mlModelGroupProperties/trainingJobs/*"
    ),
    "UpstreamOf": _places("dataProcessInstanceRelationships/upstreamInstances/*"),
    "UsedBy": _downstream(
        "mlModelProperties/downstreamJobs/*", "mlModelGroupProperties/downstreamJobs/*"
    ),
    "VersionOf": _places("versionProperties/versionSet"),
}
"""Where edges are stated, by their types."""

LINEAGE: Final = frozenset(
    name for name, places in TYPES.items() if any(place.lineage for place in places)
)
"""The types that say what is made of what."""

_OF_COLUMNS: Final = ("upstreamLineage", "dataJobInputOutput")
_MENTIONED: Final = "edge of a column"


class Edge(NamedTuple):
    """An edge, and what its aspect says about it beside its ends."""

    type: str
    source: str
    target: str
    lineage: Lineage | None
    said: Mapping[str, Any]


def stated(entity: Entity, aspects: Values) -> Iterator[Edge]:
    """The edges that an entity's aspects state; one may come more than once."""
    for name, places in TYPES.items():
        for aspect, path, lineage in places:
            value = aspects.get(aspect)
            for target, properties in _urns_at(value, path, {}) if value else ():
                yield Edge(name, entity.name, target, lineage, properties)
    yield from _between_columns(aspects)


def _between_columns(aspects: Values) -> Iterator[Edge]:
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
    """The URNs at a path, each with the object that it is in."""
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
    """The term in the index of whatever states an edge of the type to a URN."""
    return value_term(f"edge {type}", target)


def column_term(urn: str) -> str:
    """The term of whatever states that a column is made of others."""
    return value_term(_MENTIONED, urn)


def terms(edges: Iterable[Edge], *, of_columns: bool) -> Iterator[str]:
    """The terms of edges: of those between columns, or of the others."""
    for edge in edges:
        if is_column(edge.source) is of_columns:
            yield term(edge.type, edge.target)
            if of_columns:
                yield column_term(edge.source)


def is_column(urn: str) -> bool:
    """Whether a URN is that of a column."""
    return urn.startswith(_COLUMNS)
