"""The types of stored columns, from the documents of their tables or from their attributes.

Documents come with requests. Ingested tables have none: there a column carries its own type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pyroaring import BitMap

from lakewarden.expressions.types import Type, read_type
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.relations import COLUMN_TYPE
from lakewarden.registry import registry
from lakewarden.service.column_names import column_namer
from lakewarden.service.effect import Document
from lakewarden.service.ports import Reading
from lakewarden.service.state import RealmState


class ColumnType(NamedTuple):
    """A column of a table: its entity, its name in expressions, and its type in the catalog.

    `entity` is None if no entity can have the column's name.
    """

    entity: Entity | None
    name: str
    type: str

    @property
    def kind(self) -> Type:
        """The type in expressions; NULL, which fits everywhere, if it is unknown."""
        kind = read_type(self.type)
        return Type.NULL if kind is Type.OTHER else kind


ColumnTypes = Callable[[Entity, Document], Iterable[ColumnType]]
"""The columns of a table from its document: the `column_types` of a system."""


def column_types(reading: Reading, realm: RealmState, table: Entity) -> Sequence[ColumnType]:
    """The columns of a table with stored types; empty if there are none.

    Types in the document take precedence over those of the column itself.
    """
    documented = tuple(_documented(reading, realm, table))
    known = {one.name for one in documented}
    return (*documented, *(one for one in _stored_types(realm, table) if one.name not in known))


def types_by_table(reading: Reading, realm: RealmState) -> Callable[[Entity], Mapping[str, str]]:
    """A function that returns the types of a table's stored columns, by column name."""
    return lambda table: {one.name: one.type for one in column_types(reading, realm, table)}


def _documented(reading: Reading, realm: RealmState, table: Entity) -> Sequence[ColumnType]:
    system = registry().shipper_of(realm.realm.model)
    if system is None or not system.column_types:
        return ()
    document = reading.documents(realm.realm.name, [table]).get(table)
    if document is None:
        return ()
    read: ColumnTypes = system.load(system.column_types)
    try:
        return tuple(read(table, document))
    except WardenError:
        # An unreadable document says nothing about types.
        return ()


def _stored_types(realm: RealmState, table: Entity) -> Iterator[ColumnType]:
    coded, called = realm.matrix.snapshot.coded, column_namer(realm)
    id, types = coded.tree.find(table), coded.model.types
    below = BitMap() if id is None else coded.tree.below(BitMap([id])) & coded.tree.stored
    for column in below:
        entity = coded.tree.entity(column)
        written = coded.attributes.get(column, {}).get(COLUMN_TYPE, ())
        if types[entity.type].masked and len(written) == 1:
            yield ColumnType(entity, called(entity), written[0])
