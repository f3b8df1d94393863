"""How much there is: aspects by their names, entities by their types.

Whoever may count learns the number of all, and nothing else. SOURCE: datahub reference 5.4 and 7.1.
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
from lakewarden.systems.datahub.http.authorization import allow, stored, stored_count
from lakewarden.systems.datahub.http.bodies import check_count, fields, value
from lakewarden.systems.datahub.use_cases import aspects

_CHUNK: Final = 10_000


def of_aspect(exchange: Exchange) -> Reply:
    """How many entities have an aspect, of those whose URN is like a pattern with `%`."""
    body = fields(exchange)
    name, like = body.text("aspect"), body.text_or_none("urnLike") or "%"
    allow(exchange, "counts.read")
    state = exchange.realm_state
    start, is_open, rest = like.partition("%")
    if rest.strip("%"):
        raise BadInput("expected `%` at the end alone", where=body.at("urnLike"))
    entities = (
        entity
        for entity in stored(exchange, _types(exchange, start, name))
        if (entity.name.startswith(start) if is_open else entity.name == like)
    )
    total = 0
    with exchange.service.reading() as reading:
        for chunk in _chunks(entities):
            read = aspects.read(reading, state, chunk)
            total += sum(name in stored_aspects for stored_aspects in read.values())
    return value(total)


def _types(exchange: Exchange, start: str, aspect: str) -> list[str]:
    """The types of entities that are stored and can fit; a key aspect belongs to one type."""
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


def of_type(exchange: Exchange) -> Reply:
    """How many entities of a type there are."""
    return value(_count_rows(exchange, fields(exchange).text("entity")))


def of_types(exchange: Exchange) -> Reply:
    """How many there are of each of several types."""
    body = fields(exchange)
    types = body.texts("entities")
    check_count(exchange, len(types), "types together")
    return value({type: _count_rows(exchange, type) for type in types})


def _count_rows(exchange: Exchange, type: str) -> int:
    allow(exchange, "counts.read", Entity(type, ""))
    return stored_count(exchange, type)


ACTIONS: Final[Actions] = {
    "batchGetTotalEntityCount": ("counts.read", of_types),
    "getTotalEntityCount": ("counts.read", of_type),
}
"""Those of `/entities`."""
