"""Tags and glossary terms: attached to entities and their columns, and removed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.aspects.fields import without_avro_type
from lakewarden.systems.datahub.http.graphql.edits import page_edit, shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.targets import EditTarget
from lakewarden.systems.datahub.http.graphql.records import Input
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value
from lakewarden.systems.datahub.use_cases.page_edits import Edit


class Label(NamedTuple):
    """A kind of label: its list in an aspect, and the operations to change it."""

    type: str
    aspect: str
    list: str
    member: str
    operation: str
    column_operation: str


TAG: Final = Label("tag", "globalTags", "tags", "tag", "tags.edit", "column.tags.edit")
TERM: Final = Label(
    "glossaryTerm", "glossaryTerms", "terms", "urn", "terms.edit", "column.terms.edit"
)

Change = Callable[[Label, Value, Sequence[Entity]], None]
"""Changes the labels in the record that holds them: an aspect, or a member of one."""


def add(label: Label, holder: Value, labels: Sequence[Entity]) -> None:
    """Attaches labels; existing ones stay unchanged."""
    records = [{label.member: entity.name} for entity in labels]
    holder[label.list] = shapes.with_records(holder, label.list, label.member, records)


def remove(label: Label, holder: Value, labels: Sequence[Entity]) -> None:
    """Removes labels; the others stay."""
    urns = {entity.name for entity in labels}
    holder[label.list] = shapes.select_records(
        holder, label.list, label.member, lambda urn: urn not in urns
    )


def replace(label: Label, holder: Value, labels: Sequence[Entity]) -> None:
    """Replaces the labels; those that existed before stay unchanged."""
    urns = {entity.name for entity in labels}
    holder[label.list] = shapes.select_records(holder, label.list, label.member, urns.__contains__)
    add(label, holder, labels)


def put(
    edit: Edit, label: Label, place: EditTarget, change: Change, labels: Sequence[Entity]
) -> None:
    """Changes the labels of an entity or a column."""
    if not place.column:
        value = shapes.editable_value(edit, place.entity, label.aspect)
        change(label, value, labels)
        edit.put(place.entity, label.aspect, value)
        return
    schema = shapes.editable_value(edit, place.entity, "editableSchemaMetadata")
    column = shapes.column(schema, place.column)
    holder = without_avro_type(column.get(label.aspect))
    value = dict(holder) if isinstance(holder, dict) else {}
    if label is TERM:
        value["auditStamp"] = edit.stamp
    change(label, value, labels)
    column[label.aspect] = value
    edit.put(place.entity, "editableSchemaMetadata", schema)


def ask(edit: Edit, label: Label, place: EditTarget) -> None:
    """Checks the operation; added and removed tags are checked when the edit finishes."""
    edit.ask(label.column_operation if place.column else label.operation, place.entity)


def _label_edit(label: Label, change: Change, argument: str) -> page_edit.PageEdit:
    def ask_each(edit: Edit, place: EditTarget, input: Input) -> None:
        ask(edit, label, place)
        if label is TAG:
            # Also for a tag that does not change: nothing else would be checked.
            operation = label.column_operation if place.column else label.operation
            edit.ask(operation, place.entity, subresources=tuple(input[argument]))

    return page_edit.PageEdit(
        targets.places,
        ask_each,
        lambda edit, place, input: put(edit, label, place, change, input[argument]),
        {argument: page_edit.references(label.type)},
        page_edit.exists(argument) if change is add else None,
    )


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "addTag": _label_edit(TAG, add, "tagUrn"),
        "addTags": _label_edit(TAG, add, "tagUrns"),
        "batchAddTags": _label_edit(TAG, add, "tagUrns"),
        "removeTag": _label_edit(TAG, remove, "tagUrn"),
        "batchRemoveTags": _label_edit(TAG, remove, "tagUrns"),
        "addTerm": _label_edit(TERM, add, "termUrn"),
        "addTerms": _label_edit(TERM, add, "termUrns"),
        "batchAddTerms": _label_edit(TERM, add, "termUrns"),
        "removeTerm": _label_edit(TERM, remove, "termUrn"),
        "batchRemoveTerms": _label_edit(TERM, remove, "termUrns"),
    }
}
