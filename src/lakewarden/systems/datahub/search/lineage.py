"""Lineage: upstream or downstream entities, followed hop by hop.

It is only followed through entities that are visible to the caller: entities behind a hidden one
are hidden too. The degree of an entity is the smallest number of hops to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.service.cancellation import check
from lakewarden.systems.datahub.aspects.edges import Lineage
from lakewarden.systems.datahub.aspects.fields import without_avro_type
from lakewarden.systems.datahub.search.neighbours import Neighbours, Step

MOST_HOPS: Final = 1_000
"""The maximum number of hops."""

MOST: Final = 10_000
"""The maximum number of entities; if there are more, the answer is partial."""

MOST_PATHS: Final = 10
"""The maximum number of paths to one entity in a reply."""

_BY_HAND: Final = "UI"

Shown = Callable[[Iterable[Entity]], Collection[Entity]]
"""The entities that are visible."""


@dataclass(frozen=True, slots=True)
class Period:
    """The period in which an edge was created or changed, in milliseconds since the epoch."""

    start: int | None = None
    end: int | None = None

    def has(self, properties: Mapping[str, Any]) -> bool:
        """Whether an edge counts; edges without a time, and manual ones, always do.

        SOURCE: datahub-project/datahub, the time filter of its graph queries.
        """
        if (self.start is None and self.end is None) or is_by_hand(properties):
            return True
        times = [
            time for time in (created_stamp(properties)[0], changed_stamp(properties)[0]) if time
        ]
        first, last = self.start or 0, self.end
        return not times or any(first <= time and (last is None or time <= last) for time in times)


Stamp = tuple[int | None, str | None]
"""The time, in milliseconds since the epoch, and the URN of the writer."""


def created_stamp(properties: Mapping[str, Any]) -> Stamp:
    """When an edge was created."""
    return _stamp(properties, "created")


def changed_stamp(properties: Mapping[str, Any]) -> Stamp:
    """When an edge was last changed; datasets call it `auditStamp`."""
    stamp = _stamp(properties, "lastModified")
    return stamp if stamp != (None, None) else _stamp(properties, "auditStamp")


def is_by_hand(edge_properties: Mapping[str, Any]) -> bool:
    """Whether the edge is manual."""
    properties = without_avro_type(edge_properties.get("properties"))
    return (
        isinstance(properties, Mapping) and without_avro_type(properties.get("source")) == _BY_HAND
    )


def _stamp(properties: Mapping[str, Any], key: str) -> Stamp:
    stamp = without_avro_type(properties.get(key))
    if not isinstance(stamp, Mapping):
        return None, None
    time, actor = without_avro_type(stamp.get("time")), without_avro_type(stamp.get("actor"))
    when = time if isinstance(time, int) and not isinstance(time, bool) else 0
    return when or None, actor if isinstance(actor, str) else None


@dataclass(slots=True)
class Reached:
    """An entity of a lineage; `before` are the entities from which the last hop leads to it."""

    entity: Entity
    degree: int
    is_ignored: bool = False
    before: list[Entity] = field(default_factory=list)
    is_explored: bool = False
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class ExplorationLimits:
    """The limits of an exploration: hops, entities per hop, and entities that count as no hop."""

    way: Lineage
    hops: int = MOST_HOPS
    most_of_hop: int | None = None
    period: Period = Period()
    is_ignored: Callable[[Entity], bool] = lambda _: False


@dataclass(slots=True)
class Exploration:
    """A lineage; `is_partial`: it is incomplete."""

    reached: dict[Entity, Reached]
    is_partial: bool = False

    def paths(self, entity: Entity) -> list[list[Entity]]:
        """Shortest paths to an entity from the start of the lineage, including both ends."""
        paths: list[list[Entity]] = []
        begun = [[entity]]
        while begun and len(paths) < MOST_PATHS:
            path = begun.pop()
            before = self.reached[path[0]].before
            begun += [[previous, *path] for previous in reversed(before) if previous not in path]
            if not before:
                paths.append(path)
        return paths


def follow(
    neighbours: Neighbours, start: Entity, walk: ExplorationLimits, visible_of: Shown
) -> Exploration:
    """The lineage of an entity without itself; empty if it is hidden from the caller."""
    exploration = Exploration({start: Reached(start, 0)})
    hop = [start] if start in visible_of([start]) else []
    for degree in range(1, walk.hops + 1):
        if not hop or exploration.is_partial:
            break
        hop = _next_hop(neighbours, walk, visible_of, exploration, hop, degree)
    return exploration


def _next_hop(
    neighbours: Neighbours,
    walk: ExplorationLimits,
    visible_of: Shown,
    exploration: Exploration,
    hop: list[Entity],
    degree: int,
) -> list[Entity]:
    """The entities of the next hop, from which the exploration continues."""
    next_hop: list[Entity] = []
    while hop and not exploration.is_partial:
        check()
        for entity in hop[walk.most_of_hop :] if walk.most_of_hop is not None else ():
            exploration.reached[entity].is_cut = True
        hop = hop[: walk.most_of_hop]
        steps = neighbours.beside(hop, walk.way)
        others = {step.other for each in steps.values() for step in each}
        visible = set(visible_of(sorted(others)))
        ignored: list[Entity] = []
        for entity in hop:
            exploration.reached[entity].is_explored = True
            for step in steps[entity]:
                if step.other in visible and walk.period.has(step.properties):
                    _take_step(exploration, walk, entity, step, degree, next_hop, ignored)
        hop = ignored
    return next_hop


def _take_step(
    exploration: Exploration,
    walk: ExplorationLimits,
    via: Entity,
    step: Step,
    degree: int,
    next_hop: list[Entity],
    ignored: list[Entity],
) -> None:
    """Takes one step. Ignored entities are followed within the same hop."""
    other = step.other
    known = exploration.reached.get(other)
    if known is None:
        if len(exploration.reached) > MOST:
            exploration.is_partial = True
            return
        known = exploration.reached[other] = Reached(other, degree, walk.is_ignored(other))
        (ignored if known.is_ignored else next_hop).append(other)
    if known.degree == degree and via not in known.before:
        known.before.append(via)
