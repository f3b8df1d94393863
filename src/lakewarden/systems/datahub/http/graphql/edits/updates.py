"""The older mutations, one for each entity type: each part requires the privileges of its edit.

CHOICE: a part only replaces its own values, so columns without an entry keep their descriptions and
tags. SOURCE: DatasetType, ChartType and the other types that can be updated as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.edits import (
    descriptions,
    labels,
    links,
    owners,
    shapes,
    status,
    targets,
)
from lakewarden.systems.datahub.http.graphql.edits.labels import TAG
from lakewarden.systems.datahub.http.graphql.edits.page_edit import visible_entity
from lakewarden.systems.datahub.http.graphql.edits.targets import EditTarget
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.records import Input
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.page_edits import Edit

Put = Callable[[Edit], None]
"""Puts one part of an update, after all parts were checked."""


def _authorized_parts(edit: Edit, entity: Entity, input: Input) -> list[Put]:
    """Checks each part that is given; returns the functions that put them, in order."""
    puts: list[Put] = []
    for key, ask in _PARTS.items():
        if input.get(key) is not None:
            puts += ask(edit, entity, input[key])
    if not puts:
        raise bad("`input`: expected something to be changed")
    return puts


def _ownership(edit: Edit, entity: Entity, part: Input) -> Iterator[Put]:
    owned = owners.owners_of(part["owners"])
    edit.ask("owners.edit", entity)
    yield lambda edit: owners.check(edit, owned)
    yield lambda edit: owners.replace(edit, entity, owned)


def _deprecation(edit: Edit, entity: Entity, part: Input) -> Iterator[Put]:
    edit.ask("deprecation.edit", entity)
    yield lambda edit: status.put_deprecation(edit, entity, part)


def _links(edit: Edit, entity: Entity, part: Input) -> Iterator[Put]:
    links_of_input = [
        (links.check_address("url", element["url"]), element.get("description") or "")
        for element in part["elements"]
    ]
    edit.ask("links.edit", entity)

    def put(edit: Edit) -> None:
        members = shapes.members(edit.value(entity, "institutionalMemory"), "elements")
        before = {(member.get("url"), member.get("description")): member for member in members}
        links.put(
            edit,
            entity,
            [before.get(link) or links.new_link(edit, *link) for link in links_of_input],
        )

    yield put


def _tags_of(edit: Edit, place: EditTarget, part: Input) -> Iterator[Put]:
    urns = (tag["tag"]["urn"] for tag in part.get("tags") or ())
    tags = targets.parse_entities("tags", urns, "tag")
    labels.ask(edit, TAG, place)
    if place.column:
        yield lambda edit: targets.check_column(edit, place.entity, place.column, "fieldPath")
    yield lambda edit: targets.check_references(edit, "tags", *tags)
    yield lambda edit: labels.put(edit, TAG, place, labels.replace, tags)


def _tags(edit: Edit, entity: Entity, part: Input) -> Iterator[Put]:
    return _tags_of(edit, EditTarget(entity), part)


def _columns(edit: Edit, entity: Entity, part: Input) -> Iterator[Put]:
    for column in part["editableSchemaFieldInfo"]:
        place = EditTarget(entity, column["fieldPath"])
        if column.get("description") is not None:
            edit.ask("column.docs.edit", entity)
            yield _description(place, column["description"])
        if column.get("globalTags") is not None:
            yield from _tags_of(edit, place, column["globalTags"])


def _description(place: EditTarget, text: str) -> Put:
    def put(edit: Edit) -> None:
        targets.check_column(edit, place.entity, place.column, "fieldPath")
        descriptions.put_column(edit, place.entity, place.column, text)

    return put


def _properties(edit: Edit, entity: Entity, part: Input) -> Iterator[Put]:
    name = part.get("name")
    edit.ask("docs.edit", entity)
    yield lambda edit: descriptions.put(edit, entity, part["description"])
    if name is not None:
        edit.ask("entity.rename", entity)
        yield lambda edit: descriptions.put_name(edit, entity, name)


_PARTS: Final[Mapping[str, Callable[[Edit, Entity, Any], Iterator[Put]]]] = {
    "ownership": _ownership,
    "deprecation": _deprecation,
    "institutionalMemory": _links,
    "globalTags": _tags,
    "tags": _tags,
    "editableSchemaMetadata": _columns,
    "editableProperties": _properties,
}


def _update_resolver(type: str) -> Callable[..., Entity | None]:
    def update(_: object, info: Info, urn: str, input: Input) -> Entity | None:
        entity = targets.parse_entity("urn", urn, type)
        _update(info, [(entity, input)])
        return visible_entity(info.context, entity)

    return update


def _update_many(_: object, info: Info, input: list[Input]) -> list[Entity | None]:
    updates = [
        (targets.parse_entity("urn", update["urn"], "dataset"), update["update"])
        for update in targets.check_count(info.context, "input", input)
    ]
    _update(info, updates)
    return [visible_entity(info.context, entity) for entity, _ in updates]


def _update(info: Info, updates: list[tuple[Entity, Input]]) -> None:
    def update(edit: Edit) -> None:
        puts = [put for entity, input in updates for put in _authorized_parts(edit, entity, input)]
        targets.check_exists(edit, *(entity for entity, _ in updates))
        for put in puts:
            put(edit)

    authorization.edit(info.context, update)


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "updateChart": _update_resolver("chart"),
        "updateDashboard": _update_resolver("dashboard"),
        "updateDataFlow": _update_resolver("dataFlow"),
        "updateDataJob": _update_resolver("dataJob"),
        "updateDataset": _update_resolver("dataset"),
        "updateDatasets": _update_many,
        "updateNotebook": _update_resolver("notebook"),
    }
}
