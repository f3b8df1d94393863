"""Search within the lineage of an entity: the distance is a criterion, `degree`.

The nearest results come first. A column matches if its dataset does; the dataset is shown in its
place, unless the caller requests columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects import edges
from lakewarden.systems.datahub.aspects.edges import Lineage
from lakewarden.systems.datahub.http import view_authorization
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.kinds import types_of
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.http.graphql.search.inputs import page_bounds, question
from lakewarden.systems.datahub.http.graphql.search.results import facet_body, hits, usual_facets
from lakewarden.systems.datahub.http.searching import SearchSession, search_session
from lakewarden.systems.datahub.search import scroll
from lakewarden.systems.datahub.search.facets import Count, Facet
from lakewarden.systems.datahub.search.lineage import (
    MOST_HOPS,
    Exploration,
    ExplorationLimits,
    Period,
    Reached,
    follow,
)
from lakewarden.systems.datahub.search.neighbours import Neighbours
from lakewarden.systems.datahub.search.question import IS_EQUAL, Condition, Question
from lakewarden.systems.datahub.search.scroll import ScrollPosition

Input = Mapping[str, Any]
Shown = Mapping[str, Any]

_DEGREE: Final = "degree"
_FAR: Final = "3+"
_NEAR: Final = ("1", "2", _FAR)
_COLUMN_WORD: Final = "SCHEMA_FIELD"


class _Criteria(NamedTuple):
    """Criteria that must all match: degrees, as enum values, and all the others."""

    degrees: frozenset[str]
    input: Input


class _Result(NamedTuple):
    """A result, and the entity of the lineage that it represents."""

    entity: Entity
    reached: Reached


class _LineageResults(NamedTuple):
    """All results in order, with the lineage, the facets and the request."""

    results: list[_Result]
    lineage: Exploration
    facets: list[Shown]
    asked: Question


def _search_across(_: object, info: Info, input: Input) -> Shown:
    call: Call = info.context
    start, count = page_bounds(call, input)
    answer = _search_lineage(info, input)
    page = answer.results[start : start + count]
    return {"start": start, **_page(call, answer, page, input)}


def _scroll_across(_: object, info: Info, input: Input) -> Shown:
    call: Call = info.context
    _, count = page_bounds(call, input)
    answer = _search_lineage(info, input)
    known = scroll.digest(answer.asked, call.exchange.realm, call.actor.name, _arguments(input))
    place = scroll.read_scroll_id(input["scrollId"], known) if input.get("scrollId") else None
    following = [result for result in answer.results if place is None or _position(result) > place]
    page = following[:count]
    goes_on = page and len(following) > len(page)
    next = scroll.scroll_id(known, _position(page[-1])) if goes_on else None
    return {"nextScrollId": next, **_page(call, answer, page, input)}


def _arguments(input: Input) -> str:
    """The other arguments that identify a question."""
    keys = ("urn", "direction", "types", "orFilters", "lineageFlags", "searchFlags")
    times = ("startTimeMillis", "endTimeMillis")
    return json.dumps([input.get(key) for key in (*keys, *times)], sort_keys=True)


def _position(result: _Result) -> ScrollPosition:
    return ScrollPosition(result.reached.degree, ((result.entity.name, result.entity.type),))


def _page(call: Call, answer: _LineageResults, page: Sequence[_Result], input: Input) -> Shown:
    page_hits = hits(call, [result.entity for result in page], answer.asked, input)
    return {
        "count": len(page),
        "total": len(answer.results),
        "searchResults": [
            {**hit, **_of_lineage(answer.lineage, result.reached)}
            for hit, result in zip(page_hits, page, strict=True)
        ],
        "facets": answer.facets,
        "isPartial": answer.lineage.is_partial,
    }


def _of_lineage(lineage: Exploration, reached: Reached) -> Shown:
    return {
        "paths": [{"path": path} for path in lineage.paths(reached.entity)],
        "degree": reached.degree,
        "degrees": [reached.degree],
        "explored": reached.is_explored,
        "truncatedChildren": reached.is_cut,
        "ignoredAsHop": reached.is_ignored,
    }


def _search_lineage(info: Info, input: Input) -> _LineageResults:
    call: Call = info.context
    if not input.get("urn"):
        raise bad("`input.urn`: expected the URN of where the lineage begins")
    start = calls.entity(input["urn"])
    parts = _criteria_groups(input)
    walk = _walk_of(input, parts)
    call.start_list()
    with search_session(call.exchange, view_authorization.hits) as session:

        def visible(entities: Iterable[Entity]) -> frozenset[Entity]:
            return frozenset(authorization.visible(call, entities))

        lineage = follow(Neighbours(session.texts()), start, walk, visible)
        reached = [
            reached_entity for reached_entity in lineage.reached.values() if reached_entity.degree
        ]
        fitting = _LineageFilter(call, session, input, parts)
        results = _results(reached, fitting, _wants_columns(input))
        results.sort(key=_position)
        ids = BitMap([id for id in map(fitting.id, results) if id is not None])
        facets = usual_facets(info, session, ids, input)
        if facets:
            facets.append(_degrees(info, results))
    call.end_list(looked_at=len(reached), shown=0)
    return _LineageResults(results, lineage, facets, fitting.asked)


def _walk_of(input: Input, parts: Sequence[_Criteria]) -> ExplorationLimits:
    flags = input.get("lineageFlags") or {}
    far = {degree for part in parts for degree in part.degrees}
    hops = MOST_HOPS if _FAR in far else max((int(degree) for degree in far), default=0)
    times = [_merge(flags, input, key) for key in ("startTimeMillis", "endTimeMillis")]
    most = flags.get("entitiesExploredPerHopLimit")
    if most is not None and most < 0:
        raise bad("`entitiesExploredPerHopLimit`: expected at least 0")
    ignored = {
        type: frozenset(ignoreAsHop.get("platforms") or ())
        for ignoreAsHop in flags.get("ignoreAsHops") or ()
        for type in types_of(ignoreAsHop["entityType"])
    }

    def is_ignored(entity: Entity) -> bool:
        platforms = ignored.get(entity.type)
        if platforms is None:
            return False
        return not platforms or bool(platforms & frozenset(datahub.key_parts(entity.name)))

    return ExplorationLimits(Lineage(input["direction"]), hops, most, Period(*times), is_ignored)


def _merge(flags: Input, input: Input, key: str) -> Any:
    value = flags.get(key)
    return input.get(key) if value is None else value


def _wants_columns(input: Input) -> bool:
    """Whether columns are results themselves."""
    grouping = (input.get("searchFlags") or {}).get("groupingSpec") or {}
    criteria = grouping.get("groupingCriteria")
    return any(
        criterion.get("baseEntityType") == criterion.get("groupingEntityType") == _COLUMN_WORD
        for criterion in criteria or ()
    )


def _criteria_groups(input: Input) -> list[_Criteria]:
    """The groups of criteria, with degrees apart from the rest."""
    older, degrees = _split_degrees(input.get("filters") or ())
    parts: dict[frozenset[str], list[Shown]] = {}
    groups: Sequence[Input] = input.get("orFilters") or ({},)
    for group in groups:
        criteria, own = _split_degrees(group.get("and") or ())
        parts.setdefault(own & degrees, []).append({"and": criteria})
    return [_Criteria(own, {**input, "filters": older, "orFilters": g}) for own, g in parts.items()]


def _split_degrees(criteria: Iterable[Input]) -> tuple[list[Input], frozenset[str]]:
    """The other criteria, and the degrees that match all criteria on degrees."""
    others: list[Input] = []
    degrees: frozenset[str] | None = None
    for criterion in criteria:
        if criterion.get("field") != _DEGREE:
            others.append(criterion)
            continue
        condition = Condition(criterion.get("condition") or Condition.EQUAL.value)
        values = frozenset(
            criterion.get("values") or ([criterion["value"]] if criterion.get("value") else ())
        )
        if condition not in IS_EQUAL or not values <= set(_NEAR):
            raise bad(f"`{_DEGREE}`: expected EQUAL or IN with some of: {', '.join(_NEAR)}")
        own = frozenset(_NEAR) - values if criterion.get("negated") else values
        degrees = own if degrees is None else degrees & own
    return others, frozenset(_NEAR) if degrees is None else degrees


def _degree_value(degree: int) -> str:
    return str(degree) if degree < len(_NEAR) else _FAR


class _LineageFilter:
    """Selects the entities of a lineage that match the remaining criteria."""

    def __init__(
        self, call: Call, session: SearchSession, input: Input, parts: Sequence[_Criteria]
    ) -> None:
        self._tree = session.index.tree
        type_names = input.get("types")
        self.asked = question(call, input, type_names)
        self._columns = not type_names or _COLUMN_WORD in type_names
        self._found: list[tuple[frozenset[str], BitMap, BitMap]] = []
        for part in parts:
            own_question = question(call, part.input, type_names)
            own = session.search(own_question).results
            holders = own
            if type_names and self._columns:
                holders = session.search(question(call, part.input, None)).results
            self._found.append((part.degrees, own, holders))

    def matches(self, entity: Entity, degree: int) -> bool:
        """Whether an entity of this degree matches."""
        is_column = self._is_column(entity)
        if is_column and not self._columns:
            return False
        id = self._id(entity)
        return id is not None and any(
            _degree_value(degree) in degrees and id in (holders if is_column else own)
            for degrees, own, holders in self._found
        )

    def id(self, result: _Result) -> int | None:
        """The id that facets count for a result."""
        return self._id(result.entity)

    def _id(self, entity: Entity) -> int | None:
        holder = datahub.parent(entity) if self._is_column(entity) else entity
        return None if holder is None else self._tree.find(holder)

    def _is_column(self, entity: Entity) -> bool:
        return entity.type == edges.COLUMN


def _results(reached: Iterable[Reached], fitting: _LineageFilter, columns: bool) -> list[_Result]:
    results: dict[Entity, _Result] = {}
    for reached_entity in sorted(reached, key=lambda reached_entity: reached_entity.degree):
        holder = (
            datahub.parent(reached_entity.entity)
            if reached_entity.entity.type == edges.COLUMN
            else None
        )
        entity = reached_entity.entity if columns or holder is None else holder
        if entity not in results and fitting.matches(entity, reached_entity.degree):
            results[entity] = _Result(entity, reached_entity)
    return list(results.values())


def _degrees(info: Info, results: Iterable[_Result]) -> Shown:
    degrees = [_degree_value(result.reached.degree) for result in results]
    counts = [Count(degree, degrees.count(degree)) for degree in _NEAR if degree in degrees]
    return facet_body(info, Facet(_DEGREE, counts), {})


RESOLVERS: Final[Resolvers] = {
    "Query": {
        "scrollAcrossLineage": _scroll_across,
        "searchAcrossLineage": _search_across,
    }
}
