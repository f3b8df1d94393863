"""Descriptions of entities and columns, each kept where DataHub keeps it.

SOURCE: UpdateDescriptionResolver, DescriptionUtils.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.edits import shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.targets import Input
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
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
"""The aspect and the field that hold the description of an entity, by its type."""


def put(edit: Edit, entity: Entity, text: str) -> None:
    """Describes an entity."""
    aspect, field = KEPT[entity.type]
    edit.put(entity, aspect, {**shapes.begun(edit, entity, aspect), field: text})


def put_column(edit: Edit, dataset: Entity, path: str, text: str) -> None:
    """Describes a column."""
    schema = shapes.begun(edit, dataset, "editableSchemaMetadata")
    shapes.column(schema, path)["description"] = text
    edit.put(dataset, "editableSchemaMetadata", schema)


def _update(_: object, info: Info, input: Input) -> bool:
    place = targets.place(input)
    if place.entity.type not in KEPT:
        raise bad(f"`resourceUrn`: a `{place.entity.type}` has no description to be edited")

    def task(edit: Edit) -> bool:
        edit.ask("column.docs.edit" if place.column else "docs.edit", place.entity)
        targets.check_places(edit, [place])
        if place.column:
            put_column(edit, place.entity, place.column, input["description"])
        else:
            put(edit, place.entity, input["description"])
        return True

    return authorization.edit(info.context, task)


RESOLVERS: Final[Resolvers] = {"Mutation": {"updateDescription": _update}}
