"""Replays the writes of one entity, in order, to its normalised rows.

As on a DataHub server: the last write of an aspect counts; `CREATE` does not change an existing
aspect, `CREATE_ENTITY` no aspect of an existing entity; a patch changes the stored value; `DELETE`
removes an aspect, or with the key aspect (or with none) the whole entity. An entity exists from its
first write, even without aspects.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import COLUMN_TYPE, READS, REMOVED
from lakewarden.service.source_row import (
    BAD_NAME,
    DELETED,
    STATEMENTS,
    Row,
    attribute_row,
    entity_row,
    placement_row,
    principal_row,
    relation_row,
)
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects import (
    column_labels,
    field_types,
    meaning,
    patch,
    view_reads,
)
from lakewarden.systems.datahub.aspects.change import Change
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.aspects.policy import deactivated
from lakewarden.systems.datahub.ingest.proposal import Write

_POLICY = "dataHubPolicy"


class _Aspect(NamedTuple):
    value: object
    place: str


def rows(writes: Iterable[Write], model: Model) -> Iterator[Row]:
    """The rows of one URN's writes, which are in order.

    Raises `BadInput` if an aspect is malformed after a patch.
    """
    state: dict[str, _Aspect] = {}
    place = ""
    entity: Entity | None = None
    was_deleted = False
    for write in writes:
        if write.problem:
            row = Row("entities", (write.type, write.urn), write.place)
            yield row.rejected(BAD_NAME, write.problem)
            continue
        entity = Entity(write.type, write.urn)
        if write.change is Change.DELETE:
            if _deletes_entity(write):
                state, place, was_deleted = {}, "", True
            else:
                state.pop(write.aspect, None)
            continue
        if not _is_skipped(write, state, exists=bool(place)):
            _put(state, write)
        place = place or write.place
    if entity is not None and place:
        yield from _live_rows(entity, state, place, model)
    elif entity is not None and was_deleted and entity.type == _POLICY:
        yield Row(DELETED, (entity.name,))


def _labelled_columns(entity: Entity, state: dict[str, _Aspect], model: Model) -> Iterator[Row]:
    """The columns of a dataset with tags or terms in its aspects, their labels, and their types."""
    columns: dict[Entity, str] = {}
    for name in sorted(column_labels.ASPECTS.keys() & state.keys()):
        value, at = state[name]
        for kind, column, target in sorted(column_labels.column_labels(entity, name, value, model)):
            yield entity_row(column, at)
            yield placement_row(column, entity, at)
            yield relation_row(kind, column, target, at)
            columns.setdefault(column, at)
    schema = state.get(field_types.ASPECT) if columns else None
    types = dict(field_types.field_types(None if schema is None else schema.value))
    for column, at in columns.items():
        type = types.get(datahub.key_parts(column.name)[-1])
        if type is not None:
            yield attribute_row(column, COLUMN_TYPE, type, at)


def _read_tables(entity: Entity, state: dict[str, _Aspect]) -> Iterator[Row]:
    """The names that a view's query reads."""
    value, at = state.get(view_reads.ASPECT, (None, ""))
    for text in view_reads.view_reads(entity, value):
        yield attribute_row(entity, READS, text, at)


def _deletes_entity(write: Write) -> bool:
    """Whether the write deletes the entity: without an aspect, or with the key aspect."""
    return not write.aspect or write.aspect.casefold() == f"{write.type}key".casefold()


def _is_skipped(write: Write, state: dict[str, _Aspect], *, exists: bool) -> bool:
    if write.change is Change.CREATE_ENTITY:
        return exists
    return write.change is Change.CREATE and write.aspect in state


def _put(state: dict[str, _Aspect], write: Write) -> None:
    value: object = json.loads(write.value) if write.value else None
    if write.change is Change.PATCH and value is not None:
        old = state.get(write.aspect)
        value = patch.apply(old.value if old else None, value, write.place)
    state[write.aspect] = _Aspect(value, write.place)


def _live_rows(
    entity: Entity, state: dict[str, _Aspect], place: str, model: Model
) -> Iterator[Row]:
    yield entity_row(entity, place)
    spelled = datahub.parent(entity)
    if spelled is not None:
        yield placement_row(entity, spelled, place)
    kind = model.principal_kind(entity)
    if kind is not None:
        yield principal_row(Principal(*kind), place)
    rows = [
        row
        for name, (value, at) in sorted(state.items())
        if name in meaning.READERS and value is not None
        for row in meaning.rows(entity, name, Fields(value, at), at, model)
    ]
    yield from _labelled_columns(entity, state, model)
    yield from _read_tables(entity, state)
    # No search finds a softly deleted policy, including that of the original's engine.
    removed = any(row.table == "attributes" and row.cells[2] == REMOVED for row in rows)
    for row in rows:
        yield deactivated(row) if removed and row.table == STATEMENTS else row
    if removed and entity.type == _POLICY:
        yield Row(DELETED, (entity.name,))
