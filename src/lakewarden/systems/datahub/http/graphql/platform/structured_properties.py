"""Structured properties: their definitions, with value types and entity types.

SOURCE: datahub reference 1.1, 5.4; datahub-project/datahub:…/resolvers/structuredproperties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import property_output
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    Kind,
    change,
    creation,
    deletion,
)
from lakewarden.systems.datahub.http.graphql.platform.property_output import (
    ASPECT,
    FLAGS,
    SETTINGS,
    TYPE,
)
from lakewarden.systems.datahub.http.graphql.records import Input, Member, members, provided_members
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value

_MANAGE: Final = "structured_property.manage"


def _id(input: Input) -> str | None:
    """The last part of the URN, which is also the qualified name; raises `Failure` 400."""
    id: str | None = input.get("qualifiedName") or input.get("id")
    if input.get("id") not in (None, id):
        raise bad("`id` and `qualifiedName` must be the same")
    return id


def _name(_: AspectChanges, property: Entity, value: Value, __: Input) -> None:
    value["qualifiedName"] = property.name.removeprefix(f"urn:li:{TYPE}:")


def _add(_: AspectChanges, __: Entity, value: Value, input: Input) -> None:
    """Extends a definition: values that were allowed before stay allowed."""
    if input.get("newAllowedValues"):
        added = _allowed_values(input["newAllowedValues"])
        value["allowedValues"] = [*(value.get("allowedValues") or []), *added]
    if input.get("setCardinalityAsMultiple"):
        value["cardinality"] = "MULTIPLE"
    types = _urns("entityType", "newEntityTypes")(input.get("newEntityTypes") or ())
    value["entityTypes"] = _merge_allowed_values(value.get("entityTypes"), types)
    allowed = (input.get("typeQualifier") or {}).get("newAllowedTypes")
    if allowed:
        qualifier = dict(value.get("typeQualifier") or {})
        new = _urns("entityType", "typeQualifier")(allowed)
        qualifier["allowedTypes"] = _merge_allowed_values(qualifier.get("allowedTypes"), new)
        value["typeQualifier"] = qualifier


def _merge_allowed_values(before: object, new: Iterable[str]) -> list[str]:
    old = [value for value in before if isinstance(value, str)] if isinstance(before, list) else []
    return list(dict.fromkeys([*old, *new]))


def _put_settings(changes: AspectChanges, property: Entity, input: Input) -> None:
    if input.get("settings") is not None:
        settings = provided_members(members(*FLAGS), input["settings"])
        changes.merge(property, SETTINGS, **settings, lastModified=changes.stamp)


def _allowed_values(inputs: Iterable[Input]) -> list[Value]:
    return [
        {
            "value": property_output.typed_value(allowed, "allowedValues"),
            **provided_members(members("description"), allowed),
        }
        for allowed in inputs
    ]


def _urn(type: str, argument: str) -> Callable[[str], str]:
    def read(urn: str) -> str:
        if calls.entity(urn).type != type:
            raise bad(f"`{argument}`: expected a URN of type `{type}`, got `{urn}`")
        return urn

    return read


def _urns(type: str, argument: str) -> Callable[[Iterable[str]], list[str]]:
    read = _urn(type, argument)
    return lambda urns: [read(urn) for urn in urns]


_KIND: Final = Kind(
    TYPE,
    ASPECT,
    (
        *members("displayName", "description"),
        Member("immutable", default=False),
        Member("valueType", read=_urn("dataType", "valueType")),
        Member("entityTypes", read=_urns("entityType", "entityTypes")),
        Member("cardinality", default="SINGLE"),
        Member("allowedValues", read=_allowed_values),
        Member(
            "typeQualifier",
            of="typeQualifier.allowedTypes",
            read=lambda urns: {"allowedTypes": _urns("entityType", "typeQualifier")(urns)},
        ),
    ),
    stamps=("created", "lastModified"),
    audited_as="property",
    about=Entity(TYPE, ""),
)
"""The privilege to manage properties is checked for their type."""

RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "createStructuredProperty": creation(_KIND, _MANAGE, _name, id=_id, then=_put_settings),
        "updateStructuredProperty": change(_KIND, _MANAGE, _add, then=_put_settings),
        "deleteStructuredProperty": deletion(_KIND, _MANAGE),
    },
    **property_output.RESOLVERS,
}
