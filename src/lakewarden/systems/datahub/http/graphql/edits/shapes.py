"""Aspects for an edit, stored or new, and the members of their records.

SOURCE: schemas of acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects import empty_records as required
from lakewarden.systems.datahub.aspects.fields import without_avro_type
from lakewarden.systems.datahub.use_cases.aspects import Value
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_NAMED: Final = ("domainProperties", "tagProperties")
"""Aspects that require a name: by default the last part of the URN."""

NAMES: Final[Mapping[str, tuple[str, str]]] = {
    "businessAttribute": ("businessAttributeInfo", "name"),
    "corpGroup": ("corpGroupInfo", "displayName"),
    "dataProduct": ("dataProductProperties", "name"),
    "dataset": ("editableDatasetProperties", "name"),
    "domain": ("domainProperties", "name"),
    "glossaryNode": ("glossaryNodeInfo", "name"),
    "glossaryTerm": ("glossaryTermInfo", "name"),
}
"""The aspect and the member that hold the name of an entity, by its type."""

STAMPED: Final = (
    "editableChartProperties",
    "editableDashboardProperties",
    "editableDataFlowProperties",
    "editableDataJobProperties",
    "editableDatasetProperties",
    "editableERModelRelationshipProperties",
    "editableNotebookProperties",
    "editableSchemaMetadata",
)
"""Aspects that record their creator and their last writer."""


def editable_value(edit: Edit, entity: Entity, aspect: str) -> Value:
    """The aspect with its required members, to be changed and put."""
    value = {**required.initial_aspect(aspect, edit.stamp), **edit.value(entity, aspect)}
    if aspect in _NAMED:
        value.setdefault("name", datahub.key_parts(entity.name)[-1])
    if aspect in STAMPED:
        value = {"created": edit.stamp, **value, "lastModified": edit.stamp}
    if aspect == "glossaryTerms":
        value["auditStamp"] = edit.stamp
    return value


def members(holder: Mapping[str, Any], key: str) -> list[Any]:
    """A list within an aspect, of plain members; empty if there is none."""
    listed = without_avro_type(holder.get(key))
    return [without_avro_type(item) for item in listed] if isinstance(listed, list) else []


def reference_in(record: object, member: str) -> object:
    """The URN that a record of a list has in a member; None for an invalid record."""
    return without_avro_type(record.get(member)) if isinstance(record, dict) else None


def with_records(
    holder: Mapping[str, Any], key: str, member: str, records: Iterable[Value]
) -> list[Any]:
    """A list with records added; those whose entity is already in it stay unchanged."""
    old = members(holder, key)
    urns = {reference_in(record, member) for record in old}
    return [*old, *(record for record in records if record[member] not in urns)]


def select_records(
    holder: Mapping[str, Any], key: str, member: str, is_selected: Callable[[object], bool]
) -> list[Any]:
    """The records of a list whose URN is selected."""
    return [record for record in members(holder, key) if is_selected(reference_in(record, member))]


def column(schema: Value, path: str) -> Value:
    """The edits of a column, in `editableSchemaMetadata`, to be changed in place."""
    columns = schema["editableSchemaFieldInfo"] = members(schema, "editableSchemaFieldInfo")
    for column in columns:
        if isinstance(column, dict) and without_avro_type(column.get("fieldPath")) == path:
            return column
    added: Value = {"fieldPath": path}
    columns.append(added)
    return added
