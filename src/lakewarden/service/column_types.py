"""The types of stored columns, as the documents of their tables have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from lakewarden.expressions.types import Type, read_type
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.registry import registry
from lakewarden.service.effect import Document
from lakewarden.service.ports import Reading
from lakewarden.service.state import RealmState


class ColumnType(NamedTuple):
    """A column of a table: its entity, its name in expressions, and its type in the catalog.

    `entity` is None for a column that no entity can name.
    """

    entity: Entity | None
    name: str
    type: str

    @property
    def kind(self) -> Type:
        """The type as expressions have it; NULL, which fits everywhere, where it is not known."""
        kind = read_type(self.type)
        return Type.NULL if kind is Type.OTHER else kind


ColumnTypes = Callable[[Entity, Document], Iterable[ColumnType]]
"""The columns of a table, of its document: what a system has as its `column_types`."""


def column_types(reading: Reading, realm: RealmState, table: Entity) -> Sequence[ColumnType]:
    """The columns of a table whose types are stored; none where the system keeps none."""
    system = registry().shipping(realm.realm.model)
    if system is None or not system.column_types:
        return ()
    document = reading.documents(realm.realm.name, [table]).get(table)
    if document is None:
        return ()
    read: ColumnTypes = system.load(system.column_types)
    try:
        return tuple(read(table, document))
    except WardenError:
        # A document that cannot be read says nothing about types.
        return ()
