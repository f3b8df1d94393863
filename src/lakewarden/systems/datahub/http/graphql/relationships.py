"""Edges of an entity: memberships, and edges from facts and aspects.

Memberships in groups are of two kinds, by the aspect that states them; memberships without an
aspect count as IsMemberOfGroup. All others are in `edges`. Unknown types have no edges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import GROUP, ROLE, Principal
from lakewarden.systems.datahub.http.graphql import authorization, edges
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edges import TYPES, Edge, EdgeList, Ends
from lakewarden.systems.datahub.http.graphql.edges import as_entity as _entity
from lakewarden.systems.datahub.http.graphql.paging import page
from lakewarden.systems.datahub.http.graphql.resolving import Info
from lakewarden.systems.datahub.use_cases import aspects

IN_GROUP: Final = "IsMemberOfGroup"
IN_NATIVE_GROUP: Final = "IsMemberOfNativeGroup"
IN_ROLE: Final = "IsMemberOfRole"

_MEMBERSHIPS: Final = frozenset({IN_GROUP, IN_NATIVE_GROUP, IN_ROLE})


def relationships(entity: Entity, info: Info, input: Mapping[str, Any]) -> Mapping[str, Any]:
    """The visible edges of an entity, of the requested types."""
    call: Call = info.context
    call.start_list()
    snapshot = call.state.matrix.snapshot
    direction, types = input["direction"], frozenset(input["types"])
    ends = sorted(_ends(call, entity, direction, types), key=lambda end: end.type)
    of_types = input.get("relatedEntityTypes")
    if of_types is not None:
        ends = [edges.ends_of_types(snapshot, end, of_types) for end in ends]
    if not input.get("includeSoftDelete", True):
        ends = [edges.without_removed(snapshot, end) for end in ends]
    edge_list = EdgeList(snapshot, ends)
    most = call.exchange.services.page_rows
    # DataHub's own pages request ten thousand to get all: the page is as long as the limit allows.
    count = input.get("count")
    paging = input if count is None else {**input, "count": min(count, most)}
    page_edges, numbers = page(edge_list, paging, most)
    call.add_group(edge.entity for edge in page_edges)
    looked_at = 1 + len(page_edges) + sum(len(end.entities) for end in ends)
    call.end_list(looked_at=looked_at, shown=len(page_edges))
    return {
        **numbers,
        "relationships": [{**edge._asdict(), "direction": direction} for edge in page_edges],
    }


def _ends(call: Call, entity: Entity, direction: str, types: frozenset[str]) -> Iterator[Ends]:
    inward = direction == "INCOMING"
    if types & _MEMBERSHIPS:
        related = _incoming(call, entity, types) if inward else _outgoing(call, entity)
        yield from _members(call, related, types)
    if types - _MEMBERSHIPS:
        ends = edges.incoming if inward else edges.outgoing
        yield from ends(call, entity, types - _MEMBERSHIPS)


def _members(call: Call, related: Iterable[Edge], types: frozenset[str]) -> Iterator[Ends]:
    edges_wanted = sorted({edge for edge in related if edge.type in types})
    visible = set(authorization.visible(call, (edge.entity for edge in edges_wanted)))
    for type in sorted({edge.type for edge in edges_wanted}):
        visible_edges = [
            edge.entity for edge in edges_wanted if edge.type == type and edge.entity in visible
        ]
        yield Ends(type, BitMap(), visible_edges)


def _outgoing(call: Call, entity: Entity) -> Iterator[Edge]:
    memberships = call.state.matrix.snapshot.coded.memberships
    id = _id(call, entity)
    native = aspects.native_groups(call.aspects([entity]).get(entity, {}))
    for of in () if id is None else memberships.of.get(id, ()):
        yield from _edge(memberships.principals[of], memberships.principals[of], native)


def _incoming(call: Call, entity: Entity, types: frozenset[str]) -> Iterator[Edge]:
    memberships = call.state.matrix.snapshot.coded.memberships
    id = _id(call, entity)
    if id is None:
        return
    of = memberships.principals[id]
    members = [memberships.principals[member] for member in memberships.members.get(id, ())]
    native: dict[Entity, frozenset[str]] = {}
    if of.kind == GROUP and types & {IN_GROUP, IN_NATIVE_GROUP}:
        aspects_of = call.aspects(_entity(member) for member in members if member.kind in TYPES)
        native |= {member: aspects.native_groups(own) for member, own in aspects_of.items()}
    for principal in members:
        if principal.kind in TYPES:
            yield from _edge(of, principal, native.get(_entity(principal), frozenset()))


def _edge(of: Principal, other: Principal, native: frozenset[str]) -> Iterator[Edge]:
    if of.kind == ROLE:
        yield Edge(IN_ROLE, _entity(other))
    elif of.kind == GROUP:
        yield Edge(IN_NATIVE_GROUP if of.name in native else IN_GROUP, _entity(other))


def _id(call: Call, entity: Entity) -> int | None:
    coded = call.state.matrix.snapshot.coded
    principal_key = coded.model.principal_kind(entity)
    return None if principal_key is None else coded.memberships.ids.get(Principal(*principal_key))
