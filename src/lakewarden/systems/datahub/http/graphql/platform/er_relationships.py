"""Relationships of an entity relationship model: joins of two datasets.

SOURCE: datahub reference 1.3; datahub-project/datahub:…/types/ermodelrelationship.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import Ask
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.pages.part import (
    Part,
    actor_of,
    aspect,
    time_of,
    typed,
)
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.deletion import deleting
from lakewarden.systems.datahub.http.graphql.platform.draft import Draft, given, named, write_all
from lakewarden.systems.datahub.http.graphql.platform.listing import shown
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_ASPECT: Final = "erModelRelationshipProperties"
_EDITABLE: Final = "editableERModelRelationshipProperties"
_TYPE: Final = "erModelRelationship"
_EDIT: Final = "er_model_relationship.create"
_ENDS: Final = ("source", "destination")


def _create(_: object, info: Info, input: Mapping[str, Any]) -> Entity:
    relationship = named(_TYPE, None)
    properties = input.get("properties")
    if properties is None:
        raise bad("expected `properties`: the datasets that are joined")
    ends = _named_ends(properties)

    def task(draft: Draft) -> Entity:
        draft.check_there(*ends)
        value = {"customProperties": {}, "cardinality": "N_N", "created": draft.stamp()}
        _put(draft, relationship, value, input)
        return relationship

    told = {"relationship": relationship.name}
    return write_all(info.context, lambda _: [Ask(_EDIT, end) for end in ends], task, told)


def _update(_: object, info: Info, urn: str, input: Mapping[str, Any]) -> bool:
    relationship = calls.entity(urn, _TYPE)
    properties, editable = input.get("properties"), input.get("editableProperties")
    new = [] if properties is None else _named_ends(properties)

    def asks(draft: Draft) -> list[Ask]:
        of_ends = [] if properties is None else _asked(draft, relationship)
        of_text = [] if editable is None else [Ask("docs.edit", relationship)]
        return [*of_ends, *(Ask(_EDIT, end) for end in new), *of_text]

    def task(draft: Draft) -> bool:
        draft.check_there(relationship, *new)
        _put(draft, relationship, draft.value(relationship, _ASPECT), input)
        return True

    return write_all(info.context, asks, task)


def _named_ends(properties: Mapping[str, Any]) -> list[Entity]:
    return list(dict.fromkeys(calls.entity(properties[end], "dataset") for end in _ENDS))


def _asked(draft: Draft, relationship: Entity) -> list[Ask]:
    """What a change asks: about both ends, or about itself where it does not say them."""
    value = draft.value(relationship, _ASPECT)
    found = [shapes.entity(value.get(end), "dataset") for end in _ENDS]
    ends = [end for end in dict.fromkeys(found) if end is not None]
    return [Ask(_EDIT, end) for end in ends] or [Ask("entity.update", relationship)]


def _put(
    draft: Draft, relationship: Entity, value: dict[str, Any], input: Mapping[str, Any]
) -> None:
    properties, editable = input.get("properties"), input.get("editableProperties")
    stamp = draft.stamp()
    if properties is not None:
        fields = [
            given(one, "sourceField", "destinationField")
            for one in properties.get("relationshipFieldmappings") or ()
        ]
        told = {**given(properties, "name", *_ENDS), "relationshipFieldMappings": fields}
        draft.put(relationship, _ASPECT, {**value, **told, "lastModified": stamp})
    if editable is not None:
        before = draft.value(relationship, _EDITABLE) or {"created": stamp}
        told = {**given(editable, "name", "description"), "lastModified": stamp}
        draft.put(relationship, _EDITABLE, {**before, **told})


def _end(key: str) -> Callable[..., Any]:
    def resolve(of: Part, info: Info) -> Entity | None:
        return shown(info.context, shapes.entity(of.get(key), "dataset"))

    return resolve


def _creator(of: Part, info: Info) -> Entity | None:
    return shown(info.context, shapes.entity(actor_of("created")(of, info)))


def _id(relationship: Entity, _info: Info) -> str:
    return relationship.name.rpartition(":")[2]


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "createERModelRelationship": _create,
        "updateERModelRelationship": _update,
        "deleteERModelRelationship": deleting(_TYPE, _asked),
    },
    "ERModelRelationship": {
        "id": _id,
        "properties": aspect(_ASPECT),
        "editableProperties": aspect(_EDITABLE),
    },
    "ERModelRelationshipProperties": {
        **{end: _end(end) for end in _ENDS},
        "cardinality": typed(otherwise="N_N"),
        "createdTime": time_of("created"),
        "createdActor": _creator,
    },
}
