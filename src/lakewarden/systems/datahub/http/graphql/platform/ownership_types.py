"""Ownership types: the ways of owning something that there are.

SOURCE: datahub reference 1.1; datahub-project/datahub:…/resolvers/ownership.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.draft import Draft, given, named, write
from lakewarden.systems.datahub.http.graphql.platform.listing import listed_by_name, stored
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases import ownership_types

_ASPECT: Final = "ownershipTypeInfo"
_TYPE: Final = "ownershipType"
_MANAGE: Final = "ownership_type.manage"


def _create(_: object, info: Info, input: Mapping[str, Any]) -> Entity:
    type = named(_TYPE, None)

    def task(draft: Draft) -> Entity:
        stamp = draft.stamp()
        value = {
            "name": input["name"],
            "description": input["description"],
            "created": stamp,
            "lastModified": stamp,
        }
        draft.put(type, _ASPECT, value)
        return type

    return write(info.context, _MANAGE, NO_RESOURCE, task, {"ownershipType": type.name})


def _update(_: object, info: Info, urn: str, input: Mapping[str, Any]) -> Entity:
    type = calls.entity(urn, _TYPE)

    def task(draft: Draft) -> Entity:
        draft.check_there(type)
        changed = {**given(input, "name", "description"), "lastModified": draft.stamp()}
        draft.put(type, _ASPECT, {**draft.value(type, _ASPECT), **changed})
        return type

    return write(info.context, _MANAGE, NO_RESOURCE, task, {"ownershipType": type.name})


def _delete(
    _: object,
    info: Info,
    urn: str,
    deleteReferences: bool | None = None,  # noqa: N803 — the schema's name
) -> bool:
    type = calls.entity(urn, _TYPE)

    def task(draft: Draft) -> bool:
        draft.drop(type)
        if deleteReferences:
            ownership_types.forget(draft.transaction, draft.realm, type.name)
        return True

    return write(info.context, _MANAGE, NO_RESOURCE, task, {"ownershipType": type.name})


def _list(_: object, info: Info, input: Mapping[str, Any]) -> Mapping[str, Any]:
    call: Call = info.context
    return listed_by_name(call, stored(call, _TYPE), _ASPECT, input, "ownershipTypes")


def _info(type: Entity, info: Info) -> Mapping[str, Any] | None:
    value = info.context.aspect(type, _ASPECT)
    name = shapes.text(value.get("name"))
    if name is None:
        return None
    return {
        "name": name,
        "description": shapes.text(value.get("description")),
        "created": shapes.stamp(value.get("created")),
        "lastModified": shapes.stamp(value.get("lastModified")),
    }


RESOLVERS: Final[Resolvers] = {
    "Query": {"listOwnershipTypes": _list},
    "Mutation": {
        "createOwnershipType": _create,
        "updateOwnershipType": _update,
        "deleteOwnershipType": _delete,
    },
    "OwnershipTypeEntity": {"info": _info},
}
