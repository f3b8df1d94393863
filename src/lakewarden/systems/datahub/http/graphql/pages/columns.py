"""Columns: their types, and the schema that contains them.

SOURCE: records of acryl-datahub 1.7.0.17 (SchemaMetadata, EditableSchemaMetadata, InputFields).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.aspect_record import Record, aspect
from lakewarden.systems.datahub.http.graphql.references import entities_of_urns
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

RECORDS: Final = {
    "ARRAY": "ArrayType",
    "BOOLEAN": "BooleanType",
    "BYTES": "BytesType",
    "DATE": "DateType",
    "ENUM": "EnumType",
    "FIXED": "FixedType",
    "MAP": "MapType",
    "NULL": "NullType",
    "NUMBER": "NumberType",
    "STRING": "StringType",
    "STRUCT": "RecordType",
    "TIME": "TimeType",
    "UNION": "UnionType",
}
"""The records of column types in an aspect, by the values of the schema."""

_WORDS: Final = {record: type for type, record in RECORDS.items()}

_RAW: Final = ("rawSchema", "tableSchema", "schema", "documentSchema")
"""The members that hold the schema in the records of platforms."""


def column_type_word(column: Record) -> str | None:
    """The type: the name of the record in `type.type`; None: unknown."""
    outer = column.value.get("type")
    inner = outer.get("type") if isinstance(outer, Mapping) else None
    name = next(iter(inner), "") if isinstance(inner, Mapping) else ""
    return _WORDS.get(str(name).rpartition(".")[2])


def type_of(column: Record, _info: Info) -> str:
    """The type of a column; STRUCT: unknown."""
    return column_type_word(column) or "STRUCT"


def _newest(entity: Entity, info: Info, version: int | None = None) -> Record | None:
    """The columns; versions before the newest are not stored."""
    schema = aspect(info.context, entity, "schemaMetadata")
    return schema if schema.value and version in (None, 0) else None


def _platform_schema(schema: Record, _info: Info) -> Mapping[str, Any] | None:
    record = schema.record("platformSchema")
    if record is None:
        return None
    key, value = record.text("keySchema"), record.text("valueSchema")
    if key is not None and value is not None:
        return {"__typename": "KeyValueSchema", "keySchema": key, "valueSchema": value}
    raw = next((text for name in _RAW if (text := record.text(name)) is not None), None)
    return None if raw is None else {"__typename": "TableSchema", "schema": raw}


def _as_entity(column: Record, _info: Info) -> Entity | None:
    """The column as an entity, which need not be stored: its visibility is that of its dataset."""
    urn = f"urn:li:schemaField:({column.entity.name},{column.text('fieldPath')})"
    return next(iter(entities_of_urns((urn,))), None)


RESOLVERS: Final[Resolvers] = {
    "Dataset": {"schemaMetadata": _newest},
    "GlossaryTerm": {"schemaMetadata": _newest},
    "SchemaMetadata": {
        "aspectVersion": lambda _schema, _info: 0,
        "platformSchema": _platform_schema,
    },
    "SchemaField": {"type": type_of, "schemaFieldEntity": _as_entity},
}
