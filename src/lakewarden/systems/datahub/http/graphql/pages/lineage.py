"""The neighbours of an entity in its lineage, and lineage of columns.

Hidden ends are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import LimitExceeded
from lakewarden.kernel.relations import REMOVED
from lakewarden.service.state import RealmState
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects import edges
from lakewarden.systems.datahub.aspects.edges import Lineage
from lakewarden.systems.datahub.aspects.fields import without_avro_type
from lakewarden.systems.datahub.aspects.meaning import target
from lakewarden.systems.datahub.http import view_authorization
from lakewarden.systems.datahub.http.graphql import authorization, references
from lakewarden.systems.datahub.http.graphql.aspect_record import Record, aspect
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.entities import is_known
from lakewarden.systems.datahub.http.graphql.paging import page
from lakewarden.systems.datahub.http.graphql.references import entities_of_urns
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.http.searching import search_session
from lakewarden.systems.datahub.search.lineage import (
    Period,
    changed_stamp,
    created_stamp,
    is_by_hand,
)
from lakewarden.systems.datahub.search.neighbours import Neighbours, Step

Shown = dict[str, Any]


def lineage(entity: Entity, info: Info, input: Mapping[str, Any]) -> Shown:
    """The upstream or downstream neighbours of an entity."""
    call: Call = info.context
    call.start_list()
    period = Period(input.get("startTimeMillis"), input.get("endTimeMillis"))
    neighbours = [
        step
        for step in _neighbours(call, entity, input["direction"])
        if period.has(step.properties)
    ]
    stored = neighbours
    if not input.get("includeGhostEntities"):
        stored = [step for step in neighbours if exists(call.state, step.other)]
    most = call.exchange.services.page_rows
    count = input.get("count")
    paging = input if count is None else {**input, "count": min(count, most)}
    steps, numbers = page(stored, paging, most)
    call.add_group(step.other for step in steps)
    visible = _visible(call, steps)
    call.end_list(looked_at=1 + len(neighbours), shown=len(steps))
    return {
        **numbers,
        "filtered": len(neighbours) - len(stored),
        "relationships": [_relationship(entity, step, visible) for step in steps],
    }


def exists(state: RealmState, entity: Entity) -> bool:
    """Whether an entity is stored, and not softly deleted; for a column, whether its dataset is."""
    coded = state.matrix.snapshot.coded
    id = coded.tree.find(entity)
    if id is not None and coded.attributes.get(id, {}).get(REMOVED):
        return False
    if entity.type == edges.COLUMN:
        holder = datahub.parent(entity)
        return holder is not None and exists(state, holder)
    return is_known(state, entity)


def _neighbours(call: Call, entity: Entity, direction: str) -> list[Step]:
    """The neighbours of the entity that are visible to the caller."""
    way = Lineage(direction)
    group = call.group(entity)

    def find(entities: Iterable[Entity]) -> dict[Entity, list[Step]]:
        with search_session(call.exchange, view_authorization.hits) as session:
            steps = Neighbours(session.texts()).beside(list(entities), way)
        others = dict.fromkeys(step.other for own in steps.values() for step in own)
        visible = set(authorization.visible(call, others))
        return {holder: [s for s in own if s.other in visible] for holder, own in steps.items()}

    def find_all() -> dict[Entity, list[Step]]:
        try:
            return find(group)
        except LimitExceeded:  # too many for the whole group may still be few for each
            return {}

    of_group = call.cached((_neighbours, id(group), way), find_all)
    return of_group[entity] if entity in of_group else find([entity])[entity]


def _visible(call: Call, steps: Iterable[Step]) -> Collection[Entity]:
    """The visible ones of the users and queries that created the edges."""
    urns = [
        urn
        for step in steps
        for urn in (
            created_stamp(step.properties)[1],
            changed_stamp(step.properties)[1],
            without_avro_type(step.properties.get("query")),
        )
    ]
    return frozenset(authorization.visible(call, entities_of_urns(urns)))


def _relationship(entity: Entity, step: Step, visible: Collection[Entity]) -> Shown:
    (made_on, maker), (changed_on, changer) = (
        created_stamp(step.properties),
        changed_stamp(step.properties),
    )
    by = _visible_entity(without_avro_type(step.properties.get("query")), visible)
    path = [entity, step.other] if by is None else [entity, by, step.other]
    return {
        "type": step.type,
        "entity": step.other,
        "degree": 1,
        "createdOn": made_on,
        "createdActor": _visible_entity(maker, visible),
        "updatedOn": changed_on,
        "updatedActor": _visible_entity(changer, visible),
        "isManual": is_by_hand(step.properties),
        "paths": [{"path": path}],
    }


def _visible_entity(urn: object, visible: Collection[Entity]) -> Entity | None:
    entity, problem = target(urn, frozenset()) if isinstance(urn, str) else (None, "none")
    return entity if not problem and entity in visible else None


_ENDS: Final = ("upstreams", "downstreams")
_COLUMNS: Final = frozenset({edges.COLUMN})


def _fine_grained_lineage(entity: Entity, info: Info) -> list[Shown] | None:
    record = aspect(info.context, entity, "upstreamLineage")
    return _fine_grained(record, info) if record.value else None


def _fine_grained(record: Record, info: Info) -> list[Shown]:
    """The columns at both ends; empty where all columns of one end are hidden."""
    relations = []
    for lineage_entry in record.records("fineGrainedLineages"):
        ends = {key: _refs(info.context, lineage_entry, key) for key in _ENDS}
        if all(ends.values()):
            relations.append(
                {
                    **ends,
                    **{key: lineage_entry.text(key) for key in ("query", "transformOperation")},
                }
            )
    return relations


def _refs(call: Call, edge: Record, key: str) -> list[Shown]:
    columns = references.visible_at(call, edge, (key,), _COLUMNS)
    return [{"urn": column.name, "path": datahub.key_parts(column.name)[-1]} for column in columns]


RESOLVERS: Final[Resolvers] = {
    "Dataset": {"fineGrainedLineages": _fine_grained_lineage},
    "SemanticModel": {"fineGrainedLineages": _fine_grained_lineage},
    "DataJobInputOutput": {"fineGrainedLineages": _fine_grained},
}
