"""Structured properties: what properties there are, of which types, for which entities.

SOURCE: datahub reference 1.1, 5.4; datahub-project/datahub:…/resolvers/structuredproperties.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import uuid4

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import property_output
from lakewarden.systems.datahub.http.graphql.platform.draft import Draft, given, write
from lakewarden.systems.datahub.http.graphql.platform.property_output import (
    ASPECT,
    FLAGS,
    SETTINGS,
    TYPE,
)
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_MANAGE: Final = "structured_property.manage"
_ALL: Final = Entity(TYPE, "")
"""The type: what the right to manage properties is asked about."""


def _create(_: object, info: Info, input: Mapping[str, Any]) -> Entity:
    name = input.get("qualifiedName") or input.get("id") or str(uuid4())
    if input.get("id") not in (None, name):
        raise bad("`id` and `qualifiedName` must be the same")
    property = calls.entity(f"urn:li:{TYPE}:{name}", TYPE)

    def task(draft: Draft) -> Entity:
        draft.check_new(property)
        stamp = draft.stamp()
        value = {
            "qualifiedName": name,
            "valueType": _urn(input["valueType"], "dataType", "valueType"),
            "entityTypes": _types(input["entityTypes"], "entityTypes"),
            "cardinality": input.get("cardinality") or "SINGLE",
            "immutable": input.get("immutable") is True,
            "created": stamp,
            "lastModified": stamp,
            **given(input, "displayName", "description"),
        }
        if input.get("allowedValues") is not None:
            value["allowedValues"] = [_allowed(one) for one in input["allowedValues"]]
        allowed = (input.get("typeQualifier") or {}).get("allowedTypes")
        if allowed is not None:
            value["typeQualifier"] = {"allowedTypes": _types(allowed, "typeQualifier")}
        draft.put(property, ASPECT, value)
        _put_settings(draft, property, input)
        return property

    return write(info.context, _MANAGE, _ALL, task, {"property": property.name})


def _update(_: object, info: Info, input: Mapping[str, Any]) -> Entity:
    """Adds to what there is: nothing that was allowed once is forbidden by it."""
    property = calls.entity(input["urn"], TYPE)

    def task(draft: Draft) -> Entity:
        draft.check_there(property)
        value = draft.value(property, ASPECT)
        value |= {
            **given(input, "displayName", "description", "immutable"),
            "lastModified": draft.stamp(),
        }
        if input.get("newAllowedValues"):
            added = [_allowed(one) for one in input["newAllowedValues"]]
            value["allowedValues"] = [*(value.get("allowedValues") or []), *added]
        if input.get("setCardinalityAsMultiple"):
            value["cardinality"] = "MULTIPLE"
        types = _types(input.get("newEntityTypes") or (), "newEntityTypes")
        value["entityTypes"] = _added(value.get("entityTypes"), types)
        allowed = (input.get("typeQualifier") or {}).get("newAllowedTypes")
        if allowed:
            qualifier = dict(value.get("typeQualifier") or {})
            new = _types(allowed, "typeQualifier")
            qualifier["allowedTypes"] = _added(qualifier.get("allowedTypes"), new)
            value["typeQualifier"] = qualifier
        draft.put(property, ASPECT, value)
        _put_settings(draft, property, input)
        return property

    return write(info.context, _MANAGE, _ALL, task, {"property": property.name})


def _added(before: object, new: Iterable[str]) -> list[str]:
    there = [one for one in before if isinstance(one, str)] if isinstance(before, list) else []
    return list(dict.fromkeys([*there, *new]))


def _put_settings(draft: Draft, property: Entity, input: Mapping[str, Any]) -> None:
    if input.get("settings") is None:
        return
    value = draft.value(property, SETTINGS)
    value |= {**given(input["settings"], *FLAGS), "lastModified": draft.stamp()}
    draft.put(property, SETTINGS, value)


def _allowed(input: Mapping[str, Any]) -> dict[str, Any]:
    return {"value": property_output.tagged(input, "allowedValues"), **given(input, "description")}


def _types(urns: Iterable[str], argument: str) -> list[str]:
    return [_urn(one, "entityType", argument) for one in urns]


def _urn(urn: str, type: str, argument: str) -> str:
    if calls.entity(urn).type != type:
        raise bad(f"`{argument}`: expected a URN of type `{type}`, got `{urn}`")
    return urn


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "createStructuredProperty": _create,
        "updateStructuredProperty": _update,
    },
    **property_output.RESOLVERS,
}
