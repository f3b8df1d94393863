"""Descriptions of entities and columns, and names of entities, in their aspects.

SOURCE: UpdateDescriptionResolver, DescriptionUtils, UpdateNameResolver.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import hierarchy, page_edit, shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.targets import EditTarget
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.records import Input
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.page_edits import Edit

KEPT: Final[Mapping[str, tuple[str, str]]] = {
    "application": ("applicationProperties", "description"),
    "businessAttribute": ("businessAttributeInfo", "description"),
    "chart": ("editableChartProperties", "description"),
    "container": ("editableContainerProperties", "description"),
    "corpGroup": ("corpGroupEditableInfo", "description"),
    "dashboard": ("editableDashboardProperties", "description"),
    "dataFlow": ("editableDataFlowProperties", "description"),
    "dataJob": ("editableDataJobProperties", "description"),
    "dataProduct": ("dataProductProperties", "description"),
    "dataset": ("editableDatasetProperties", "description"),
    "domain": ("domainProperties", "description"),
    "erModelRelationship": ("editableERModelRelationshipProperties", "description"),
    "glossaryNode": ("glossaryNodeInfo", "definition"),
    "glossaryTerm": ("glossaryTermInfo", "definition"),
    "mlFeature": ("editableMlFeatureProperties", "description"),
    "mlFeatureTable": ("editableMlFeatureTableProperties", "description"),
    "mlModel": ("editableMlModelProperties", "description"),
    "mlModelGroup": ("editableMlModelGroupProperties", "description"),
    "mlPrimaryKey": ("editableMlPrimaryKeyProperties", "description"),
    "notebook": ("editableNotebookProperties", "description"),
    "tag": ("tagProperties", "description"),
}
"""The aspect and the member that hold the description of an entity, by its type."""


def put(edit: Edit, entity: Entity, text: str) -> None:
    """Sets the description of an entity."""
    aspect, member = KEPT[entity.type]
    edit.put(entity, aspect, {**shapes.editable_value(edit, entity, aspect), member: text})


def put_column(edit: Edit, dataset: Entity, path: str, text: str) -> None:
    """Sets the description of a column."""
    schema = shapes.editable_value(edit, dataset, "editableSchemaMetadata")
    shapes.column(schema, path)["description"] = text
    edit.put(dataset, "editableSchemaMetadata", schema)


def _places(_: Call, input: Input) -> Sequence[EditTarget]:
    place = targets.place(input)
    if place.entity.type not in KEPT:
        raise bad(f"`resourceUrn`: a `{place.entity.type}` has no description to be edited")
    return [place]


def _ask(edit: Edit, place: EditTarget, _: Input) -> None:
    edit.ask("column.docs.edit" if place.column else "docs.edit", place.entity)


def _write(edit: Edit, place: EditTarget, input: Input) -> None:
    if place.column:
        put_column(edit, place.entity, place.column, input["description"])
    else:
        put(edit, place.entity, input["description"])


def put_name(edit: Edit, entity: Entity, name: str) -> None:
    """Sets the name of an entity."""
    aspect, member = shapes.NAMES[entity.type]
    edit.put(entity, aspect, {**shapes.editable_value(edit, entity, aspect), member: name})


def _named_entity(_: Call, input: Input) -> list[Entity]:
    entity = targets.parse_entity("urn", input["urn"])
    if entity.type not in shapes.NAMES:
        raise bad(f"`urn`: the name of a `{entity.type}` cannot be changed")
    return [entity]


def _rename(edit: Edit, entity: Entity, input: Input) -> None:
    if entity.type in hierarchy.LEVELS:
        hierarchy.check_name(edit, entity, hierarchy.parent_of(edit, entity), input["name"])
    put_name(edit, entity, input["name"])


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "updateDescription": page_edit.PageEdit(_places, _ask, _write),
        "updateName": page_edit.change(
            _named_entity, "entity.rename", _rename, reads={"name": page_edit.name}
        ),
    }
}
