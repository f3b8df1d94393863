"""Manual lineage: edges between assets, created by users.

An edge is stored with one of its ends, in an aspect that depends on the types; it requires the
privilege on both. SOURCE: datahub reference 1.3; datahub-project/datahub:…/resolvers/lineage,
LineageService.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import Requirement
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    AspectWrite,
    check_limit,
)
from lakewarden.systems.datahub.http.graphql.records import Input
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value

_EDIT: Final = "lineage.edit"


class _Edge(NamedTuple):
    downstream: Entity
    upstream: Entity


class _Place(NamedTuple):
    """Where an edge is stored: an aspect, its list, and the member with the other end.

    `plain` is an older list that only has the other end's URN; `at_upstream`: the edge is stored
    with its upstream end.
    """

    aspect: str
    edges: str
    key: str
    plain: str = ""
    at_upstream: bool = False


_INPUT_OUTPUT: Final = "dataJobInputOutput"

_PLACES: Final[Mapping[tuple[str, str], _Place]] = {
    ("dataset", "dataset"): _Place("upstreamLineage", "upstreams", "dataset"),
    ("dataset", "dataJob"): _Place(
        _INPUT_OUTPUT, "outputDatasetEdges", "destinationUrn", "outputDatasets", at_upstream=True
    ),
    ("dataJob", "dataset"): _Place(
        _INPUT_OUTPUT, "inputDatasetEdges", "destinationUrn", "inputDatasets"
    ),
    ("dataJob", "dataJob"): _Place(
        _INPUT_OUTPUT, "inputDatajobEdges", "destinationUrn", "inputDatajobs"
    ),
    ("chart", "dataset"): _Place("chartInfo", "inputEdges", "destinationUrn", "inputs"),
    ("dashboard", "dataset"): _Place("dashboardInfo", "datasetEdges", "destinationUrn", "datasets"),
    ("dashboard", "chart"): _Place("dashboardInfo", "chartEdges", "destinationUrn", "charts"),
}
"""By the types of the downstream and the upstream end."""


def _update(_: object, info: Info, input: Input) -> object:
    removed = check_limit(info.context, _edges(input["edgesToRemove"]), "edgesToRemove")
    requested = check_limit(info.context, _edges(input["edgesToAdd"]), "edgesToAdd")
    if not removed and not requested:
        raise bad("`input`: expected edges to add or to remove, one at least")
    unwanted = set(removed)
    added = [edge for edge in requested if edge not in unwanted]
    ends = list(dict.fromkeys(end for edge in (*removed, *added) for end in edge))

    def write(changes: AspectChanges, _: Sequence[Entity], __: Input) -> None:
        changes.check_exists(*(end for edge in added for end in edge))
        for edge in removed:
            _put(changes, edge, is_there=False)
        for edge in added:
            _put(changes, edge, is_there=True)

    row = AspectWrite(lambda *_: ends, lambda *_: [Requirement(_EDIT, end) for end in ends], write)
    return row(None, info, input=input)


def _edges(inputs: Iterable[Mapping[str, Any] | None]) -> list[_Edge]:
    edges = [
        _Edge(calls.entity(item["downstreamUrn"]), calls.entity(item["upstreamUrn"]))
        for item in inputs
        if item is not None
    ]
    for edge in edges:
        if (edge.downstream.type, edge.upstream.type) not in _PLACES:
            message = f"no `{edge.downstream.type}` is made of a `{edge.upstream.type}` by hand"
            raise bad(f"`downstreamUrn`, `upstreamUrn`: {message}")
    return list(dict.fromkeys(edges))


def _put(changes: AspectChanges, edge: _Edge, *, is_there: bool) -> None:
    place = _PLACES[edge.downstream.type, edge.upstream.type]
    holder, other = edge.downstream, edge.upstream
    if place.at_upstream:
        holder, other = other, holder
    if not changes.is_stored(holder):
        return
    value = changes.value(holder, place.aspect) or _empty(place.aspect)
    edges = shapes.objects(value.get(place.edges))
    others = [edge for edge in edges if edge.get(place.key) != other.name]
    if is_there:
        before = next((edge for edge in edges if edge.get(place.key) == other.name), {})
        others.append({**before, **_new(changes, place, other)})
    elif place.plain:
        urns = shapes.texts(value.get(place.plain))
        value[place.plain] = [urn for urn in urns if urn != other.name]
    changes.put(holder, place.aspect, {**value, place.edges: others})


def _new(changes: AspectChanges, place: _Place, other: Entity) -> Value:
    """An edge in the form of its aspect; `source: UI` marks a manual edge."""
    stamp, by_hand = changes.stamp, {"source": "UI"}
    if place.aspect == "upstreamLineage":
        return {
            "dataset": other.name,
            "type": "TRANSFORMED",
            "auditStamp": stamp,
            "created": stamp,
            "properties": by_hand,
        }
    return {
        "destinationUrn": other.name,
        "created": stamp,
        "lastModified": stamp,
        "properties": by_hand,
    }


def _empty(aspect: str) -> Value:
    """The required members of an aspect, for an asset without it."""
    if aspect == _INPUT_OUTPUT:
        return {"inputDatasets": [], "outputDatasets": []}
    if aspect == "upstreamLineage":
        return {}
    nobody = {"time": 0, "actor": "urn:li:corpuser:unknown"}
    stamps = {"created": nobody, "lastModified": nobody}
    return {"title": "", "description": "", "customProperties": {}, "lastModified": stamps}


RESOLVERS: Final[Resolvers] = {"Mutation": {"updateLineage": _update}}
