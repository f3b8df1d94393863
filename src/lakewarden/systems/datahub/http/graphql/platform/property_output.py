"""Structured properties in the form of the schema, and their allowed values.

SOURCE: PDL records of structured properties, acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.fields import without_avro_type
from lakewarden.systems.datahub.http.graphql.aspect_record import Record
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.kinds import type_word
from lakewarden.systems.datahub.http.graphql.pages.associations import property_value
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

TYPE: Final = "structuredProperty"
ASPECT: Final = "propertyDefinition"
SETTINGS: Final = "structuredPropertySettings"

FLAGS: Final = (
    *("isHidden", "showInSearchFilters", "showInAssetSummary", "hideInAssetSummaryWhenEmpty"),
    *("showAsAssetBadge", "showInColumnsTable"),
)

_STANDARD: Final = {
    "datahub.string": "STRING",
    "datahub.number": "NUMBER",
    "datahub.urn": "URN",
    "datahub.rich_text": "RICH_TEXT",
    "datahub.date": "DATE",
}
"""The built-in data types, by the end of their URNs."""


def typed_value(input: Mapping[str, Any], argument: str) -> dict[str, Any]:
    """A value in the form of aspects: its type, and the value; raises `Failure` 400."""
    text, number = input.get("stringValue"), input.get("numberValue")
    if (text is None) == (number is None):
        raise bad(f"`{argument}`: expected either a `stringValue` or a `numberValue`")
    return {"double": float(number)} if text is None and number is not None else {"string": text}


def output_value(value: object) -> Mapping[str, Any] | None:
    """A value of an aspect in the form of the schema; None for an invalid one."""
    plain = without_avro_type(value)
    if isinstance(plain, bool) or not isinstance(plain, str | int | float):
        return None
    return property_value(plain)


def _allowed_values(definition: Record, _info: Info) -> list[Mapping[str, Any]]:
    values = (
        (record, output_value(record.value.get("value")))
        for record in definition.records("allowedValues")
    )
    return [
        {"value": value, "description": allowed.text("description")}
        for allowed, value in values
        if value is not None
    ]


def _data_type(info: Record, _info: Info) -> str:
    return _STANDARD.get(datahub.key_parts(info.entity.name)[0], "OTHER")


def _entity_type(info: Record, context: Info) -> str:
    name = datahub.key_parts(info.entity.name)[0].removeprefix("datahub.")
    return type_word(Entity(name, ""), context)


RESOLVERS: Final[Resolvers] = {
    "StructuredPropertyDefinition": {"allowedValues": _allowed_values},
    "DataTypeInfo": {"type": _data_type},
    "EntityTypeInfo": {"type": _entity_type},
}
