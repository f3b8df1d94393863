"""Relationships of an entity relationship model: joins of two datasets.

SOURCE: datahub reference 1.3; datahub-project/datahub:…/types/ermodelrelationship.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import Requirement
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    AspectWrite,
    Kind,
    deletion,
    new_entity,
)
from lakewarden.systems.datahub.http.graphql.records import Input, members, provided_members
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value

_ASPECT: Final = "erModelRelationshipProperties"
_EDITABLE: Final = "editableERModelRelationshipProperties"
_TYPE: Final = "erModelRelationship"
_EDIT: Final = "er_model_relationship.create"
_ENDS: Final = ("source", "destination")


def _datasets(properties: Input) -> list[Entity]:
    return list(dict.fromkeys(calls.entity(properties[end], "dataset") for end in _ENDS))


def _new_entities(_: Call, input: Input) -> list[Entity]:
    """The new relationship, and the datasets that it joins."""
    if input.get("properties") is None:
        raise bad("expected `properties`: the datasets that are joined")
    return [new_entity(_TYPE, None), *_datasets(input["properties"])]


def _updated_entities(_: Call, input: Input) -> list[Entity]:
    properties = input.get("properties")
    new_ends = () if properties is None else _datasets(properties)
    return [calls.entity(input["urn"], _TYPE), *new_ends]


def _creation_requirements(
    _: AspectChanges, entities: Sequence[Entity], __: Input
) -> list[Requirement]:
    return [Requirement(_EDIT, dataset) for dataset in entities[1:]]


def _update_requirements(
    changes: AspectChanges, entities: Sequence[Entity], input: Input
) -> list[Requirement]:
    before, text = [], []
    if input.get("properties") is not None:
        before = _change_requirements(changes, entities[0], input)
    if input.get("editableProperties") is not None:
        text = [Requirement("docs.edit", entities[0])]
    return [*before, *_creation_requirements(changes, entities, input), *text]


def _change_requirements(
    changes: AspectChanges, relationship: Entity, _: Input
) -> list[Requirement]:
    """A change requires the privilege on both ends, or on itself if it has none."""
    value = changes.value(relationship, _ASPECT)
    ends = dict.fromkeys(shapes.entity(value.get(end), "dataset") for end in _ENDS)
    datasets = [end for end in ends if end is not None]
    return [Requirement(_EDIT, end) for end in datasets] or [
        Requirement("entity.update", relationship)
    ]


def _create(changes: AspectChanges, entities: Sequence[Entity], input: Input) -> None:
    relationship, *datasets = entities
    changes.check_exists(*datasets)
    value = {"customProperties": {}, "cardinality": "N_N", "created": changes.stamp}
    _put(changes, relationship, value, input)


def _update(changes: AspectChanges, entities: Sequence[Entity], input: Input) -> None:
    changes.check_exists(*entities)
    _put(changes, entities[0], changes.value(entities[0], _ASPECT), input)


def _put(changes: AspectChanges, relationship: Entity, value: Value, input: Input) -> None:
    properties, editable = input.get("properties"), input.get("editableProperties")
    stamp = changes.stamp
    if properties is not None:
        fields = [
            provided_members(members("sourceField", "destinationField"), relationshipFieldmapping)
            for relationshipFieldmapping in properties.get("relationshipFieldmappings") or ()
        ]
        members_of_input = provided_members(members("name", *_ENDS), properties)
        members_of_input |= {"relationshipFieldMappings": fields, "lastModified": stamp}
        changes.put(relationship, _ASPECT, {**value, **members_of_input})
    if editable is not None:
        before = changes.value(relationship, _EDITABLE) or {"created": stamp}
        members_of_input = {
            **provided_members(members("name", "description"), editable),
            "lastModified": stamp,
        }
        changes.put(relationship, _EDITABLE, {**before, **members_of_input})


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "createERModelRelationship": AspectWrite(
            _new_entities, _creation_requirements, _create, audited_as="relationship"
        ),
        "updateERModelRelationship": AspectWrite(_updated_entities, _update_requirements, _update),
        "deleteERModelRelationship": deletion(Kind(_TYPE, _ASPECT), _change_requirements),
    },
}
