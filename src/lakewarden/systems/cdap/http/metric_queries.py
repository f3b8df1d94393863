"""Queries over metrics: sums over everything that matches the tags and that the caller may view.

Tags for a single program, dataset or stream refer to it alone, and are refused as viewing it would
be. Broader tags (a namespace, an application, `*`) sum over their contents, as far as the caller
may view them.
SOURCE: cdap reference 4.7 (K23); cdapio/cdap, MetricsHandler at v5.1.2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.names.canonical import quoted
from lakewarden.service.effect import ValueRow
from lakewarden.service.ports import Reading
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http.authorization import allow, allowed_entities, contents
from lakewarden.systems.cdap.http.bodies import Body, Json, ok, read
from lakewarden.systems.cdap.http.errors import bad
from lakewarden.systems.cdap.http.ids import DEFAULT, inside, last, of_application, program_type
from lakewarden.systems.cdap.http.metrics import MINUTE, MINUTES, TOTALS, Number, counted, number_of
from lakewarden.systems.cdap.http.moments import LAST, read_seconds
from lakewarden.systems.cdap.settings import CdapSettings

TYPES: Final = ("program", "dataset", "stream")
ANY: Final = "*"

_WHOLE: Final = "2147483647s"
_RESOLUTIONS: Final = {"auto": 60, "1s": 60, "1m": 60, "60s": 60, "1h": 3_600, "3600s": 3_600}
"""Seconds in a step, by its word; nothing finer than a minute is stored."""


class RangeBody(Body):
    """The time range of a query."""

    start: str | int | None = None
    end: str | int | None = None
    resolution: str | None = None
    aggregate: bool | None = None


class QueryBody(Body, rename="camel"):
    """One query: its tags, its metrics, and the tags by which it is split."""

    tags: dict[str, str] = msgspec.field(default_factory=dict)
    metrics: list[str] = msgspec.field(default_factory=list)
    group_by: list[str] = msgspec.field(default_factory=list)
    time_range: RangeBody = msgspec.field(default_factory=RangeBody)


class Steps(NamedTuple):
    """The times of a query in seconds; a step of 0 means one sum over all of it."""

    start: int
    end: int
    step: int

    def step_of(self, time: int) -> int:
        """The step that contains a time in milliseconds."""
        return time // 1_000 // self.step * self.step if self.step else 0

    @property
    def is_ever(self) -> bool:
        """Whether the query covers everything that was ever counted."""
        return (self.start, self.end) == (0, LAST // 1_000)


def query(exchange: Exchange) -> Reply:
    """One query by parameters, or several by name in the body."""
    if exchange.query.get("metric") or exchange.query.get("tag"):
        return ok(_answer(exchange, _of_parameters(exchange)))
    queries = read(exchange, dict[str, QueryBody])
    most = exchange.services.of(CdapSettings).limits.metric_queries
    if not queries or len(queries) > most:
        raise bad(f"expected `tag` and `metric` as parameters, or 1 to {most} queries as the body")
    return ok({name: _answer(exchange, query_body) for name, query_body in queries.items()})


def search(exchange: Exchange) -> Reply:
    """What can be queried: the metrics that match the tags, or the tags that split it."""
    tags, target = _tags(exchange), exchange.one("target")
    if target not in ("metric", "tag"):
        raise bad(f"expected `metric` or `tag` as `target`, got {quoted(target)}")
    entities = _entities(exchange, tags)
    if target == "tag":
        return ok([{"name": key, "value": value} for key, value in _next_tags(entities, tags)])
    with exchange.service.reading() as reading:
        names = {row.mark for row in counted(reading, exchange.realm, entities, TOTALS)}
    return ok(sorted(names))


def _next_tags(entities: Iterable[Entity], tags: Mapping[str, str]) -> list[tuple[str, str]]:
    """The first tag of each entity that is not yet given, in order."""
    remaining = (
        [pair for pair in tags_of(entity).items() if pair[0] not in tags] for entity in entities
    )
    return sorted({pairs[0] for pairs in remaining if pairs})


def _tags(exchange: Exchange) -> dict[str, str]:
    """The tags in the parameters; raises `Failure` 400."""
    tags: dict[str, str] = {}
    for text in exchange.query.get("tag", ()):
        key, colon, value = text.partition(":")
        if not colon or not key or not value:
            raise bad(f"expected `name:value` as `tag`, got {quoted(text)}")
        tags[key] = value
    return tags


def _of_parameters(exchange: Exchange) -> QueryBody:
    split = [tag for text in exchange.query.get("groupBy", ()) for tag in text.split(",") if tag]
    aggregate = exchange.one("aggregate").lower()
    times = RangeBody(
        exchange.one("start") or None,
        exchange.one("end") or None,
        exchange.one("resolution") or None,
        aggregate == "true" if aggregate else None,
    )
    return QueryBody(_tags(exchange), list(exchange.query.get("metric", ())), split, times)


def _answer(exchange: Exchange, query: QueryBody) -> Json:
    if not query.metrics:
        raise bad("expected the name of a metric at least")
    times = _steps(exchange, query.time_range)
    entities = _entities(exchange, query.tags)
    sums: dict[tuple[str, tuple[str, ...]], dict[int, Number]] = {}
    with exchange.service.reading() as reading:
        for row in _counters_within(reading, exchange.realm, entities, times):
            if row.mark in query.metrics:
                tags = tags_of(row.entity)
                group = tuple(tags.get(key, "") for key in query.group_by)
                line = sums.setdefault((row.mark, group), defaultdict(int))
                line[times.step_of(row.time)] += number_of(row)
    return {
        "startTime": 0 if times.is_ever else times.start,
        "endTime": 0 if times.is_ever else times.end,
        "series": list(_series(sums, query)),
        "resolution": f"{times.step}s" if times.step else _WHOLE,
    }


def _series(
    sums: Mapping[tuple[str, tuple[str, ...]], Mapping[int, Number]], query: QueryBody
) -> Iterator[Json]:
    for (name, group), line in sorted(sums.items()):
        pairs = zip(query.group_by, group, strict=True)
        yield {
            "metricName": name,
            "grouping": {key: value for key, value in pairs if value},
            "data": [{"time": at, "value": number} for at, number in sorted(line.items())],
        }


def _counters_within(
    reading: Reading, realm: str, entities: Sequence[Entity], times: Steps
) -> Iterator[ValueRow]:
    """The counters of the entities in a span."""
    if times.is_ever and not times.step:
        return counted(reading, realm, entities, TOTALS)
    first = times.start * 1_000 // MINUTE * MINUTE
    return counted(reading, realm, entities, MINUTES, first, times.end * 1_000 - 1)


def _steps(exchange: Exchange, range: RangeBody) -> Steps:
    resolution = range.resolution or "auto"
    if resolution not in _RESOLUTIONS:
        raise bad(f"unknown resolution {quoted(resolution)}; expected `1m`, `1h` or `auto`")

    def seconds(value: str | int | None, name: str, otherwise: int) -> int:
        return otherwise if value is None else read_seconds(str(value), name, exchange.now)

    start = seconds(range.start, "start", 0)
    end = seconds(range.end, "end", LAST // 1_000)
    if start > end:
        raise bad("`start` is later than `end`")
    is_open = range.start is None and range.end is None and range.resolution is None
    is_whole = is_open if range.aggregate is None else range.aggregate
    return Steps(start, end, 0 if is_whole else _RESOLUTIONS[resolution])


def tags_of(entity: Entity) -> dict[str, str]:
    """The tags that identify an entity.

    >>> tags_of(Entity("program", "sales.shop.workflow.nightly"))
    {'namespace': 'sales', 'app': 'shop', 'workflow': 'nightly'}
    """
    parts = cdap.parts(entity)
    if entity.type == "program":
        return {"namespace": parts[0], "app": parts[1], program_type(entity): last(entity)}
    return {"namespace": parts[0], entity.type: parts[1]}


def _entities(exchange: Exchange, tags: Mapping[str, str]) -> list[Entity]:
    """The entities that match the tags and whose metrics the caller may view."""
    exact = _entity_of_tags(tags)
    if exact is not None:
        allow(exchange, f"{exact.type}.view_metrics", exact)
        return [exact]
    fitting = [
        entity for entity in _all_counted(exchange, tags) if _has_tags(tags_of(entity), tags)
    ]
    return [
        entity
        for type in TYPES
        for entity in allowed_entities(
            exchange, _view(type), [e for e in fitting if e.type == type]
        )
    ]


def _view(type: str) -> str:
    return f"{type}.view_metrics"


def _entity_of_tags(tags: Mapping[str, str]) -> Entity | None:
    """The single entity that the tags identify; None for broader or unknown tags."""
    exact = dict(tags)
    if ANY in exact.values():
        return None
    space = exact.pop("namespace", None)
    app = exact.pop("app", None)
    if space is None or len(exact) != 1:
        return None
    ((member, name),) = exact.items()
    namespace = cdap.parse("namespace", space)
    if app is None:
        return inside(namespace, member, name) if member in ("dataset", "stream") else None
    if member not in cdap.PROGRAM_TYPES:
        return None
    return of_application(inside(namespace, "application", app), member, name)


def _has_tags(has: Mapping[str, str], tags: Mapping[str, str]) -> bool:
    return all(key in has and value in (ANY, has[key]) for key, value in tags.items())


def _all_counted(exchange: Exchange, tags: Mapping[str, str]) -> Iterable[Entity]:
    """All entities with counters in the namespace of the tags, or in all namespaces."""
    state = exchange.realm_state
    snapshot = state.matrix.snapshot
    named = tags.get("namespace", ANY)
    if named != ANY:
        return contents(state, cdap.parse("namespace", named), TYPES)
    spaces = {snapshot.coded.tree.entity(id) for id in snapshot.of_type("namespace")} | {DEFAULT}
    return [entity for space in sorted(spaces) for entity in contents(state, space, TYPES)]


ROUTES: Final[Sequence[Route]] = (
    Route("POST", "/v3/metrics/query", "program.view_metrics", query),
    Route("POST", "/v3/metrics/search", "program.view_metrics", search),
)
