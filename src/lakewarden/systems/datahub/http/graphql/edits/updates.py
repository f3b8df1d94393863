"""The older mutations, one for each type of entities: each part asks for what it would ask alone.

CHOICE: a part replaces what it is about and nothing beside it, so that columns that are not named
keep what is said of them.
SOURCE: DatasetType, ChartType and the other types that can be updated whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.edits import (
    deprecation,
    descriptions,
    labels,
    links,
    names,
    owners,
    shapes,
    targets,
)
from lakewarden.systems.datahub.http.graphql.edits.labels import TAG
from lakewarden.systems.datahub.http.graphql.edits.shown import shown
from lakewarden.systems.datahub.http.graphql.edits.targets import Input, Place
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.page_edits import Edit

Put = Callable[[Edit], None]
"""Puts one part of an update, once everything was asked."""


def _planned(edit: Edit, entity: Entity, input: Input) -> list[Put]:
    """Asks for each part that is there, and says how to put it."""
    plans: list[Put] = []
    for key, plan in _PARTS.items():
        if input.get(key) is not None:
            plans += plan(edit, entity, input[key])
    if not plans:
        raise bad("`input`: expected something to be changed")
    return plans


def _ownership(edit: Edit, entity: Entity, part: Input) -> list[Put]:
    wanted = owners.owners_of(part["owners"])
    edit.ask("owners.edit", entity)

    def put(edit: Edit) -> None:
        owners.check(edit, wanted)
        owners.replace(edit, entity, wanted)

    return [put]


def _deprecation(edit: Edit, entity: Entity, part: Input) -> list[Put]:
    edit.ask("deprecation.edit", entity)
    return [lambda edit: deprecation.put(edit, entity, part)]


def _links(edit: Edit, entity: Entity, part: Input) -> list[Put]:
    given = [
        (links.checked("url", one["url"]), one.get("description") or "") for one in part["elements"]
    ]
    edit.ask("links.edit", entity)

    def put(edit: Edit) -> None:
        there = shapes.members(edit.value(entity, "institutionalMemory"), "elements")
        kept = {(one.get("url"), one.get("description")): one for one in there}
        links.put(edit, entity, [kept.get(one) or links.new(edit, *one) for one in given])

    return [put]


def _tags_of(part: Input) -> list[Entity]:
    urns = (one["tag"]["urn"] for one in part.get("tags") or ())
    return targets.all_parsed("tags", urns, "tag")


def _tagged(edit: Edit, place: Place, part: Input) -> Put:
    wanted = _tags_of(part)
    labels.ask(edit, TAG, place)

    def put(edit: Edit) -> None:
        targets.check_named(edit, "tags", *wanted)
        labels.put(edit, TAG, place, labels.replace, wanted)

    return put


def _tags(edit: Edit, entity: Entity, part: Input) -> list[Put]:
    return [_tagged(edit, Place(entity), part)]


def _schema(edit: Edit, entity: Entity, part: Input) -> list[Put]:
    plans: list[Put] = []
    for one in part["editableSchemaFieldInfo"]:
        plans += _column(edit, Place(entity, one["fieldPath"]), one)
    return plans


def _column(edit: Edit, place: Place, part: Input) -> Iterable[Put]:
    text, tags = part.get("description"), part.get("globalTags")
    if text is not None:
        edit.ask("column.docs.edit", place.entity)

        def put(edit: Edit) -> None:
            targets.check_column(edit, place.entity, place.column, "fieldPath")
            descriptions.put_column(edit, place.entity, place.column, text)

        yield put
    if tags is not None:
        tagged = _tagged(edit, place, tags)

        def put_tags(edit: Edit) -> None:
            targets.check_column(edit, place.entity, place.column, "fieldPath")
            tagged(edit)

        yield put_tags


def _properties(edit: Edit, entity: Entity, part: Input) -> list[Put]:
    name = part.get("name")
    edit.ask("docs.edit", entity)
    plans: list[Put] = [lambda edit: descriptions.put(edit, entity, part["description"])]
    if name is not None:
        edit.ask("entity.rename", entity)
        plans.append(lambda edit: names.put(edit, entity, name))
    return plans


_PARTS: Final[dict[str, Callable[[Edit, Entity, Any], list[Put]]]] = {
    "ownership": _ownership,
    "deprecation": _deprecation,
    "institutionalMemory": _links,
    "globalTags": _tags,
    "tags": _tags,
    "editableSchemaMetadata": _schema,
    "editableProperties": _properties,
}


def _updating(type: str) -> Callable[..., Entity | None]:
    def update(_: object, info: Info, urn: str, input: Input) -> Entity | None:
        entity = targets.parsed("urn", urn, type)
        _edit(info, [(entity, input)])
        return shown(info.context, entity)

    return update


def _update_many(_: object, info: Info, input: list[Input]) -> list[Entity | None]:
    updates = [
        (targets.parsed("urn", one["urn"], "dataset"), one["update"])
        for one in targets.bounded(info.context, "input", input)
    ]
    _edit(info, updates)
    return [shown(info.context, entity) for entity, _ in updates]


def _edit(info: Info, updates: list[tuple[Entity, Input]]) -> None:
    def task(edit: Edit) -> None:
        plans = [(entity, _planned(edit, entity, input)) for entity, input in updates]
        targets.check_there(edit, *(entity for entity, _ in plans))
        for _, puts in plans:
            for put in puts:
                put(edit)

    authorization.edit(info.context, task)


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "updateChart": _updating("chart"),
        "updateDashboard": _updating("dashboard"),
        "updateDataFlow": _updating("dataFlow"),
        "updateDataJob": _updating("dataJob"),
        "updateDataset": _updating("dataset"),
        "updateDatasets": _update_many,
        "updateNotebook": _updating("notebook"),
    }
}
