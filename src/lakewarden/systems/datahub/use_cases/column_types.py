"""The types of a dataset's columns, as its aspect `schemaMetadata` has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lakewarden.expressions.types import Type, read_type
from lakewarden.kernel.entity import Entity
from lakewarden.service.column_types import ColumnType
from lakewarden.service.effect import Document
from lakewarden.systems.datahub.aspects.fields import without_avro_type
from lakewarden.systems.datahub.use_cases.aspects import stored_aspects

_MOMENTS: Final = frozenset({Type.DATE, Type.TIMESTAMP, Type.INSTANT})
"""Types whose names mean different things on different platforms: they are not known."""


def column_types(dataset: Entity, document: Document) -> Iterator[ColumnType]:
    """The columns that are no parts of others, with the types that their platform names."""
    schema = stored_aspects(document).get("schemaMetadata")
    fields = None if schema is None else without_avro_type(schema.value.get("fields"))
    for field in fields if isinstance(fields, list) else ():
        path = without_avro_type(field.get("fieldPath")) if isinstance(field, Mapping) else None
        native = without_avro_type(field.get("nativeDataType")) if path else None
        is_plain = isinstance(path, str) and not set(path) & set(".[]")
        if is_plain and isinstance(native, str) and read_type(native) not in _MOMENTS:
            urn = f"urn:li:schemaField:({dataset.name},{path})"
            yield ColumnType(Entity("schemaField", urn), str(path), native)
