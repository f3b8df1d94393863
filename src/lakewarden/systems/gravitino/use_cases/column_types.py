"""The types of a table's columns, as given in Gravitino's requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.service.column_types import ColumnType
from lakewarden.service.effect import Document
from lakewarden.systems.gravitino import names


def column_types(table: Entity, document: Document) -> Iterator[ColumnType]:
    """The columns with a plain type; columns of lists and structs have none."""
    columns = document.get("columns")
    for column in columns if isinstance(columns, list) else ():
        name = column.get("name") if isinstance(column, Mapping) else None
        if isinstance(name, str) and isinstance(column.get("type"), str):
            yield ColumnType(_entity(table, name), name, column["type"])


def _entity(table: Entity, name: str) -> Entity | None:
    try:
        return names.entity(names.metalake(table), "column", f"{names.full_name(table)}.{name}")
    except WardenError:
        return None
