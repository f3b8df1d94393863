"""Descriptions of entities and columns, each in the aspect where DataHub has it.

SOURCE: UpdateDescriptionResolver, DescriptionUtils.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import page_edit, shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.page_edit import PageEdit
from lakewarden.systems.datahub.http.graphql.edits.targets import Input, Place
from lakewarden.systems.datahub.http.graphql.errors import bad
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
    """Describes an entity."""
    aspect, member = KEPT[entity.type]
    edit.put(entity, aspect, {**shapes.begun(edit, entity, aspect), member: text})


def put_column(edit: Edit, dataset: Entity, path: str, text: str) -> None:
    """Describes a column."""
    schema = shapes.begun(edit, dataset, "editableSchemaMetadata")
    shapes.column(schema, path)["description"] = text
    edit.put(dataset, "editableSchemaMetadata", schema)


def _places(_: Call, input: Input) -> Sequence[Place]:
    place = targets.place(input)
    if place.entity.type not in KEPT:
        raise bad(f"`resourceUrn`: a `{place.entity.type}` has no description to be edited")
    return [place]


def _ask(edit: Edit, place: Place, _: Input) -> None:
    edit.ask("column.docs.edit" if place.column else "docs.edit", place.entity)


def _write(edit: Edit, place: Place, input: Input) -> None:
    if place.column:
        put_column(edit, place.entity, place.column, input["description"])
    else:
        put(edit, place.entity, input["description"])


RESOLVERS: Final[Resolvers] = page_edit.resolvers(
    {"updateDescription": PageEdit(_places, _ask, _write)}
)
