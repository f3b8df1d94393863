"""Queries: every subject is checked, both stored and new ones.

SOURCE: datahub reference 5.1; CreateQueryResolver, UpdateQueryResolver, DeleteQueryResolver.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import page_edit, shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.targets import EditTarget
from lakewarden.systems.datahub.http.graphql.records import Input, Member, provided_members
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_TYPE: Final = "query"
_PROPERTIES: Final = "queryProperties"
_ASPECT: Final = "querySubjects"
_SUBJECTS: Final = "subjects"


def _subjects(call: Call, argument: str, input: Input) -> list[Entity]:
    urns = targets.check_count(
        call, argument, [subject["datasetUrn"] for subject in input[argument]]
    )
    return targets.parse_entities(argument, urns, "dataset", "schemaField")


def _put_subjects(edit: Edit, query: Entity, subjects: Iterable[Entity]) -> None:
    """Puts the subjects; those that remain stay unchanged."""
    value = edit.value(query, _ASPECT)
    before = {
        shapes.reference_in(member, "entity"): member for member in shapes.members(value, _SUBJECTS)
    }
    after = [before.get(subject.name, {"entity": subject.name}) for subject in subjects]
    edit.put(query, _ASPECT, {**value, _SUBJECTS: after})


_RECORD: Final = (
    Member("name", of="properties.name"),
    Member("description", of="properties.description"),
    Member(
        "statement",
        of="properties.statement",
        read=lambda input: {key: input[key] for key in ("value", "language")},
    ),
)


def _ask_create(edit: Edit, query: Entity, input: Input) -> None:
    edit.ask("query.create", query, lists={"subjects": tuple(input[_SUBJECTS])})


def _ask_update(edit: Edit, query: Entity, input: Input) -> None:
    edit.ask("query.update", query)
    if input.get(_SUBJECTS) is not None:
        _ask_create(edit, query, input)


def _put(edit: Edit, query: Entity, input: Input) -> None:
    if input.get(_SUBJECTS) is not None:
        _put_subjects(edit, query, input[_SUBJECTS])
    begun = {"source": "MANUAL", "created": edit.stamp, **edit.value(query, _PROPERTIES)}
    value = {**begun, **provided_members(_RECORD, input), "lastModified": edit.stamp}
    edit.put(query, _PROPERTIES, value)


_READS: Final = {_SUBJECTS: _subjects}

RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "createQuery": page_edit.PageEdit(
            lambda *_: [EditTarget(targets.new_entity(_TYPE, None))],
            lambda edit, place, input: _ask_create(edit, place.entity, input),
            lambda edit, place, input: _put(edit, place.entity, input),
            _READS,
            check=page_edit.exists(_SUBJECTS),
            creates=True,
        ),
        "updateQuery": page_edit.change(
            page_edit.by_urn(_TYPE),
            _ask_update,
            _put,
            reads=_READS,
            check=page_edit.exists(_SUBJECTS),
        ),
        "deleteQuery": page_edit.deletion(page_edit.by_urn(_TYPE), "query.delete"),
    }
}
