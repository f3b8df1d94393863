"""Columns: as the platform says, as they are written about here, and as entities.

SOURCE: records of acryl-datahub 1.7.0.17 (SchemaMetadata, EditableSchemaMetadata, InputFields).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.http.graphql.pages.following import (
    Fields,
    named,
    naming,
    one,
    shown,
)
from lakewarden.systems.datahub.http.graphql.pages.part import (
    Part,
    aspect,
    time_of,
    typed,
)
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_TYPES: Final = {
    "ArrayType": "ARRAY",
    "BooleanType": "BOOLEAN",
    "BytesType": "BYTES",
    "DateType": "DATE",
    "EnumType": "ENUM",
    "FixedType": "FIXED",
    "MapType": "MAP",
    "NullType": "NULL",
    "NumberType": "NUMBER",
    "RecordType": "STRUCT",
    "StringType": "STRING",
    "TimeType": "TIME",
    "UnionType": "UNION",
}
"""The words of the schema, by the names of the records."""

_RAW: Final = ("rawSchema", "tableSchema", "schema", "documentSchema")
"""Where the records of platforms keep their schema."""

_FIELD: Final = frozenset({"schemaField"})


def type_of(field: Part, _info: Info) -> str:
    """The type: the record that stands in `type.type`, by its name; STRUCT: nobody knows."""
    within = field.value.get("type")
    named = within.get("type") if isinstance(within, Mapping) else None
    record = next(iter(named), "") if isinstance(named, Mapping) else ""
    return _TYPES.get(str(record).rpartition(".")[2], "STRUCT")


def _newest(entity: Entity, info: Info, version: int | None = None) -> Part | None:
    """The columns; of versions before the newest nothing is kept."""
    found: Part | None = aspect("schemaMetadata")(entity, info)
    return found if version in (None, 0) else None


def _platform_schema(schema: Part, _info: Info) -> Mapping[str, Any] | None:
    found = schema.part("platformSchema")
    if found is None:
        return None
    key, value = found.text("keySchema"), found.text("valueSchema")
    if key is not None and value is not None:
        return {"__typename": "KeyValueSchema", "keySchema": key, "valueSchema": value}
    raw = next((one for name in _RAW if (one := found.text(name)) is not None), None)
    return None if raw is None else {"__typename": "TableSchema", "schema": raw}


def _columns(schema: Part, _info: Info) -> list[Part]:
    return [one for one in schema.parts("fields") if one.text("fieldPath") is not None]


def _edited(schema: Part, _info: Info) -> list[Part]:
    found = schema.parts("editableSchemaFieldInfo")
    return [one for one in found if one.text("fieldPath") is not None]


def _as_entity(field: Part, _info: Info) -> Entity | None:
    """The column as an entity, which need not be stored: it is shown where its dataset is."""
    path = field.text("fieldPath")
    found = named((f"urn:li:schemaField:({field.entity.name},{path})",), _FIELD)
    return found[0] if found else None


def _of_constraint(key: str) -> Callable[..., list[Entity]]:
    def resolve(constraint: Part, info: Info) -> list[Entity]:
        seen = shown(info.context, constraint.entity, _FOREIGN)
        return [one for one in named(constraint.listed(key), _FIELD) if one in seen]

    return resolve


_FOREIGN: Final = naming(
    "schemaMetadata",
    lambda schema: (
        urn
        for constraint in schema.parts("foreignKeys")
        for urn in (
            *constraint.listed("foreignFields"),
            *constraint.listed("sourceFields"),
            constraint.get("foreignDataset"),
        )
    ),
)


def _foreign_dataset(constraint: Part, info: Info) -> Entity | None:
    found = named((constraint.get("foreignDataset"),), frozenset({"dataset"}))
    seen = shown(info.context, constraint.entity, _FOREIGN)
    return found[0] if found and found[0] in seen else None


def _path(column: Entity, _info: Info) -> str:
    return datahub.key_parts(column.name)[1]


_READ: Final = naming(
    "inputFields", lambda part: (one.get("schemaFieldUrn") for one in part.parts("fields"))
)


def _inputs(fields: Part, info: Info) -> list[Part]:
    """The columns that are read, but those that the caller is not shown."""
    seen = shown(info.context, fields.entity, _READ)
    found = [(one, named((one.get("schemaFieldUrn"),))) for one in fields.parts("fields")]
    return [one for one, there in found if there and there[0] in seen]


_ASSOCIATED: Final[Fields] = {"tags": typed("globalTags")}

RESOLVERS: Final[Resolvers] = {
    "Dataset": {
        "schemaMetadata": _newest,
        "editableSchemaMetadata": aspect("editableSchemaMetadata"),
    },
    "GlossaryTerm": {"schemaMetadata": _newest},
    "Chart": {"inputFields": aspect("inputFields")},
    "Dashboard": {"inputFields": aspect("inputFields")},
    "SchemaMetadata": {
        "aspectVersion": lambda _part, _info: 0,
        "datasetUrn": lambda part, _info: part.entity.name,
        "name": typed("schemaName"),
        "platformUrn": typed("platform"),
        "platformSchema": _platform_schema,
        "fields": _columns,
        "createdAt": time_of("created"),
    },
    "SchemaField": {
        **_ASSOCIATED,
        "type": type_of,
        "schemaFieldEntity": _as_entity,
    },
    "ForeignKeyConstraint": {
        "foreignFields": _of_constraint("foreignFields"),
        "sourceFields": _of_constraint("sourceFields"),
        "foreignDataset": _foreign_dataset,
    },
    "EditableSchemaMetadata": {"editableSchemaFieldInfo": _edited},
    "EditableSchemaFieldInfo": {
        **_ASSOCIATED,
    },
    "InputFields": {"fields": _inputs},
    "SchemaFieldEntity": {
        "fieldPath": _path,
        "parent": one(lambda _call, column: named(datahub.key_parts(column.name)[:1])),
    },
}
