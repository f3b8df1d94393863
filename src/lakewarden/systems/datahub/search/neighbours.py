"""Edges that aspects state, from either end: read from their source, found by the index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.service.search_terms import Term
from lakewarden.systems.datahub.aspects import edges
from lakewarden.systems.datahub.aspects.edges import Edge, Lineage
from lakewarden.systems.datahub.aspects.meaning import target
from lakewarden.systems.datahub.search.texts import Texts

_OPPOSITE: Final = {
    Lineage.UPSTREAM: Lineage.DOWNSTREAM,
    Lineage.DOWNSTREAM: Lineage.UPSTREAM,
}


class Step(NamedTuple):
    """An edge seen from one of its ends: the other end, and the edge's properties."""

    type: str
    other: Entity
    properties: Mapping[str, Any]


class Neighbours:
    """Edges in one snapshot of a realm, regardless of the caller's permissions.

    Each document is read once. Raises `LimitExceeded` if too many would have to be read.
    """

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._tree = texts.index.tree
        self._stated: dict[int, list[Edge]] = {}

    def sources(self, entity: Entity, types: Iterable[str]) -> BitMap:
        """The stored entities with an edge of one of the types to the entity."""
        terms = [Term(edges.term(type, entity.name)) for type in sorted(types)]
        return self._texts.matching([terms]) if terms else BitMap()

    def outgoing(self, entity: Entity, types: frozenset[str]) -> list[Step]:
        """The edges of the types from an entity, without duplicates, in order."""
        return self._steps([entity], types, lambda edge: edge.type in types, None)[entity]

    def incoming(self, entity: Entity, types: frozenset[str]) -> list[Step]:
        """The edges of the types to an entity, without duplicates, in order."""
        return self._steps([entity], types, None, lambda edge: edge.type in types)[entity]

    def beside(self, entities: Sequence[Entity], way: Lineage) -> dict[Entity, list[Step]]:
        """The direct lineage neighbours of each of the entities, without duplicates, in order."""
        back = _OPPOSITE[way]
        return self._steps(
            *(entities, edges.LINEAGE),
            lambda edge: edge.lineage is way,
            lambda edge: edge.lineage is back,
        )

    def _steps(
        self,
        entities: Sequence[Entity],
        types: Iterable[str],
        leads_on: Callable[[Edge], bool] | None,
        leads_back: Callable[[Edge], bool] | None,
    ) -> dict[Entity, list[Step]]:
        """The steps along edges from the entities, and back along edges to the entities."""
        by_name = {entity.name: entity for entity in entities}
        steps_by_entity: dict[Entity, dict[tuple[str, Entity], Step]] = {
            entity: {} for entity in entities
        }
        ids = BitMap()
        if leads_on is not None:
            ids |= self._outgoing_edges(entities)
        if leads_back is not None:
            ids |= self._with_term(
                edges.term(type, entity.name) for entity in entities for type in types
            )
        for edge in self._steps_of(ids):
            if leads_on is not None and edge.source in by_name and leads_on(edge):
                _add_step(steps_by_entity[by_name[edge.source]], edge, edge.target)
            if leads_back is not None and edge.target in by_name and leads_back(edge):
                _add_step(steps_by_entity[by_name[edge.target]], edge, edge.source)
        return {
            entity: [steps[key] for key in sorted(steps)]
            for entity, steps in steps_by_entity.items()
        }

    def _outgoing_edges(self, entities: Iterable[Entity]) -> BitMap:
        known = (self._tree.find(entity) for entity in entities)
        ids = BitMap([id for id in known if id is not None])
        columns = [
            edges.column_term(entity.name) for entity in entities if edges.is_column(entity.name)
        ]
        return ids | self._with_term(columns)

    def _with_term(self, terms: Iterable[str]) -> BitMap:
        clause = [Term(term) for term in terms]
        return self._texts.matching([clause]) if clause else BitMap()

    def _steps_of(self, ids: BitMap) -> Iterator[Edge]:
        unread = BitMap([id for id in ids if id not in self._stated])
        for id, aspects in self._texts.aspects(unread).items() if unread else ():
            self._stated[id] = list(edges.stated_edges(self._tree.entity(id), aspects))
        for id in ids:
            yield from self._stated[id]


def _add_step(steps: dict[tuple[str, Entity], Step], edge: Edge, urn: str) -> None:
    """Adds a step; one with properties replaces one without."""
    other, problem = target(urn, frozenset())
    key = (edge.type, other)
    if not problem and (key not in steps or not steps[key].properties):
        steps[key] = Step(edge.type, other, edge.properties)
