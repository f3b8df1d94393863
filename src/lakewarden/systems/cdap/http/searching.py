"""Search in metadata: by words in properties, tags and names.

Only visible results are returned, and all information about the result (its size, the bounds of
its pages) covers only visible results. CDAP counts the results that it leaves out; that would
reveal how many hidden objects have a word. Metadata that the caller may not read is neither
searched nor returned: for such an entity only the name is.

A query consists of words separated by spaces, any of which may match: `word`, `key:word`,
`tags:word`, `properties:key`; a word that ends in `*` matches its prefix, and `*` alone everything.
SOURCE: cdap reference 2.2, 3.1, 4.9; cdapio/cdap, DefaultValueIndexer and MetadataHttpHandler
at v5.1.2.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cmp_to_key
from typing import Final, NamedTuple

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.names.canonical import quoted
from lakewarden.service.cancellation import check
from lakewarden.service.search_terms import check_number
from lakewarden.systems.cdap.http import object_store
from lakewarden.systems.cdap.http.authorization import (
    allow,
    allowed_entities,
    contents,
    is_stored,
    visible,
)
from lakewarden.systems.cdap.http.bodies import Json, is_on, ok
from lakewarden.systems.cdap.http.errors import bad
from lakewarden.systems.cdap.http.ids import DEFAULT, SYSTEM, namespace
from lakewarden.systems.cdap.http.metadata import ENTITY_NAME, Record, records
from lakewarden.systems.cdap.http.metadata import SYSTEM as OF_PLATFORM
from lakewarden.systems.cdap.http.scheduled import SCHEDULES, schedules_of, started_by
from lakewarden.systems.cdap.http.subjects import (
    ALL_TARGETS,
    SPACE,
    TARGETS,
    Part,
    Subject,
    reads,
    subjects_of,
)

ALL: Final = 2**31 - 1
"""The default of `limit`."""

_MOST_CURSORS: Final = 1_000
_BETWEEN: Final = re.compile(r"[-_:,\s]+")
_RELEVANCE: Final = "_score"
_SCOPES: Final = ("SYSTEM", "USER")


class Query(NamedTuple):
    """The search, and the requested part of the result.

    `order` is a property, or the relevance; `after` the place after which a page begins.
    """

    terms: tuple[str, ...]
    targets: frozenset[str]
    places: frozenset[str]
    order: str
    descending: bool
    offset: int
    limit: int
    cursors: int
    after: Place | None


class Place(NamedTuple):
    """The position of a hit in the result: by relevance or a property, then by its id."""

    score: int
    text: str
    id: str


class Hit(NamedTuple):
    """A match, and the metadata of it that the caller may read."""

    subject: Subject
    metadata: Mapping[str, Record]
    place: Place

    def body(self) -> Json:
        """The hit in the form of replies."""
        metadata = {scope: record.body() for scope, record in self.metadata.items()}
        return {"entityId": self.subject.id(), "metadata": metadata}


def search(exchange: Exchange) -> Reply:
    """The results in one namespace, and among the platform's objects.

    A namespace that does not exist has no results, like one without visible objects.
    """
    space = namespace(exchange)
    allow(exchange, "namespace.search", space, missing=None)
    return _answer(exchange, [space])


def search_everywhere(exchange: Exchange) -> Reply:
    """The results in all namespaces."""
    state = allow(exchange, "namespace.search", NO_RESOURCE)
    snapshot = state.matrix.snapshot
    stored = {snapshot.coded.tree.entity(id) for id in snapshot.of_type("namespace")}
    return _answer(exchange, sorted(stored | {DEFAULT}))


def _answer(exchange: Exchange, spaces: Sequence[Entity]) -> Reply:
    query = _query(exchange)
    users = [space for space in spaces if space != SYSTEM] if "USER" in query.places else []
    places = [*users, *([SYSTEM] if "SYSTEM" in query.places or SYSTEM in spaces else [])]
    hits = _ordered(_hits(exchange, places, query), query)
    start = query.offset
    if query.after is not None:
        start += sum(_compare(hit.place, query.after, query) <= 0 for hit in hits)
    end = start + query.limit
    begins = range(end, len(hits), query.limit)[: query.cursors]
    return ok(
        {
            "sort": f"{query.order} {'desc' if query.descending else 'asc'}",
            "offset": query.offset,
            "limit": query.limit,
            "numCursors": query.cursors,
            "total": len(hits),
            "results": [hit.body() for hit in hits[start:end]],
            "cursors": [_cursor_text(hits[at - 1].place) for at in begins],
            "showHidden": is_on(exchange, "showHidden"),
            "entityScope": sorted(query.places),
        }
    )


def _hits(exchange: Exchange, spaces: Sequence[Entity], query: Query) -> Iterator[Hit]:
    """The matches that are visible to the caller."""
    state = exchange.realm_state
    inside = (entity for space in spaces for entity in contents(state, space, TARGETS))
    stored = (space for space in spaces if space != SYSTEM and is_stored(state, space))
    candidates = [*stored, *inside]
    shown = visible(exchange, "namespace.search", candidates)
    readable = _readable(exchange, shown)
    for entity, body in zip(shown, object_store.documents(exchange, shown), strict=True):
        check()
        hidden = _hidden_schedules(exchange, entity, body)
        for subject in subjects_of(entity, body):
            if query.targets and subject.target not in query.targets:
                continue
            if subject.part is not None and subject.part in hidden:
                continue
            metadata = records(subject, body) if entity in readable else _name_alone(subject)
            score = _score(query.terms, _words(metadata))
            if score:
                yield Hit(subject, metadata, _place(subject, metadata, query, score))


def _readable(exchange: Exchange, entities: Sequence[Entity]) -> frozenset[Entity]:
    """The entities whose metadata the caller may read."""
    kinds = {entity.type for entity in entities}
    return frozenset(
        entity
        for kind in kinds
        for entity in allowed_entities(
            exchange, reads(kind), (e for e in entities if e.type == kind)
        )
    )


def _hidden_schedules(exchange: Exchange, entity: Entity, body: Json) -> frozenset[Part]:
    """The schedules of an application that lists omit: those of hidden programs."""
    if entity.type != "application":
        return frozenset()
    started = {name: started_by(entity, schedule) for name, schedule in schedules_of(body).items()}
    visible_schedules = set(allowed_entities(exchange, "schedule.list.filter", started.values()))
    return frozenset(
        Part(SCHEDULES, name)
        for name, schedule in started.items()
        if schedule not in visible_schedules
    )


def _name_alone(subject: Subject) -> dict[str, Record]:
    return {OF_PLATFORM: Record({ENTITY_NAME: subject.name})}


def _words(metadata: Mapping[str, Record]) -> frozenset[str]:
    """All words that a term can match."""
    terms: set[str] = set()
    for record in metadata.values():
        for key, value in record.properties.items():
            parts = {value.lower(), *_BETWEEN.split(value.lower())} - {""}
            terms |= parts | {f"{key.lower()}:{part}" for part in parts}
            terms.add(f"properties:{key.lower()}")
        tags = {tag.lower() for tag in record.tags}
        terms |= tags | {f"tags:{tag}" for tag in tags}
    return frozenset(terms)


def _score(terms: Sequence[str], found_terms: frozenset[str]) -> int:
    """The number of words that the terms match."""
    if "*" in terms:
        return 1
    return sum(1 for found_term in found_terms if any(_matches(term, found_term) for term in terms))


def _matches(term: str, found_term: str) -> bool:
    return found_term.startswith(term[:-1]) if term.endswith("*") else found_term == term


def _place(subject: Subject, metadata: Mapping[str, Record], query: Query, score: int) -> Place:
    id = json.dumps(subject.id(), separators=(",", ":"))
    if query.order == _RELEVANCE:
        return Place(score, "", id)
    return Place(0, metadata[OF_PLATFORM].properties.get(query.order, ""), id)


def _ordered(hits: Iterable[Hit], query: Query) -> list[Hit]:
    def compared(first: Hit, second: Hit) -> int:
        return _compare(first.place, second.place, query)

    return sorted(hits, key=cmp_to_key(compared))


def _compare(place: Place, other: Place, query: Query) -> int:
    """The order of two places; if they are equal, the lesser id comes first."""
    first, second = (place.score, place.text), (other.score, other.text)
    if first != second:
        return (1 if first > second else -1) * (-1 if query.descending else 1)
    return (place.id > other.id) - (place.id < other.id)


def _query(exchange: Exchange) -> Query:
    text = exchange.one("query").strip()
    if not text:
        raise bad("expected a `query`; `*` finds everything")
    terms = tuple(text.lower().split())
    check_number(len(terms), "query")
    order, descending = _order(exchange, text)
    limit = _number(exchange, "limit", ALL)
    if limit == 0:
        raise bad("`limit` is at least 1")
    return Query(
        terms=terms,
        targets=_targets(exchange),
        places=_parse_cursor(exchange),
        order=order,
        descending=descending,
        offset=_number(exchange, "offset", 0),
        limit=limit,
        cursors=min(_number(exchange, "numCursors", 0), _MOST_CURSORS),
        after=_read_cursor(exchange.one("cursor")),
    )


def _order(exchange: Exchange, text: str) -> tuple[str, bool]:
    """The requested order; by default, the most relevant first."""
    parts = exchange.one("sort").split()
    if not parts:
        return _RELEVANCE, True
    order, way = (parts[0].lower(), parts[1].lower()) if len(parts) == 2 else ("", "")
    if order != ENTITY_NAME or way not in ("asc", "desc"):
        raise bad(f"expected `{ENTITY_NAME} asc` or `{ENTITY_NAME} desc` as `sort`")
    if text != "*":
        raise bad("an order is taken only for the query `*`")
    return order, way == "desc"


def _targets(exchange: Exchange) -> frozenset[str]:
    targets = frozenset(target.lower() for target in exchange.query.get("target", ()))
    for target in sorted(targets - ALL_TARGETS - {"all"}):
        expected = ", ".join(f"`{target}`" for target in sorted(ALL_TARGETS))
        raise bad(f"unknown target {quoted(target)}; expected one of {expected}")
    return frozenset() if "all" in targets else targets


def _parse_cursor(exchange: Exchange) -> frozenset[str]:
    scope = exchange.one("entityScope").upper()
    if scope and scope not in _SCOPES:
        raise bad(f"unknown scope {quoted(scope)}; expected `USER` or `SYSTEM`")
    return frozenset([scope] if scope else _SCOPES)


def _number(exchange: Exchange, name: str, otherwise: int) -> int:
    text = exchange.one(name)
    if not text:
        return otherwise
    if not (text.isascii() and text.isdecimal()) or len(text) > 10 or int(text) > ALL:
        raise bad(f"expected a number from 0 to {ALL} as `{name}`, got {quoted(text)}")
    return int(text)


def _cursor_text(place: Place) -> str:
    return urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def _read_cursor(cursor: str) -> Place | None:
    if not cursor:
        return None
    try:
        text = urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4))
        score, name, id = json.loads(text)
        return Place(int(score), str(name), str(id))
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise bad("this is no `cursor` of a search") from None


ROUTES: Final[Sequence[Route]] = (
    Route("GET", f"{SPACE}/metadata/search", "namespace.search", search),
    Route("GET", "/v3/metadata/search", "namespace.search", search_everywhere),
)
