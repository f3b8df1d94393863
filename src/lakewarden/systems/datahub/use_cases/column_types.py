"""The types of a dataset's columns in its document, and the names of its columns."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.kernel.entity import Entity
from lakewarden.service.column_types import ColumnType
from lakewarden.service.effect import Document
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects import field_types
from lakewarden.systems.datahub.use_cases.aspects import stored_aspects


def column_types(dataset: Entity, document: Document) -> Iterator[ColumnType]:
    """The top-level columns, with the types of their platform."""
    schema = stored_aspects(document).get(field_types.ASPECT)
    for path, native in field_types.field_types(None if schema is None else schema.value):
        yield ColumnType(Entity("schemaField", column_spelling(dataset, path)), path, native)


def column_name(column: Entity) -> str:
    """The path of the field, which is its name in expressions.

    >>> dataset = "urn:li:dataset:(urn:li:dataPlatform:hive,sales,PROD)"
    >>> column_name(Entity("schemaField", f"urn:li:schemaField:({dataset},iban)"))
    'iban'
    """
    return datahub.key_parts(column.name)[-1]


def column_spelling(dataset: Entity, path: str) -> str:
    """The URN of the field at a path; it may be malformed.

    >>> dataset = Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:hive,sales,PROD)")
    >>> column_spelling(dataset, "iban").removeprefix("urn:li:schemaField:")
    '(urn:li:dataset:(urn:li:dataPlatform:hive,sales,PROD),iban)'
    """
    return f"urn:li:schemaField:({dataset.name},{path})"
