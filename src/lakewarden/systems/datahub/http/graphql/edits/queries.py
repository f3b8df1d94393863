"""Queries: every subject is asked about, those that are there and those that come.

SOURCE: datahub reference 5.1; CreateQueryResolver, UpdateQueryResolver, DeleteQueryResolver.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.aspects.fields import untagged
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.shown import shown
from lakewarden.systems.datahub.http.graphql.edits.targets import Input
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_TYPE: Final = "query"
_PROPERTIES: Final = "queryProperties"
_SUBJECTS: Final = "querySubjects"
_ARGUMENT: Final = "subjects"


def _subjects(call: Call, given: Iterable[Input]) -> list[Entity]:
    urns = targets.bounded(call, _ARGUMENT, [one["datasetUrn"] for one in given])
    return targets.all_parsed(_ARGUMENT, urns, "dataset", "schemaField")


def _put_subjects(edit: Edit, query: Entity, subjects: Iterable[Entity]) -> None:
    """What is kept of a subject that stays, stays."""
    value = edit.value(query, _SUBJECTS)
    kept = (one for one in shapes.members(value, _ARGUMENT) if isinstance(one, dict))
    there = {untagged(one.get("entity")): one for one in kept}
    members = [there.get(one.name, {"entity": one.name}) for one in subjects]
    edit.put(query, _SUBJECTS, {**value, _ARGUMENT: members})


def _said(properties: Input) -> Value:
    said: Value = {
        key: properties[key] for key in ("name", "description") if properties.get(key) is not None
    }
    statement = properties.get("statement")
    if statement is not None:
        said["statement"] = {"value": statement["value"], "language": statement["language"]}
    return said


def _create(_: object, info: Info, input: Input) -> Entity | None:
    query = targets.made(_TYPE, None)
    subjects = _subjects(info.context, input[_ARGUMENT])

    def task(edit: Edit) -> None:
        edit.ask("query.create", query, lists={"subjects": tuple(subjects)})
        targets.check_named(edit, _ARGUMENT, *subjects)
        stamps = {"created": edit.stamp, "lastModified": edit.stamp}
        value = {**_said(input["properties"]), "source": "MANUAL", **stamps}
        edit.put(query, _PROPERTIES, value)
        _put_subjects(edit, query, subjects)

    authorization.edit(info.context, task)
    return shown(info.context, query)


def _update(_: object, info: Info, urn: str, input: Input) -> Entity | None:
    query = targets.parsed("urn", urn, _TYPE)
    given, properties = input.get(_ARGUMENT), input.get("properties") or {}
    subjects = None if given is None else _subjects(info.context, given)

    def task(edit: Edit) -> None:
        edit.ask("query.update", query)
        if subjects is not None:
            edit.ask("query.create", query, lists={"subjects": tuple(subjects)})
        targets.check_there(edit, query)
        if subjects is not None:
            targets.check_named(edit, _ARGUMENT, *subjects)
            _put_subjects(edit, query, subjects)
        begun = {"source": "MANUAL", "created": edit.stamp, **edit.value(query, _PROPERTIES)}
        value = {**begun, **_said(properties), "lastModified": edit.stamp}
        edit.put(query, _PROPERTIES, value)

    authorization.edit(info.context, task)
    return shown(info.context, query)


def _delete(_: object, info: Info, urn: str) -> bool:
    query = targets.parsed("urn", urn, _TYPE)

    def task(edit: Edit) -> bool:
        edit.ask("query.delete", query)
        targets.check_there(edit, query)
        edit.drop(query)
        return True

    return authorization.edit(info.context, task)


RESOLVERS: Final[Resolvers] = {
    "Mutation": {"createQuery": _create, "updateQuery": _update, "deleteQuery": _delete}
}
