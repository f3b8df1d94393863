"""Queries: every subject is asked about, those that are there and those that come.

SOURCE: datahub reference 5.1; CreateQueryResolver, UpdateQueryResolver, DeleteQueryResolver.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.aspects.fields import untagged
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import page_edit, shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.page_edit import (
    PageEdit,
    by_urn,
    change,
    deletion,
    exists,
)
from lakewarden.systems.datahub.http.graphql.edits.targets import Input, Place
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_TYPE: Final = "query"
_PROPERTIES: Final = "queryProperties"
_ASPECT: Final = "querySubjects"
_SUBJECTS: Final = "subjects"


def _subjects(call: Call, argument: str, input: Input) -> list[Entity]:
    urns = targets.bounded(call, argument, [subject["datasetUrn"] for subject in input[argument]])
    return targets.all_parsed(argument, urns, "dataset", "schemaField")


def _put_subjects(edit: Edit, query: Entity, subjects: Iterable[Entity]) -> None:
    """A subject that stays, stays as it is."""
    value = edit.value(query, _ASPECT)
    before = {
        untagged(subject.get("entity")): subject
        for subject in shapes.members(value, _SUBJECTS)
        if isinstance(subject, dict)
    }
    after = [before.get(one.name, {"entity": one.name}) for one in subjects]
    edit.put(query, _ASPECT, {**value, _SUBJECTS: after})


def _properties(input: Input) -> Value:
    given = input.get("properties") or {}
    value = {key: given[key] for key in ("name", "description") if given.get(key) is not None}
    statement = given.get("statement")
    if statement is not None:
        value["statement"] = {key: statement[key] for key in ("value", "language")}
    return value


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
    value = {**begun, **_properties(input), "lastModified": edit.stamp}
    edit.put(query, _PROPERTIES, value)


_READS: Final = {_SUBJECTS: _subjects}

RESOLVERS: Final[Resolvers] = page_edit.resolvers(
    {
        "createQuery": PageEdit(
            lambda *_: [Place(targets.new(_TYPE, None))],
            lambda edit, place, input: _ask_create(edit, place.entity, input),
            lambda edit, place, input: _put(edit, place.entity, input),
            _READS,
            check=exists(_SUBJECTS),
            creates=True,
        ),
        "updateQuery": change(
            by_urn(_TYPE), _ask_update, _put, reads=_READS, check=exists(_SUBJECTS)
        ),
        "deleteQuery": deletion(by_urn(_TYPE), "query.delete"),
    }
)
