"""Edges of an entity, from stored facts and from aspects.

SOURCE: the relationships that the records of acryl-datahub 1.7.0.17 declare.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, overload

import numpy as np
from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.kernel.relations import REMOVED
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.systems.datahub.aspects import edges as stating
from lakewarden.systems.datahub.aspects.meaning import target
from lakewarden.systems.datahub.http import view_authorization
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.searching import search_session
from lakewarden.systems.datahub.search.neighbours import Neighbours

TYPES: Final = {USER: "corpuser", GROUP: "corpGroup", ROLE: "dataHubRole"}
"""The type of a principal as an entity."""

OWNED: Final = "OwnedBy"
PART: Final = "IsPartOf"
OF_ROLE: Final = "IsAssociatedWithRole"
"""From a policy to the roles that it names: visible to callers who may list policies."""

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
"""The types that contain their parts; a dataset does not count as containing its columns."""


class Edge(NamedTuple):
    """An edge, and the entity at its other end."""

    type: str
    entity: Entity


class Ends(NamedTuple):
    """The other ends of edges of one type: stored entities by their ids, or entities in order."""

    type: str
    ids: BitMap
    entities: Sequence[Entity] = ()


class EdgeList(Sequence[Edge]):
    """Edges by type; only those of a page are created."""

    def __init__(self, snapshot: Snapshot, ends: Sequence[Ends]) -> None:
        self._tree = snapshot.coded.tree
        self._ends = ends

    def __len__(self) -> int:
        return sum(len(end.ids) + len(end.entities) for end in self._ends)

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
        for end in self._ends:
            size = len(end.ids) + len(end.entities)
            if start < size and stop > 0:
                for entity in self._slice(end, max(start, 0), min(stop, size)):
                    yield Edge(end.type, entity)
            start, stop = start - size, stop - size

    def _slice(self, ends: Ends, start: int, stop: int) -> Sequence[Entity]:
        if ends.entities:
            return ends.entities[start:stop]
        if ends.ids & self._tree.displaced:
            ids: Sequence[int] = self._tree.ordered(ends.ids)
            return [self._tree.entity(id) for id in ids[start:stop]]
        return [self._tree.entity(id) for id in ends.ids[start:stop]]


def outgoing(call: Call, entity: Entity, types: frozenset[str]) -> Iterator[Ends]:
    """The edges from the entity's own facts and aspects."""
    targets = _aspect_targets(call, entity, types & stating.TYPES.keys())
    for type in sorted(types):
        entities = sorted({*_fact_targets(call, entity, type), *targets.get(type, ())})
        if entities:
            yield Ends(type, BitMap(), authorization.visible(call, entities))


def _aspect_targets(call: Call, entity: Entity, types: frozenset[str]) -> dict[str, list[Entity]]:
    """The targets of the edges that aspects state, by their types."""
    others: dict[str, list[Entity]] = {}
    if types and stating.is_column(entity.name):
        with search_session(call.exchange, view_authorization.hits) as search:
            for step in Neighbours(search.texts()).outgoing(entity, types):
                others.setdefault(step.type, []).append(step.other)
    elif types:
        stored = call.aspects([entity]).get(entity, {})
        values = {name: aspect.value for name, aspect in stored.items()}
        for edge in stating.stated_edges(entity, values):
            other, problem = target(edge.target, frozenset())
            if edge.source == entity.name and edge.type in types and not problem:
                others.setdefault(edge.type, []).append(other)
    return others


def _fact_targets(call: Call, entity: Entity, type: str) -> Iterator[Entity]:
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
        if type == OF_ROLE and authorization.is_allowed(
            call, "policy.list", authorization.POLICIES
        ):
            yield from _roles_of(snapshot, entity)
        if type == OWNED:
            for owner, _ in snapshot.coded.owners.of(id):
                yield as_entity(snapshot.coded.memberships.principals[owner])


def _roles_of(snapshot: Snapshot, policy: Entity) -> Iterator[Entity]:
    statement = snapshot.table.statements.get(policy.name)
    if statement is None or statement.obliges:
        return
    for principal in statement.principals:
        if principal.kind == ROLE:
            yield as_entity(principal)


def incoming(call: Call, entity: Entity, types: frozenset[str]) -> Iterator[Ends]:
    """The edges to the entity from facts and aspects of others."""
    aspect_types = types & stating.TYPES.keys()
    with search_session(call.exchange, view_authorization.hits) as search:
        if aspect_types and stating.is_column(entity.name):
            steps = Neighbours(search.texts()).incoming(entity, aspect_types)
            for type in sorted({step.type for step in steps}):
                others = [step.other for step in steps if step.type == type]
                yield Ends(type, BitMap(), authorization.visible(call, others))
            aspect_types = frozenset()
        for type in sorted(types):
            ids = _fact_sources(call, entity, type)
            if type in aspect_types:
                ids |= Neighbours(search.texts()).sources(entity, [type])
            ids = authorization.visible_ids(call, ids & search.index.tree.stored)
            if ids:
                yield Ends(type, ids)


def _fact_sources(call: Call, entity: Entity, type: str) -> BitMap:
    snapshot = call.state.matrix.snapshot
    tree = snapshot.coded.tree
    ids = BitMap()
    id = tree.find(entity)
    edges = snapshot.coded.relations.get(_RELATIONS.get(type, ""))
    if id is not None and edges is not None:
        ids |= edges.sources_of(BitMap([id]))
    if id is not None and type == PART and entity.type in _WHOLES:
        ids |= children(snapshot, id)
    if type == OWNED:
        key = snapshot.model.principal_kind(entity)
        owner = None if key is None else snapshot.coded.memberships.ids.get(Principal(*key))
        if owner is not None:
            ids |= snapshot.coded.owners.sources_of(BitMap([owner]))
    if type == OF_ROLE and authorization.is_allowed(call, "policy.list", authorization.POLICIES):
        ids |= _policies_of(snapshot, entity)
    return ids


def _policies_of(snapshot: Snapshot, role: Entity) -> BitMap:
    """The stored policies that are about a role."""
    principal = Principal(ROLE, role.name)
    candidates = (
        Entity("dataHubPolicy", id)
        for id, statement in snapshot.table.statements.items()
        if principal in statement.principals and not statement.obliges
    )
    ids = (snapshot.coded.tree.find(entity) for entity in candidates)
    return BitMap([id for id in ids if id is not None])


def children(snapshot: Snapshot, id: int) -> BitMap:
    """The ids of the stored children of an entity."""
    tree = snapshot.coded.tree
    below = np.asarray((tree.subtree(id) & tree.stored).to_array(), dtype=np.uint32)
    return BitMap(below[tree.parents[below] == id])


def without_removed(snapshot: Snapshot, ends: Ends) -> Ends:
    """The ends without softly deleted entities."""
    attributes, tree = snapshot.coded.attributes, snapshot.coded.tree

    def is_there(id: int | None) -> bool:
        return id is None or not attributes.get(id, {}).get(REMOVED)

    ids = BitMap(id for id in ends.ids if is_there(id))
    return Ends(ends.type, ids, [entity for entity in ends.entities if is_there(tree.find(entity))])


def ends_of_types(snapshot: Snapshot, ends: Ends, types: Iterable[str]) -> Ends:
    """The ends of the types only."""
    names = frozenset(types)
    ids = ends.ids & BitMap.union(BitMap(), *(snapshot.of_type(type) for type in names))
    return Ends(ends.type, ids, [entity for entity in ends.entities if entity.type in names])


def as_entity(principal: Principal) -> Entity:
    """A user, group or role as an entity."""
    return Entity(TYPES[principal.kind], principal.name)
