"""What an entity has to do with others, in the words of the original: `/relationships`.

Told are the relations that decide: owners, tags, terms, domains, containers, memberships, data
products, subjects of queries and logical parents; and what aspects state beside them, lineage
above all (`lakewarden.systems.datahub.aspects.edges`). Of the others at their ends those that the
caller may read. SOURCE: datahub-project/datahub:metadata-service/restli-api/src/main/idl/
com.linkedin.lineage.relationships.restspec.json@1d4c082b; RelationshipController of its OpenAPI.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
from lakewarden.systems.datahub.aspects.facts import Placed, stored
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.http import viewing
from lakewarden.systems.datahub.http.authorization import allow, readable
from lakewarden.systems.datahub.http.bodies import entity, number, ok
from lakewarden.systems.datahub.http.searching import asking
from lakewarden.systems.datahub.search.neighbours import Neighbours
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

_READ: Final = "relationship.read"
_ACTORS: Final = {USER: "corpuser", GROUP: "corpGroup", ROLE: "dataHubRole"}
_MOST_NAMED: Final = 100
_DIRECTIONS: Final = ("INCOMING", "OUTGOING")


class Edge(NamedTuple):
    """A relation, and the entity at its other end."""

    type: str
    entity: Entity


def load(exchange: Exchange) -> Reply:
    """A page of what an entity is related to."""
    found = entity(exchange.one("urn"))
    page, numbers = _page(exchange, found, _words(exchange, "types"))
    shown = [{"type": edge.type, "entity": edge.entity.name} for edge in page]
    return ok({**numbers, "relationships": shown})


def load_open(exchange: Exchange) -> Reply:
    """The same, in the words of the newer interface's first version."""
    found = entity(exchange.one("urn"))
    page, numbers = _page(exchange, found, _words(exchange, "relationshipTypes"))
    shown = [{"relationshipType": edge.type, "urn": edge.entity.name} for edge in page]
    return ok({**numbers, "entities": shown})


def _page(
    exchange: Exchange, found: Entity, types: set[str]
) -> tuple[list[Edge], dict[str, object]]:
    start = number(exchange.one("start", "0"), "start")
    count = number(exchange.one("count", "100"), "count")
    count = min(count, exchange.services.page_rows)
    edges = _edges(exchange, found, exchange.one("direction", "OUTGOING"), types)
    page = edges[start : start + count]
    return page, {"start": start, "count": len(page), "total": len(edges)}


def scroll(exchange: Exchange) -> Reply:
    """The same, as the newer interface says it."""
    found = entity(exchange.params["urn"], exchange.params["type"])
    types = _words(exchange, "relationshipType[]") or _words(exchange, "relationshipType")
    start = number(exchange.one("scrollId", "0") or "0", "scrollId")
    count = min(number(exchange.one("count", "10"), "count"), exchange.services.page_rows)
    direction = exchange.one("direction", "OUTGOING").upper()
    edges = _edges(exchange, found, direction, types - {"*"})
    page = edges[start : start + count]
    end = start + len(page)
    results = []
    for edge in page:
        ends = (_node(found), _node(edge.entity))
        source, destination = ends if direction == "OUTGOING" else ends[::-1]
        results.append(
            {"relationshipType": edge.type, "source": source, "destination": destination}
        )
    return ok({"scrollId": str(end) if page and end < len(edges) else None, "results": results})


def scroll_all(exchange: Exchange) -> Reply:
    """The relations of the entities that the filters name, as sources or as destinations."""
    body = Fields(read_object(exchange.body) if exchange.body else {}, "body")
    types = _words(exchange, "relationshipTypes") - {"*"}
    start = number(exchange.one("scrollId", "0") or "0", "scrollId")
    count = min(number(exchange.one("count", "10"), "count"), exchange.services.page_rows)
    sources, targets = _named(body, "sourceFilter"), _named(body, "destinationFilter")
    if not sources and not targets:
        raise BadInput("expected URNs in `sourceFilter` or in `destinationFilter`", where="body")
    found: set[tuple[str, Entity, Entity]] = set()
    for one in sources:
        own = _edges(exchange, one, "OUTGOING", types)
        found |= {(e.type, one, e.entity) for e in own if not targets or e.entity in targets}
    for one in targets if not sources else ():
        found |= {(e.type, e.entity, one) for e in _edges(exchange, one, "INCOMING", types)}
    kinds = {end: _words(exchange, f"{end}Types") for end in ("source", "destination")}
    edges = [
        edge
        for edge in sorted(found)
        if (not kinds["source"] or edge[1].type in kinds["source"])
        and (not kinds["destination"] or edge[2].type in kinds["destination"])
    ]
    page = edges[start : start + count]
    end = start + len(page)
    results = [
        {"relationshipType": type, "source": _node(source), "destination": _node(target)}
        for type, source, target in page
    ]
    return ok({"scrollId": str(end) if page and end < len(edges) else None, "results": results})


def _named(body: Fields, key: str) -> list[Entity]:
    """The entities that a filter names; whatever else it asks for is not served."""
    filter = body.object_or_none(key)
    urns: list[str] = []
    for clause in () if filter is None else filter.objects("and"):
        for one in clause.objects("criteria"):
            is_plain = one.text("field") == "urn" and not one.flag("negated")
            if not is_plain or (one.text_or_none("condition") or "EQUAL") not in ("EQUAL", "IN"):
                raise BadInput("expected URNs alone", where=one.where)
            urns += one.texts("values")
    if len(urns) > _MOST_NAMED:
        raise LimitExceeded(f"more than {_MOST_NAMED} URNs")
    return [entity(urn) for urn in dict.fromkeys(urns)]


def _node(found: Entity) -> dict[str, object]:
    return {"id": found.name, "urn": found.name, "entityType": found.type}


def _words(exchange: Exchange, name: str) -> set[str]:
    """Names, one by one, with commas, or as `List(a,b)`."""
    texts = (
        text[len("List(") : -1] if text.startswith("List(") and text.endswith(")") else text
        for text in exchange.query.get(name, ())
    )
    return {word.strip() for text in texts for word in text.split(",") if word.strip()}


def _edges(exchange: Exchange, found: Entity, direction: str, types: set[str]) -> list[Edge]:
    if direction not in _DIRECTIONS:
        raise BadInput(f"unknown {quoted(direction)}; expected INCOMING or OUTGOING")
    snapshot = allow(exchange, _READ, found).matrix.snapshot
    is_inward = direction == "INCOMING"
    edges = {*(_incoming(snapshot, found) if is_inward else _outgoing(snapshot, found))}
    edges |= _stated(exchange, found, types or TYPES.keys(), is_inward=is_inward)
    wanted = sorted(edge for edge in edges if not types or edge.type in types)
    others = list(dict.fromkeys(edge.entity for edge in wanted))
    seen = set(readable(exchange, others))
    return [edge for edge in wanted if edge.entity in seen]


def _stated(
    exchange: Exchange, found: Entity, types: Iterable[str], *, is_inward: bool
) -> set[Edge]:
    """What only aspects state."""
    wanted = TYPES.keys() & types
    if not wanted:
        return set()
    with asking(exchange, viewing.read) as asked:
        neighbours = Neighbours(asked.texts())
        ways = neighbours.incoming if is_inward else neighbours.outgoing
        return {Edge(step.type, step.other) for step in ways(found, frozenset(wanted))}


def _outgoing(snapshot: Snapshot, found: Entity) -> Iterator[Edge]:
    for aspect, name in NAMES.items():
        for fact in stored(found, aspect, snapshot):
            match fact:
                case RelationRow(_, _, target):
                    yield Edge(name, target)
                case OwnerRow(_, owner, _):
                    yield Edge(name, _actor(owner))
                case MembershipRow(_, of):
                    yield Edge(name, _actor(of))
                case Placed(_, parent):
                    yield Edge(name, parent)


def _incoming(snapshot: Snapshot, found: Entity) -> Iterator[Edge]:
    for one in references(snapshot, found):
        if one.aspect in NAMES:
            yield Edge(NAMES[one.aspect], one.source)
    named = snapshot.model.principal_kind(found)
    if named is not None and named[0] == ROLE:
        memberships = snapshot.coded.memberships
        id = memberships.ids.get(Principal(*named))
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
