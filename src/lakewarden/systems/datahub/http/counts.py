"""Counts: aspects by their names, entities by their types.

A caller who may count gets the number of all entities, and nothing else. SOURCE: datahub reference
5.4 and 7.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from lakewarden.http.exchange import Exchange, Reply
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub.aspects import keys
from lakewarden.systems.datahub.http.actions import Actions
from lakewarden.systems.datahub.http.authorization import allow, stored_count, stored_entities
from lakewarden.systems.datahub.http.bodies import check_count, fields, value
from lakewarden.systems.datahub.use_cases import aspects

_CHUNK: Final = 10_000


def count_aspect(exchange: Exchange) -> Reply:
    """The number of entities with an aspect and a URN that matches a pattern with `%`."""
    body = fields(exchange)
    name, like = body.text("aspect"), body.text_or_none("urnLike") or "%"
    allow(exchange, "counts.read")
    state = exchange.realm_state
    start, is_open, rest = like.partition("%")
    if rest.strip("%"):
        raise BadInput("expected `%` at the end alone", where=body.at("urnLike"))
    entities = (
        entity
        for entity in stored_entities(exchange, _types(exchange, start, name))
        if (entity.name.startswith(start) if is_open else entity.name == like)
    )
    total = 0
    with exchange.service.reading() as reading:
        for chunk in _chunks(entities):
            read = aspects.read(reading, state, chunk)
            total += sum(name in stored_aspects for stored_aspects in read.values())
    return value(total)


def _types(exchange: Exchange, start: str, aspect: str) -> list[str]:
    """The stored types that can match; a key aspect belongs to one type."""
    kinds = [kind for kind in exchange.realm_state.matrix.snapshot.coded.tree.kinds if kind]
    parts = start.split(":")
    if len(parts) > 3:
        kinds = [kind for kind in kinds if kind == parts[2]]
    if aspect.endswith("Key"):
        kinds = [kind for kind in kinds if keys.name_of(kind) == aspect]
    return kinds


def _chunks(items: Iterator[Entity]) -> Iterator[list[Entity]]:
    while chunk := list(islice(items, _CHUNK)):
        yield chunk


def count_type(exchange: Exchange) -> Reply:
    """The number of entities of a type."""
    return value(_count_rows(exchange, fields(exchange).text("entity")))


def count_types(exchange: Exchange) -> Reply:
    """The number of entities of each of several types."""
    body = fields(exchange)
    types = body.texts("entities")
    check_count(exchange, len(types), "types together")
    return value({type: _count_rows(exchange, type) for type in types})


def _count_rows(exchange: Exchange, type: str) -> int:
    allow(exchange, "counts.read", Entity(type, ""))
    return stored_count(exchange, type)


ACTIONS: Final[Actions] = {
    "batchGetTotalEntityCount": ("counts.read", count_types),
    "getTotalEntityCount": ("counts.read", count_type),
}
"""The values of `?action=` on `/entities`."""
