"""Values of structured properties, put on assets and on columns, and taken from them.

A column is asked about by its dataset, with the right of its own.
SOURCE: datahub reference 1.2, 1.3; datahub-project/datahub:…/resolvers/structuredproperties.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import Ask
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.pages import shared
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.columns import COLUMN, dataset_of
from lakewarden.systems.datahub.http.graphql.platform.draft import Draft, write_all
from lakewarden.systems.datahub.http.graphql.platform.property_output import ASPECT, TYPE, tagged
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

VALUES: Final = "structuredProperties"
_NUMBER: Final = "urn:li:dataType:datahub.number"


def asks(asset: Entity) -> list[Ask]:
    """What a change of an asset's properties asks."""
    if asset.type == COLUMN and dataset_of(asset).type == "dataset":
        return [Ask("column.properties.edit", dataset_of(asset))]
    return [Ask("properties.edit", asset)]


def _upsert(_: object, info: Info, input: Mapping[str, Any]) -> Any:
    asset = calls.entity(input["assetUrn"])

    def task(draft: Draft) -> Entity:
        draft.check_there(dataset_of(asset))
        put(draft, asset, input["structuredPropertyInputParams"])
        return asset

    write_all(info.context, lambda _: asks(asset), task)
    return _shown(asset, info)


def put(draft: Draft, asset: Entity, inputs: Iterable[Mapping[str, Any]]) -> None:
    """Gives an asset these values of these properties in the place of those it has of them.

    Raises `Failure` where a property is unknown, immutable, or may not have the values.
    """
    value = draft.value(asset, VALUES)
    there = {one.get("propertyUrn"): one for one in shapes.objects(value.get("properties"))}
    stamp = draft.stamp()
    for input in inputs:
        property = calls.entity(input["structuredPropertyUrn"], TYPE)
        definition = draft.value(property, ASPECT)
        if not definition:
            draft.check_there(property)
        before = there.get(property.name)
        if before is not None and definition.get("immutable") is True:
            raise bad(f"`{property.name}` is immutable: its values cannot be changed")
        there[property.name] = {
            **(before or {"propertyUrn": property.name, "created": stamp}),
            "values": _checked(property, definition, asset, input["values"]),
            "lastModified": stamp,
        }
    draft.put(asset, VALUES, {**value, "properties": list(there.values())})


def _checked(
    property: Entity,
    definition: Mapping[str, Any],
    asset: Entity,
    inputs: Iterable[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """The values as aspects have them, if the property may have them on such an asset."""
    values = [tagged(one, "values") for one in inputs]
    wanted = "double" if definition.get("valueType") == _NUMBER else "string"
    if any(wanted not in value for value in values):
        word = "numberValue" if wanted == "double" else "stringValue"
        raise bad(f"`values`: `{property.name}` has values given by `{word}`")
    if definition.get("cardinality") != "MULTIPLE" and len(values) > 1:
        raise bad(f"`values`: `{property.name}` has one value")
    types = shapes.texts(definition.get("entityTypes"))
    if f"urn:li:entityType:datahub.{asset.type}" not in types:
        raise bad(f"`{property.name}` is not for entities of type `{asset.type}`")
    allowed = shapes.objects(definition.get("allowedValues"))
    if allowed and any(value not in [one.get("value") for one in allowed] for value in values):
        raise bad(f"`values`: not among those that `{property.name}` allows")
    return values


def _remove(_: object, info: Info, input: Mapping[str, Any]) -> Any:
    asset = calls.entity(input["assetUrn"])
    gone = {calls.entity(urn, TYPE).name for urn in input["structuredPropertyUrns"]}

    def task(draft: Draft) -> Entity:
        draft.check_there(dataset_of(asset))
        value = draft.value(asset, VALUES)
        kept = [
            one
            for one in shapes.objects(value.get("properties"))
            if one.get("propertyUrn") not in gone
        ]
        draft.put(asset, VALUES, {**value, "properties": kept})
        return asset

    write_all(info.context, lambda _: asks(asset), task)
    return _shown(asset, info)


def _shown(asset: Entity, info: Info) -> Any:
    found = shared.RESOLVERS["structuredProperties"](asset, info)
    return found or {"properties": []}


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "upsertStructuredProperties": _upsert,
        "removeStructuredProperties": _remove,
    },
}
