"""Values of structured properties: set on and removed from assets and columns.

A column is checked through its dataset, with a separate privilege. SOURCE: datahub reference 1.2,
1.3; datahub-project/datahub:…/resolvers/structuredproperties.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.aspect_record import aspect
from lakewarden.systems.datahub.http.graphql.authorization import Requirement
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    AspectWrite,
    Change,
    Read,
    by_urn,
    mutation,
    urns,
)
from lakewarden.systems.datahub.http.graphql.platform.columns import COLUMN, dataset_of
from lakewarden.systems.datahub.http.graphql.platform.property_output import (
    ASPECT,
    TYPE,
    typed_value,
)
from lakewarden.systems.datahub.http.graphql.records import Input
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value

VALUES: Final = "structuredProperties"
_URNS: Final = "structuredPropertyUrns"
_NUMBER: Final = "urn:li:dataType:datahub.number"


def requirements(asset: Entity) -> list[Requirement]:
    """The requirements of a change of an asset's properties."""
    if asset.type == COLUMN and dataset_of(asset).type == "dataset":
        return [Requirement("column.properties.edit", dataset_of(asset))]
    return [Requirement("properties.edit", asset)]


def _upsert(changes: AspectChanges, asset: Entity, input: Input) -> None:
    changes.check_exists(dataset_of(asset))
    put(changes, asset, input["structuredPropertyInputParams"])


def put(changes: AspectChanges, asset: Entity, inputs: Iterable[Input]) -> None:
    """Sets these properties of an asset, replacing their stored values.

    Raises `Failure` if a property is unknown or immutable, or does not allow the values.
    """
    value = changes.value(asset, VALUES)
    assigned = {
        assignment.get("propertyUrn"): assignment
        for assignment in shapes.objects(value.get("properties"))
    }
    stamp = changes.stamp
    for input in inputs:
        property = calls.entity(input["structuredPropertyUrn"], TYPE)
        definition = changes.value(property, ASPECT)
        if not definition:
            changes.check_exists(property)
        before = assigned.get(property.name)
        if before is not None and definition.get("immutable") is True:
            raise bad(f"`{property.name}` is immutable: its values cannot be changed")
        assigned[property.name] = {
            **(before or {"propertyUrn": property.name, "created": stamp}),
            "values": _checked_values(property, definition, asset, input["values"]),
            "lastModified": stamp,
        }
    changes.put(asset, VALUES, {**value, "properties": list(assigned.values())})


def _checked_values(
    property: Entity,
    definition: Input,
    asset: Entity,
    inputs: Iterable[Input],
) -> list[Value]:
    """The values in the form of aspects, if they are allowed for the property and the asset."""
    values = [typed_value(item, "values") for item in inputs]
    value_type = "double" if definition.get("valueType") == _NUMBER else "string"
    if any(value_type not in value for value in values):
        member = "numberValue" if value_type == "double" else "stringValue"
        raise bad(f"`values`: `{property.name}` has values given by `{member}`")
    if definition.get("cardinality") != "MULTIPLE" and len(values) > 1:
        raise bad(f"`values`: `{property.name}` has one value")
    types = shapes.texts(definition.get("entityTypes"))
    if f"urn:li:entityType:datahub.{asset.type}" not in types:
        raise bad(f"`{property.name}` is not for entities of type `{asset.type}`")
    allowed = shapes.objects(definition.get("allowedValues"))
    if allowed and any(
        value not in [allowed_value.get("value") for allowed_value in allowed] for value in values
    ):
        raise bad(f"`values`: not among those that `{property.name}` allows")
    return values


def _remove(changes: AspectChanges, asset: Entity, input: Input) -> None:
    changes.check_exists(dataset_of(asset))
    assigned = shapes.objects(changes.value(asset, VALUES).get("properties"))
    staying = [
        assignment for assignment in assigned if assignment.get("propertyUrn") not in input[_URNS]
    ]
    changes.merge(asset, VALUES, properties=staying)


def _removed_properties(_: Call, argument: str, input: Input) -> list[str]:
    return urns(TYPE)(input[argument])


def _property_records(asset: Entity, info: Info) -> Any:
    record = aspect(info.context, asset, VALUES)
    return record if record.value else {"properties": []}


def _property_write(write: Change, reads: Mapping[str, Read] | None = None) -> AspectWrite:
    return mutation(
        by_urn(of="assetUrn"),
        lambda _, asset, __: requirements(asset),
        write,
        reads=reads,
        answer=_property_records,
    )


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "upsertStructuredProperties": _property_write(_upsert),
        "removeStructuredProperties": _property_write(_remove, {_URNS: _removed_properties}),
    },
}
