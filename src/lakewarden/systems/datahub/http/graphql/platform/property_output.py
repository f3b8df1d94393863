"""Structured properties as the schema shows them, and the values that they may have.

SOURCE: PDL records of structured properties, acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.aspects.fields import untagged
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.kinds import word_of
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.listing import shown_stamp
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
"""The data types that everybody knows, by the end of their URNs."""


def tagged(input: Mapping[str, Any], argument: str) -> dict[str, Any]:
    """A value as aspects have it: its kind, and what it is; raises `Failure` 400."""
    text, number = input.get("stringValue"), input.get("numberValue")
    if (text is None) == (number is None):
        raise bad(f"`{argument}`: expected either a `stringValue` or a `numberValue`")
    return {"double": float(number)} if text is None and number is not None else {"string": text}


def shown_value(value: object) -> Mapping[str, Any] | None:
    """A value of an aspect, as the schema has it; None for what is none."""
    found = untagged(value)
    if isinstance(found, str):
        return {"__typename": "StringValue", "stringValue": found}
    if isinstance(found, int | float) and not isinstance(found, bool):
        return {"__typename": "NumberValue", "numberValue": float(found)}
    return None


def _definition(property: Entity, info: Info) -> Mapping[str, Any]:
    value = info.context.aspect(property, ASPECT)
    kind = shapes.entity(value.get("valueType"), "dataType")
    allowed = shapes.mapping(value.get("typeQualifier")).get("allowedTypes")
    return {
        "qualifiedName": shapes.text(value.get("qualifiedName")) or _id(property),
        "displayName": shapes.text(value.get("displayName")),
        "description": shapes.text(value.get("description")),
        "cardinality": shapes.word(value.get("cardinality"), ("SINGLE", "MULTIPLE")),
        "allowedValues": [one for one in map(_shown_allowed, _allowed(value)) if one is not None],
        "valueType": kind or Entity("dataType", "urn:li:dataType:datahub.string"),
        "typeQualifier": {"allowedTypes": shapes.entities(allowed, "entityType")},
        "entityTypes": shapes.entities(value.get("entityTypes"), "entityType"),
        "allowedPlatforms": _platforms(info, value),
        "immutable": value.get("immutable") is True,
        "created": shown_stamp(info.context, value.get("created")),
        "lastModified": shown_stamp(info.context, value.get("lastModified")),
    }


def _platforms(info: Info, value: Mapping[str, object]) -> list[Entity] | None:
    """The platforms that the caller is shown; None: all are allowed."""
    found = shapes.entities(value.get("allowedPlatforms"), "dataPlatform")
    return authorization.visible(info.context, found) if found else None


def _allowed(value: Mapping[str, object]) -> list[Mapping[str, Any]]:
    return shapes.objects(value.get("allowedValues"))


def _shown_allowed(allowed: Mapping[str, Any]) -> Mapping[str, Any] | None:
    value = shown_value(allowed.get("value"))
    if value is None:
        return None
    return {"value": value, "description": shapes.text(allowed.get("description"))}


def _settings(property: Entity, info: Info) -> Mapping[str, Any] | None:
    value = info.context.aspect(property, SETTINGS)
    return {name: value.get(name) is True for name in FLAGS} if value else None


def _id(entity: Entity) -> str:
    return entity.name.rpartition(":")[2]


def _data_type(type: Entity, info: Info) -> Mapping[str, Any]:
    value = info.context.aspect(type, "dataTypeInfo")
    return {**_named(type, value), "type": _STANDARD.get(_id(type), "OTHER")}


def _entity_type(type: Entity, info: Info) -> Mapping[str, Any]:
    value = info.context.aspect(type, "entityTypeInfo")
    name = _id(type).removeprefix("datahub.")
    return {**_named(type, value), "type": word_of(Entity(name, ""), info)}


def _named(type: Entity, value: Mapping[str, object]) -> dict[str, Any]:
    return {
        "qualifiedName": shapes.text(value.get("qualifiedName")) or _id(type),
        "displayName": shapes.text(value.get("displayName")),
        "description": shapes.text(value.get("description")),
    }


RESOLVERS: Final[Resolvers] = {
    "StructuredPropertyEntity": {"definition": _definition, "settings": _settings},
    "DataTypeEntity": {"info": _data_type},
    "EntityTypeEntity": {"info": _entity_type},
}
