"""Lineage: edges between assets, drawn by hand.

An edge is kept with one of its ends, in an aspect that its type says; it is asked about both.
SOURCE: datahub reference 1.3; datahub-project/datahub:…/resolvers/lineage, LineageService.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import Ask
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.draft import Draft, limited, write_all
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_EDIT: Final = "lineage.edit"


class _Edge(NamedTuple):
    downstream: Entity
    upstream: Entity


class _Place(NamedTuple):
    """Where an edge is kept: an aspect, the list in it, and what names the other end there.

    `plain` is an older list that has the other end's URN alone; `at_upstream`: the edge is
    kept with its upstream end.
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


def _update(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    gone = limited(info.context, _edges(input["edgesToRemove"]), "edgesToRemove")
    wanted = limited(info.context, _edges(input["edgesToAdd"]), "edgesToAdd")
    if not gone and not wanted:
        raise bad("`input`: expected edges to add or to remove, one at least")
    unwanted = set(gone)
    added = [edge for edge in wanted if edge not in unwanted]

    def asks(_: Draft) -> list[Ask]:
        ends = dict.fromkeys(end for edge in (*gone, *added) for end in edge)
        return [Ask(_EDIT, end) for end in ends]

    def task(draft: Draft) -> bool:
        draft.check_there(*(end for edge in added for end in edge))
        for edge in gone:
            _put(draft, edge, is_there=False)
        for edge in added:
            _put(draft, edge, is_there=True)
        return True

    return write_all(info.context, asks, task)


def _edges(inputs: Iterable[Mapping[str, Any] | None]) -> list[_Edge]:
    found = [
        _Edge(calls.entity(one["downstreamUrn"]), calls.entity(one["upstreamUrn"]))
        for one in inputs
        if one is not None
    ]
    for edge in found:
        if (edge.downstream.type, edge.upstream.type) not in _PLACES:
            message = f"no `{edge.downstream.type}` is made of a `{edge.upstream.type}` by hand"
            raise bad(f"`downstreamUrn`, `upstreamUrn`: {message}")
    return list(dict.fromkeys(found))


def _put(draft: Draft, edge: _Edge, *, is_there: bool) -> None:
    place = _PLACES[edge.downstream.type, edge.upstream.type]
    holder, other = edge.downstream, edge.upstream
    if place.at_upstream:
        holder, other = other, holder
    if not draft.is_there(holder):
        return
    value = draft.value(holder, place.aspect) or _empty(place.aspect)
    there = shapes.objects(value.get(place.edges))
    kept = [one for one in there if one.get(place.key) != other.name]
    if is_there:
        kept.append({**_before(there, place, other), **_new(draft, place, other)})
    value[place.edges] = kept
    if place.plain and not is_there:
        value[place.plain] = [
            urn for urn in shapes.texts(value.get(place.plain)) if urn != other.name
        ]
    draft.put(holder, place.aspect, value)


def _before(there: list[Mapping[str, Any]], place: _Place, other: Entity) -> Mapping[str, Any]:
    return next((one for one in there if one.get(place.key) == other.name), {})


def _new(draft: Draft, place: _Place, other: Entity) -> dict[str, Any]:
    """An edge as its aspect has it; `source: UI` says that it was drawn by hand."""
    stamp, by_hand = draft.stamp(), {"source": "UI"}
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


def _empty(aspect: str) -> dict[str, Any]:
    """What an aspect must have, of an asset that does not have it yet."""
    if aspect == _INPUT_OUTPUT:
        return {"inputDatasets": [], "outputDatasets": []}
    if aspect == "upstreamLineage":
        return {}
    nobody = {"time": 0, "actor": "urn:li:corpuser:unknown"}
    stamps = {"created": nobody, "lastModified": nobody}
    return {"title": "", "description": "", "customProperties": {}, "lastModified": stamps}


RESOLVERS: Final[Resolvers] = {"Mutation": {"updateLineage": _update}}
