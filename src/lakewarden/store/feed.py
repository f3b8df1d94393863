"""Rows of the change feed, as text that every engine can store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from json.encoder import encode_basestring
from typing import Final

from lakewarden.kernel.change import EntityAdded
from lakewarden.kernel.entity import Entity
from lakewarden.service.effect import PUT, Effect, Encoded, encode
from lakewarden.store.key import check_storable

_AT_THE_TOP: Final = '{"parent":null}'


def encoded(effects: Iterable[Effect]) -> Iterator[Encoded]:
    """The rows of the effects; raises `BadInput` for a text that cannot be stored."""
    for effect in effects:
        row = _added(effect) if type(effect) is EntityAdded else encode(effect)
        check_storable(row.key)
        if row.row is not None:
            check_storable(row.row)
        yield row


def _added(effect: EntityAdded) -> Encoded:
    """Like `encode`, in a tenth of the time: a load adds a million entities."""
    parent = effect.parent
    row = _AT_THE_TOP if parent is None else f'{{"parent":{_pair(parent)}}}'
    return Encoded("entity", _pair(effect.entity), PUT, row)


def _pair(entity: Entity) -> str:
    return f"[{encode_basestring(entity[0])},{encode_basestring(entity[1])}]"
