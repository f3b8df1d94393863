"""The types of a dataset's columns in its aspect `schemaMetadata`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lakewarden.expressions.types import Type, read_type
from lakewarden.systems.datahub.aspects.fields import without_avro_type

ASPECT: Final = "schemaMetadata"
_MOMENTS: Final = frozenset({Type.DATE, Type.TIMESTAMP, Type.INSTANT})
"""Types whose names mean different things on different platforms; they count as unknown."""


def field_types(schema: object) -> Iterator[tuple[str, str]]:
    """The top-level columns, with the types of their platform.

    >>> field = {"fieldPath": "region", "nativeDataType": "varchar(20)"}
    >>> list(field_types({"fields": [field, {"fieldPath": "address.city"}]}))
    [('region', 'varchar(20)')]
    """
    fields = without_avro_type(schema.get("fields")) if isinstance(schema, Mapping) else None
    for field in fields if isinstance(fields, list) else ():
        path = without_avro_type(field.get("fieldPath")) if isinstance(field, Mapping) else None
        native = without_avro_type(field.get("nativeDataType")) if path else None
        is_plain = isinstance(path, str) and not set(path) & set(".[]")
        if is_plain and isinstance(native, str) and read_type(native) not in _MOMENTS:
            yield str(path), native
