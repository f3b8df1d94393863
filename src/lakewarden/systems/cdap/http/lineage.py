"""Lineage: which programs work on which datasets and streams, as applications declare it.

An application declares its contents; each of its programs counts as working on each declared
dataset and stream, from the deployment on. What a program does with them is unknown, because
nothing is executed: the access is reported as `unknown`. A step leads from data to the programs
that work on it, and from there to all other data that they work on; entities that are not visible
to the caller are neither returned nor stepped through.
SOURCE: cdap reference 2.6, 2.7, 4.9; cdapio/cdap, LineageHandler at v5.1.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, cast

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.names.canonical import quoted
from lakewarden.service.ports import Reading
from lakewarden.systems.cdap.http import ids, object_store, runs
from lakewarden.systems.cdap.http.authorization import allow, allowed_entities, contents, visible
from lakewarden.systems.cdap.http.bodies import Json, ok
from lakewarden.systems.cdap.http.deploying import latest
from lakewarden.systems.cdap.http.errors import bad
from lakewarden.systems.cdap.http.ids import inside, last, namespace_of, program_type
from lakewarden.systems.cdap.http.moments import Span, span
from lakewarden.systems.cdap.http.subjects import SPACE, Subject

LEVELS: Final = 10
"""The default number of steps."""

_MOST_LEVELS: Final = 100
_UNKNOWN: Final = "unknown"


class Edge(NamedTuple):
    """A program works on a dataset or stream."""

    data: Entity
    program: Entity


@dataclass(slots=True)
class _Graph:
    """The visible part of a namespace: programs by data, and vice versa."""

    programs: dict[Entity, list[Entity]] = field(default_factory=dict)
    data: dict[Entity, list[Entity]] = field(default_factory=dict)

    def around(self, start: Entity, levels: int) -> set[Edge]:
        """The edges within `levels` steps."""
        edges: set[Edge] = set()
        front, visited = [start], {start}
        for _ in range(levels):
            new = {Edge(data, program) for data in front for program in self.programs.get(data, ())}
            new |= {Edge(data, edge.program) for edge in new for data in self.data[edge.program]}
            edges |= new
            front = sorted({edge.data for edge in new} - visited)
            visited.update(front)
            if not front:
                break
        return edges


def of_dataset(exchange: Exchange) -> Reply:
    """The lineage of a dataset."""
    return _lineage(exchange, ids.entity(exchange, "dataset"))


def of_stream(exchange: Exchange) -> Reply:
    """The lineage of a stream."""
    return _lineage(exchange, ids.entity(exchange, "stream"))


def _lineage(exchange: Exchange, start: Entity) -> Reply:
    allow(exchange, f"{start.type}.view_lineage", start)
    within, levels = span(exchange), _levels(exchange)
    edges = sorted(_graph(exchange, namespace_of(start), within).around(start, levels))
    programs = sorted({edge.program for edge in edges})
    ran = _runs(exchange, programs, within)
    return ok(
        {
            "start": within.start // 1_000,
            "end": within.end // 1_000,
            "relations": [
                {
                    "data": _key(edge.data),
                    "program": _key(edge.program),
                    "access": _UNKNOWN,
                    "runs": ran.get(edge.program, []),
                    "components": [],
                }
                for edge in edges
            ],
            "programs": _nodes(programs),
            "data": _nodes({start, *(edge.data for edge in edges)}),
        }
    )


def _graph(exchange: Exchange, space: Entity, within: Span) -> _Graph:
    """The declarations of a namespace's applications before the span ends."""
    state = exchange.realm_state
    apps = contents(state, space, ["application"])
    graph = _Graph()
    visible_programs = frozenset(
        visible(exchange, "program.list", contents(state, space, ["program"]))
    )
    data = _visible_data(exchange, space)
    for app, body in zip(apps, object_store.documents(exchange, apps), strict=True):
        if _deployed(body) >= within.end:
            continue
        declared = [entity for entity in _declared_edges(space, latest(body)) if entity in data]
        for program in contents(state, app, ["program"]):
            if program in visible_programs:
                graph.data[program] = declared
                for entity in declared:
                    graph.programs.setdefault(entity, []).append(program)
    return graph


def _visible_data(exchange: Exchange, space: Entity) -> frozenset[Entity]:
    state = exchange.realm_state
    return frozenset(
        entity
        for type in ("dataset", "stream")
        for entity in visible(exchange, f"{type}.list", contents(state, space, [type]))
    )


def _deployed(body: Json) -> int:
    """When an application was deployed, in milliseconds; 0 if unknown."""
    moment = latest(body).get("deployed")
    return int(moment * 1_000) if isinstance(moment, int | float) else 0


def _declared_edges(space: Entity, version_body: Json) -> list[Entity]:
    names = (("dataset", "datasets"), ("stream", "streams"))
    return [
        inside(space, type, name)
        for type, member in names
        for name in cast("list[str]", version_body.get(member) or [])
    ]


def _runs(exchange: Exchange, programs: Sequence[Entity], within: Span) -> dict[Entity, list[str]]:
    """The runs active in the span, for programs whose runs the caller may see."""
    readable = allowed_entities(exchange, "program.get_history", programs)
    with exchange.service.reading() as reading:
        return {
            program: _runs_within(reading, exchange.realm, program, within) for program in readable
        }


def _runs_within(reading: Reading, realm: str, program: Entity, within: Span) -> list[str]:
    rows = runs.of_program(reading, realm, program, last=within.end - 1)
    ended = ((row.mark, cast("int | None", row.body.get("end"))) for row in rows)
    return sorted(mark for mark, end in ended if end is None or end >= within.start)


def _nodes(entities: Iterable[Entity]) -> Json:
    return {_key(entity): {"entityId": Subject(entity).id()} for entity in sorted(entities)}


def _key(entity: Entity) -> str:
    """The name of a node in a reply.

    >>> _key(Entity("program", "sales.shop.workflow.nightly"))
    'workflow.sales.shop.nightly'
    """
    if entity.type != "program":
        return f"{entity.type}.{entity.name}"
    space, app, _ = entity.name.split(".", 2)
    return f"{program_type(entity)}.{space}.{app}.{last(entity)}"


def _levels(exchange: Exchange) -> int:
    text = exchange.one("levels", str(LEVELS))
    good = text.isascii() and text.isdecimal() and len(text) <= 4
    if not good or not 1 <= int(text) <= _MOST_LEVELS:
        raise bad(f"expected a number from 1 to {_MOST_LEVELS} as `levels`, got {quoted(text)}")
    return int(text)


ROUTES: Final[Sequence[Route]] = (
    Route("GET", f"{SPACE}/datasets/{{dataset}}/lineage", "dataset.view_lineage", of_dataset),
    Route("GET", f"{SPACE}/data/datasets/{{dataset}}/lineage", "dataset.view_lineage", of_dataset),
    Route("GET", f"{SPACE}/streams/{{stream}}/lineage", "stream.view_lineage", of_stream),
)
