"""Edges between entities that the stored facts state, and those that aspects do, from one end.

What an aspect alone states is seen from the entity that has the aspect, not from the other end.
SOURCE: the relationships that the records of acryl-datahub 1.7.0.17 declare.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, overload

import numpy as np
from pyroaring import BitMap

from lakewarden.aspects.meaning import REMOVED
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.wire.datahub.graphql import guarding
from lakewarden.wire.datahub.graphql.call import Call
from lakewarden.wire.datahub.graphql.pages.following import Naming, each, naming, under

TYPES: Final = {USER: "corpuser", GROUP: "corpGroup", ROLE: "dataHubRole"}
"""The type of a principal as an entity."""

OWNED: Final = "OwnedBy"
PART: Final = "IsPartOf"

_RELATIONS: Final = {
    "AssociatedWith": "domain",
    "DataProductContains": "asset",
    "IsAssociatedWith": "subject",
    "PhysicalInstanceOf": "logical_parent",
    "TaggedWith": "tag",
    "TermedWith": "term",
    PART: "container",
}
"""The relation of the facts behind each type of edges."""

_WHOLES: Final = frozenset({"container", "domain", "glossaryNode", "dataFlow"})
"""The types of what others are said to be parts of; a column is none of its dataset."""

_STATED: Final[Mapping[str, tuple[Naming, ...]]] = {
    "Consumes": (
        naming("chartInfo", under("inputs")),
        naming("chartInfo", each("inputEdges", "destinationUrn")),
        naming("dashboardInfo", under("datasets")),
        naming("dashboardInfo", each("datasetEdges", "destinationUrn")),
        naming("dataJobInputOutput", under("inputDatasets")),
        naming("dataJobInputOutput", each("inputDatasetEdges", "destinationUrn")),
        naming("mlModelProperties", under("mlFeatures")),
    ),
    "Contains": (
        naming("dashboardInfo", under("charts")),
        naming("dashboardInfo", each("chartEdges", "destinationUrn")),
        naming("mlFeatureTableProperties", under("mlFeatures")),
    ),
    "DerivedFrom": (
        naming("mlFeatureProperties", under("sources")),
        naming("mlPrimaryKeyProperties", under("sources")),
    ),
    "DownstreamOf": (
        naming("upstreamLineage", each("upstreams", "dataset")),
        naming("dataJobInputOutput", under("inputDatajobs")),
    ),
    "HasA": (naming("glossaryRelatedTerms", under("hasRelatedTerms")),),
    "HasValue": (naming("glossaryRelatedTerms", under("values")),),
    "InstanceOf": (naming("dataProcessInstanceRelationships", under("parentTemplate")),),
    "IsA": (naming("glossaryRelatedTerms", under("isRelatedTerms")),),
    "IsRelatedTo": (naming("glossaryRelatedTerms", under("relatedTerms")),),
    "KeyedBy": (naming("mlFeatureTableProperties", under("mlPrimaryKeys")),),
    "MemberOf": (naming("mlModelProperties", under("groups")),),
    "Produces": (
        naming("dataJobInputOutput", under("outputDatasets")),
        naming("dataJobInputOutput", each("outputDatasetEdges", "destinationUrn")),
    ),
    "ReportsTo": (naming("corpUserInfo", under("managerUrn")),),
    "SiblingOf": (naming("siblings", under("siblings")),),
}
"""What aspects say that no fact does, by the type of the edges."""


class Edge(NamedTuple):
    """An edge, and the entity at its other end."""

    type: str
    entity: Entity


class Ends(NamedTuple):
    """The other ends of edges of one type: stored entities by their ids, or entities in order."""

    type: str
    ids: BitMap
    entities: Sequence[Entity] = ()


class Found(Sequence[Edge]):
    """Edges one type after the other; those of a page alone are made."""

    def __init__(self, snapshot: Snapshot, ends: Sequence[Ends]) -> None:
        self._tree = snapshot.coded.tree
        self._ends = ends

    def __len__(self) -> int:
        return sum(len(one.ids) + len(one.entities) for one in self._ends)

    @overload
    def __getitem__(self, index: int) -> Edge: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Edge]: ...
    def __getitem__(self, index: int | slice) -> Edge | Sequence[Edge]:
        if isinstance(index, int):
            return self[index : index + 1][0]
        start, stop, _ = index.indices(len(self))
        return list(self._between(start, stop))

    def _between(self, start: int, stop: int) -> Iterator[Edge]:
        for one in self._ends:
            size = len(one.ids) + len(one.entities)
            if start < size and stop > 0:
                for entity in self._slice(one, max(start, 0), min(stop, size)):
                    yield Edge(one.type, entity)
            start, stop = start - size, stop - size

    def _slice(self, one: Ends, start: int, stop: int) -> Sequence[Entity]:
        if one.entities:
            return one.entities[start:stop]
        if one.ids & self._tree.displaced:
            ids: Sequence[int] = self._tree.ordered(one.ids)
            return [self._tree.entity(id) for id in ids[start:stop]]
        return [self._tree.entity(id) for id in one.ids[start:stop]]


def outgoing(call: Call, entity: Entity, types: frozenset[str]) -> Iterator[Ends]:
    """What the entity's own facts and aspects lead to."""
    for type in sorted(types):
        found = sorted(set(_leading(call, entity, type)))
        if found:
            yield Ends(type, BitMap(), guarding.visible(call, found))


def _leading(call: Call, entity: Entity, type: str) -> Iterator[Entity]:
    snapshot = call.state.matrix.snapshot
    tree = snapshot.coded.tree
    id = tree.find(entity)
    edges = snapshot.coded.relations.get(_RELATIONS.get(type, ""))
    if id is not None:
        yield from (tree.entity(to) for to, _ in (() if edges is None else edges.of(id)))
        if type == PART:
            above = next(iter(tree.ancestors(id)), None)
            if above is not None and tree.entity(above).type in _WHOLES:
                yield tree.entity(above)
        if type == OWNED:
            for owner, _ in snapshot.coded.owners.of(id):
                yield as_entity(snapshot.coded.acting.principals[owner])
    for names in _STATED.get(type, ()):
        yield from names(call, entity)


def incoming(call: Call, entity: Entity, types: frozenset[str]) -> Iterator[Ends]:
    """What the facts of others say leads to the entity."""
    for type in sorted(types):
        ids = guarding.visible_ids(call, _leading_to(call.state.matrix.snapshot, entity, type))
        if ids:
            yield Ends(type, ids)


def _leading_to(snapshot: Snapshot, entity: Entity, type: str) -> BitMap:
    tree = snapshot.coded.tree
    found = BitMap()
    id = tree.find(entity)
    edges = snapshot.coded.relations.get(_RELATIONS.get(type, ""))
    if id is not None and edges is not None:
        found |= edges.sources_of(BitMap([id]))
    if id is not None and type == PART and entity.type in _WHOLES:
        found |= children(snapshot, id)
    if type == OWNED:
        named = snapshot.model.principal_kind(entity)
        owner = None if named is None else snapshot.coded.acting.ids.get(Principal(*named))
        if owner is not None:
            found |= snapshot.coded.owners.sources_of(BitMap([owner]))
    return found & tree.stored


def children(snapshot: Snapshot, id: int) -> BitMap:
    """The ids of what lies directly in an entity, and is stored."""
    tree = snapshot.coded.tree
    below = np.asarray((tree.subtree(id) & tree.stored).to_array(), dtype=np.uint32)
    return BitMap(below[tree.parents[below] == id])


def present(snapshot: Snapshot, ends: Ends) -> Ends:
    """The same without what is deleted softly."""
    attributes, tree = snapshot.coded.attributes, snapshot.coded.tree

    def is_there(id: int | None) -> bool:
        return id is None or not attributes.get(id, {}).get(REMOVED)

    ids = BitMap(id for id in ends.ids if is_there(id))
    return Ends(ends.type, ids, [one for one in ends.entities if is_there(tree.find(one))])


def as_entity(principal: Principal) -> Entity:
    """A user, group or role as an entity."""
    return Entity(TYPES[principal.kind], principal.name)
