"""Tags and terms of columns that are stored in aspects of their dataset.

They are relations of the columns, of separate kinds, because the original's policies use the
aspects of a column's own entity. A column has its plain name, since engines ask by that name. A
label on a part of a column also counts for the whole column, since engines ask for whole columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model
from lakewarden.kernel.relations import RelationRow
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.fields import without_avro_type

DATASET: Final = "dataset"
_COLUMN: Final = "schemaField"

ASPECTS: Final[Mapping[str, tuple[str, str, str]]] = {
    "schemaMetadata": ("fields", "schema_tag", "schema_term"),
    "editableSchemaMetadata": ("editableSchemaFieldInfo", "edited_tag", "edited_term"),
}
"""By aspect: its list of columns, and the kinds of relation for their tags and terms."""

_LABELS: Final = (("globalTags", "tags", "tag"), ("glossaryTerms", "terms", "urn"))
"""For tags and for terms: the member of a column, its list, and the name of the URN in the list."""

_OF_TYPES: Final = re.compile(r"\[[^\[\]]*\]")
"""The parts of a version 2 path that describe types."""


def column_labels(dataset: Entity, aspect: str, value: object, model: Model) -> set[RelationRow]:
    """The tags and terms of columns in an aspect of a dataset.

    Invalid URNs of tags and terms are left out, as are values that do not have the aspect's form.
    """
    if dataset.type != DATASET or aspect not in ASPECTS:
        return set()
    listed, tag, term = ASPECTS[aspect]
    labels = set[RelationRow]()
    for field in _objects(value, listed):
        path = without_avro_type(field.get("fieldPath"))
        kinds = zip((tag, term), _LABELS, strict=True)
        named = [(kind, urn) for kind, label in kinds for urn in _urns(field, *label)]
        targets = [(kind, _target(urn, model.relations[kind].targets)) for kind, urn in named]
        if targets and isinstance(path, str):  # most have none: their names are not parsed
            for column in _columns(dataset, path):
                labels |= {RelationRow(kind, column, to) for kind, to in targets if to is not None}
    return labels


def stored_labels(dataset: Entity, aspect: str, snapshot: Snapshot) -> set[RelationRow]:
    """The stored tags and terms of columns that come from an aspect of the dataset."""
    coded = snapshot.coded
    id = coded.tree.find(dataset)
    if dataset.type != DATASET or aspect not in ASPECTS or id is None:
        return set()
    return {
        RelationRow(kind, coded.tree.entity(column), coded.tree.entity(target))
        for column in coded.tree.subtree(id) & coded.tree.stored
        for kind in ASPECTS[aspect][1:]
        for target, _ in coded.relations[kind].of(column)
    }


def labelled_parts(aspect: str, value: object) -> dict[str, object]:
    """The part of the aspect's value that `column_labels` and `field_types` read."""
    listed = ASPECTS[aspect][0]
    read = ("fieldPath", "globalTags", "glossaryTerms", "nativeDataType")
    parts = ({key: one[key] for key in read if key in one} for one in _objects(value, listed))
    return {listed: [one for one in parts if len(one) > 1]}


def without_label(aspect: str, value: Mapping[str, Any], urn: str) -> dict[str, Any]:
    """The aspect's value without a tag or a term on any of its columns."""
    listed = ASPECTS[aspect][0]

    def of_columns(columns: object) -> object:
        if not isinstance(columns, list):
            return columns
        return [_within(column, of_column) for column in columns]

    def of_column(column: object) -> object:
        if not isinstance(column, Mapping):
            return column
        stripped = dict(column)
        for key, members, member in _LABELS:
            if key in stripped:
                stripped[key] = _within(
                    stripped[key], partial(_without_member, members, member, urn)
                )
        return stripped

    return {key: _within(of, of_columns) if key == listed else of for key, of in value.items()}


def _without_member(key: str, member: str, urn: str, labels: object) -> object:
    if not isinstance(labels, Mapping):
        return labels

    def remaining(listed: object) -> object:
        if not isinstance(listed, list):
            return listed
        return [one for one in listed if not _names(without_avro_type(one), member, urn)]

    return {**labels, key: _within(labels.get(key), remaining)}


def _names(label: object, member: str, urn: str) -> bool:
    return isinstance(label, Mapping) and without_avro_type(label.get(member)) == urn


def _within(value: object, change: Callable[[object], object]) -> object:
    """The changed value, inside the object with the name of its Avro type if there is one."""
    inner = without_avro_type(value)
    if inner is value or not isinstance(value, Mapping):
        return change(value)
    (name,) = value
    return {name: change(inner)}


def field_paths(aspect: str, value: object) -> Iterator[str]:
    """The paths of the columns in the aspect's value, unchanged."""
    for field in _objects(value, ASPECTS[aspect][0]):
        path = without_avro_type(field.get("fieldPath"))
        if isinstance(path, str):
            yield path


def plain_path(path: str) -> str:
    """The path without the types of version 2.

    >>> plain_path("[version=2.0].[type=struct].[type=string].address.[type=string].city")
    'address.city'
    """
    return ".".join(step for step in _OF_TYPES.sub("", path).split(".") if step)


def _columns(dataset: Entity, path: str) -> Iterator[Entity]:
    plain = plain_path(path)
    whole = plain.partition(".")[0]
    for name in dict.fromkeys((plain, whole, plain.lower(), whole.lower())):
        try:
            yield datahub.parse(_COLUMN, f"urn:li:schemaField:({dataset.name},{name})")
        except BadInput:
            continue


def _urns(field: Mapping[object, object], key: str, listed: str, member: str) -> Iterator[str]:
    for one in _objects(without_avro_type(field.get(key)), listed):
        urn = without_avro_type(one.get(member))
        if isinstance(urn, str):
            yield urn


def _objects(value: object, key: str) -> Iterator[Mapping[object, object]]:
    """The objects of a list that an object has under `key`."""
    listed = without_avro_type(value.get(key)) if isinstance(value, Mapping) else None
    for one in listed if isinstance(listed, list) else ():
        item = without_avro_type(one)
        if isinstance(item, Mapping):
            yield item


def _target(urn: str, types: frozenset[str]) -> Entity | None:
    try:
        type = datahub.urn_type(urn)
    except BadInput:
        return None
    return Entity(type, urn) if type in types else None
