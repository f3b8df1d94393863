"""The relations of an entity under the original's names: `/relationships`.

Shows the relations of stored facts: owners, tags, terms, domains, containers, memberships, data
products, subjects of queries and logical parents; and relations that only aspects state, mainly
lineage (`lakewarden.systems.datahub.aspects.edges`). The caller must be able to read the other end.
SOURCE: datahub-project/datahub:metadata-service/restli-api/src/main/idl/
com.linkedin.lineage.relationships.restspec.json@1d4c082b; RelationshipController of its OpenAPI.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.http.strict_json import read_object
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.kernel.relations import MembershipRow, OwnerRow, RelationRow
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.names.canonical import quoted
from lakewarden.systems.datahub.aspects.edges import TYPES
from lakewarden.systems.datahub.aspects.facts import Placement, stored_facts
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.http import view_authorization
from lakewarden.systems.datahub.http.authorization import allow, readable
from lakewarden.systems.datahub.http.bodies import (
    entity,
    number,
    ok,
    page_size,
    scroll_id,
    scroll_start,
)
from lakewarden.systems.datahub.http.searching import search_session
from lakewarden.systems.datahub.search.neighbours import Neighbours
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.references import references

NAMES: Final = {
    "container": "IsPartOf",
    "dataProductProperties": "DataProductContains",
    "domainProperties": "IsPartOf",
    "domains": "AssociatedWith",
    "globalTags": "TaggedWith",
    "glossaryNodeInfo": "IsPartOf",
    "glossaryTermInfo": "IsPartOf",
    "glossaryTerms": "TermedWith",
    "groupMembership": "IsMemberOfGroup",
    "logicalParent": "PhysicalInstanceOf",
    "ownership": "OwnedBy",
    "querySubjects": "IsAssociatedWith",
    "roleMembership": "IsMemberOfRole",
}
"""The relation that an aspect states."""

_IN_GROUP: Final = NAMES["groupMembership"]
_IN_NATIVE_GROUP: Final = "IsMemberOfNativeGroup"
_IN_GROUPS: Final = {_IN_GROUP, _IN_NATIVE_GROUP}
_READ: Final = "relationship.read"
_ACTORS: Final = {USER: "corpuser", GROUP: "corpGroup", ROLE: "dataHubRole"}
_MOST_NAMED: Final = 100
_DIRECTIONS: Final = ("INCOMING", "OUTGOING")


class Edge(NamedTuple):
    """A relation, and the entity at its other end."""

    type: str
    entity: Entity


Between = tuple[str, Entity, Entity]
"""A relation, its source and its target."""


def load(exchange: Exchange) -> Reply:
    """A page of the relations of an entity."""
    page, numbers = _page(exchange, "types")
    bodies = [{"type": edge.type, "entity": edge.entity.name} for edge in page]
    return ok({**numbers, "relationships": bodies})


def load_open(exchange: Exchange) -> Reply:
    """As `load`, in the format of version 1 of the newer interface."""
    page, numbers = _page(exchange, "relationshipTypes")
    bodies = [{"relationshipType": edge.type, "urn": edge.entity.name} for edge in page]
    return ok({**numbers, "entities": bodies})


def _page(exchange: Exchange, types: str) -> tuple[list[Edge], dict[str, object]]:
    of, selected = entity(exchange.one("urn")), _name_list(exchange, types)
    start, count = number(exchange.one("start", "0"), "start"), page_size(exchange, 100)
    edges = _edges(exchange, of, exchange.one("direction", "OUTGOING"), selected)
    page = edges[start : start + count]
    return page, {"start": start, "count": len(page), "total": len(edges)}


def scroll(exchange: Exchange) -> Reply:
    """As `load`, in the format of the newer interface."""
    of = entity(exchange.params["urn"], exchange.params["type"])
    types = _name_list(exchange, "relationshipType[]") or _name_list(exchange, "relationshipType")
    start, count = scroll_start(exchange), page_size(exchange)
    direction = exchange.one("direction", "OUTGOING").upper()
    edges = _edges(exchange, of, direction, types - {"*"})
    is_outward = direction == "OUTGOING"
    between = [
        (edge.type, of, edge.entity) if is_outward else (edge.type, edge.entity, of)
        for edge in edges
    ]
    return _scroll_body(between, start, count)


def scroll_all(exchange: Exchange) -> Reply:
    """The relations of the entities that the filters name, as sources or as destinations."""
    body = Fields(read_object(exchange.body) if exchange.body else {}, "body")
    types = _name_list(exchange, "relationshipTypes") - {"*"}
    start, count = scroll_start(exchange), page_size(exchange)
    sources, targets = (
        _filtered_entities(body, "sourceFilter"),
        _filtered_entities(body, "destinationFilter"),
    )
    if not sources and not targets:
        raise BadInput("expected URNs in `sourceFilter` or in `destinationFilter`", where="body")
    between: set[Between] = set()
    for source in sources:
        edges = _edges(exchange, source, "OUTGOING", types)
        between |= {(e.type, source, e.entity) for e in edges if not targets or e.entity in targets}
    for source in targets if not sources else ():
        between |= {(e.type, e.entity, source) for e in _edges(exchange, source, "INCOMING", types)}
    of_sources, of_targets = (
        _name_list(exchange, f"{end}Types") for end in ("source", "destination")
    )
    matching = [
        (type, source, target)
        for type, source, target in sorted(between)
        if (not of_sources or source.type in of_sources)
        and (not of_targets or target.type in of_targets)
    ]
    return _scroll_body(matching, start, count)


def _scroll_body(relations: Sequence[Between], start: int, count: int) -> Reply:
    page = relations[start : start + count]
    results = [
        {"relationshipType": type, "source": _node(source), "destination": _node(target)}
        for type, source, target in page
    ]
    return ok({"scrollId": scroll_id(start, len(page), len(relations)), "results": results})


def _filtered_entities(body: Fields, key: str) -> list[Entity]:
    """The entities in a filter; other criteria are not supported."""
    filter = body.object_or_none(key)
    urns: list[str] = []
    for clause in () if filter is None else filter.objects("and"):
        for criterion in clause.objects("criteria"):
            is_plain = criterion.text("field") == "urn" and not criterion.flag("negated")
            if not is_plain or (criterion.text_or_none("condition") or "EQUAL") not in (
                "EQUAL",
                "IN",
            ):
                raise BadInput("expected URNs alone", where=criterion.where)
            urns += criterion.texts("values")
    if len(urns) > _MOST_NAMED:
        raise LimitExceeded(f"more than {_MOST_NAMED} URNs")
    return [entity(urn) for urn in dict.fromkeys(urns)]


def _node(of: Entity) -> dict[str, object]:
    return {"id": of.name, "urn": of.name, "entityType": of.type}


def _name_list(exchange: Exchange, name: str) -> set[str]:
    """Names from repeated parameters, separated by commas, or as `List(a,b)`."""
    texts = (
        text[len("List(") : -1] if text.startswith("List(") and text.endswith(")") else text
        for text in exchange.query.get(name, ())
    )
    return {name.strip() for text in texts for name in text.split(",") if name.strip()}


def _edges(exchange: Exchange, of: Entity, direction: str, types: set[str]) -> list[Edge]:
    if direction not in _DIRECTIONS:
        raise BadInput(f"unknown {quoted(direction)}; expected INCOMING or OUTGOING")
    snapshot = allow(exchange, _READ, of).matrix.snapshot
    is_inward = direction == "INCOMING"
    edges = {*(_incoming(snapshot, of) if is_inward else _outgoing(snapshot, of))}
    if not types or types & _IN_GROUPS:
        edges = _with_native(exchange, of, edges, is_inward=is_inward)
    edges |= _aspect_edges(exchange, of, types or TYPES.keys(), is_inward=is_inward)
    matching = sorted(edge for edge in edges if not types or edge.type in types)
    others = list(dict.fromkeys(edge.entity for edge in matching))
    visible_entities = set(readable(exchange, others))
    return [edge for edge in matching if edge.entity in visible_entities]


def _with_native(exchange: Exchange, of: Entity, edges: set[Edge], *, is_inward: bool) -> set[Edge]:
    """The edges; those to or from native groups have a name of their own."""
    groups = {edge for edge in edges if edge.type == _IN_GROUP}
    members = {edge.entity for edge in groups} if is_inward else {of}
    with exchange.service.reading() as reading:
        read = aspects.read(reading, exchange.realm_state, sorted(members)) if groups else {}
    native_groups = {member: aspects.native_groups(own) for member, own in read.items()}

    def is_native(edge: Edge) -> bool:
        member, group = (edge.entity, of) if is_inward else (of, edge.entity)
        return group.name in native_groups.get(member, ())

    native = set(filter(is_native, groups))
    return (edges - native) | {Edge(_IN_NATIVE_GROUP, edge.entity) for edge in native}


def _aspect_edges(
    exchange: Exchange, of: Entity, types: Iterable[str], *, is_inward: bool
) -> set[Edge]:
    """The relations that only aspects state."""
    aspect_types = TYPES.keys() & types
    if not aspect_types:
        return set()
    with search_session(exchange, view_authorization.rest_readable) as search:
        neighbours = Neighbours(search.texts())
        ways = neighbours.incoming if is_inward else neighbours.outgoing
        return {Edge(step.type, step.other) for step in ways(of, frozenset(aspect_types))}


def _outgoing(snapshot: Snapshot, of: Entity) -> Iterator[Edge]:
    for aspect, name in NAMES.items():
        for fact in stored_facts(of, aspect, snapshot):
            match fact:
                case RelationRow(_, _, target):
                    yield Edge(name, target)
                case OwnerRow(_, owner, _):
                    yield Edge(name, _actor(owner))
                case MembershipRow(_, group):
                    yield Edge(name, _actor(group))
                case Placement(_, parent):
                    yield Edge(name, parent)


def _incoming(snapshot: Snapshot, of: Entity) -> Iterator[Edge]:
    for reference in references(snapshot, of):
        if reference.aspect in NAMES:
            yield Edge(NAMES[reference.aspect], reference.source)
    principal_key = snapshot.model.principal_kind(of)
    if principal_key is not None and principal_key[0] == ROLE:
        memberships = snapshot.coded.memberships
        id = memberships.ids.get(Principal(*principal_key))
        for member in () if id is None else memberships.members.get(id, ()):
            yield Edge(NAMES["roleMembership"], _actor(memberships.principals[member]))


def _actor(principal: Principal) -> Entity:
    return Entity(_ACTORS.get(principal.kind, principal.kind), principal.name)


ROUTES: Final = (
    Route("GET", "/relationships", _READ, load),
    Route("GET", "/openapi/relationships/v1", _READ, load_open),
    Route("POST", "/openapi/v3/relationship/scroll", _READ, scroll_all),
    Route("GET", "/openapi/v2/relationship/{type}/{urn}", _READ, scroll, encoded_slash=True),
    Route("GET", "/openapi/v3/relationship/{type}/{urn}", _READ, scroll, encoded_slash=True),
)
