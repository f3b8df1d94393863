"""The entities in the input of an edit: the targets, and the entities in its arguments.

URNs are parsed before any authorization check. Existence is only checked afterwards: a missing
target gives 404, a missing entity in an argument 400.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import shapes
from lakewarden.systems.datahub.http.graphql.entities import is_known
from lakewarden.systems.datahub.http.graphql.errors import Failure, bad, missing
from lakewarden.systems.datahub.http.graphql.records import Input
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.page_edits import Edit


class EditTarget(NamedTuple):
    """An entity, or one of its columns: `column` is a field path, empty for the entity itself."""

    entity: Entity
    column: str = ""


def parse_entity(argument: str, urn: str, *types: str) -> Entity:
    """The entity of a URN, of one of the types if any are given; raises `Failure` 400."""
    try:
        return calls.entity(urn, *types)
    except Failure as error:
        raise bad(f"`{argument}`: {error}") from None


def parse_entities(argument: str, urns: Iterable[str], *types: str) -> list[Entity]:
    """The entities of URNs, without duplicates."""
    return [parse_entity(argument, urn, *types) for urn in dict.fromkeys(urns)]


def place(input: Input) -> EditTarget:
    """The place given by `resourceUrn`, `subResourceType` and `subResource`."""
    entity = parse_entity("resourceUrn", input["resourceUrn"])
    kind, column = input.get("subResourceType"), input.get("subResource")
    if kind is None and column is None:
        return EditTarget(entity)
    if kind is None or not column:
        raise bad("`subResource`: expected a field path, and `subResourceType` with it")
    if entity.type != "dataset":
        raise bad(f"`subResource`: expected a dataset to have columns, got `{entity.name}`")
    return EditTarget(entity, column)


def places(call: Call, input: Input) -> list[EditTarget]:
    """The target of an edit, or the targets in its `resources`; without duplicates."""
    if "resources" not in input:
        return [place(input)]
    resources = check_count(call, "resources", input["resources"])
    if None in resources:
        raise bad("`resources`: expected an object, got null")
    return list(dict.fromkeys(place(resource) for resource in resources))


def entities(call: Call, input: Input) -> list[Entity]:
    """As `places`, for an edit of whole entities."""
    all_places = places(call, input)
    if any(place.column for place in all_places):
        raise bad("`subResource`: only entities are edited so, not their columns")
    return [place.entity for place in all_places]


def check_count(call: Call, argument: str, items: Sequence[Any]) -> Sequence[Any]:
    """The items, if there are any and not too many; raises `Failure` 400."""
    most = call.exchange.services.batch_rows
    if not items or len(items) > most:
        raise bad(f"`{argument}`: expected between 1 and {most} items")
    return items


def check_exists(edit: Edit, *entities: Entity) -> None:
    """Raises `Failure` 404 for the first that does not exist."""
    for entity in entities:
        if not _exists(edit, entity):
            raise missing(entity.name)


def check_places(edit: Edit, places: Sequence[EditTarget]) -> None:
    """Raises `Failure` 404 for an entity, 400 for a column that does not exist."""
    edit.read(place.entity for place in places)
    for place in places:
        check_exists(edit, place.entity)
        if place.column:
            check_column(edit, place.entity, place.column, "subResource")


def check_column(edit: Edit, dataset: Entity, column: str, argument: str) -> None:
    """Raises `Failure` 400 if the dataset's schema has no such column."""
    if not _has_column(edit, dataset, column):
        raise bad(f"`{argument}`: `{dataset.name}` has no column `{column}`")


def check_references(edit: Edit, argument: str, *entities: Entity) -> None:
    """Raises `Failure` 400 for the first entity of an argument that does not exist."""
    for entity in entities:
        if not _exists(edit, entity):
            raise bad(f"`{argument}`: `{entity.name}` does not exist")


def check_new(edit: Edit, entity: Entity) -> None:
    """Raises `Failure` 409 if the entity already exists."""
    if _exists(edit, entity):
        raise Failure(409, f"`{entity.name}` already exists")


def new_entity(type: str, id: str | None) -> Entity:
    """An entity to be created; without an id, it gets a random one."""
    return parse_entity("id", f"urn:li:{type}:{uuid4() if id is None else id}", type)


def text(argument: str, value: str) -> str:
    """A name that is not blank; raises `Failure` 400."""
    if not value.strip():
        raise bad(f"`{argument}`: expected a name")
    return value


def _exists(edit: Edit, entity: Entity) -> bool:
    if is_known(edit.state, entity) or aspects.exists(entity, edit.state.matrix.snapshot):
        return True
    # A column without aspects of its own exists through the schema of its dataset.
    dataset = datahub.parent(entity) if entity.type == "schemaField" else None
    return dataset is not None and _has_column(edit, dataset, datahub.key_parts(entity.name)[1])


def _has_column(edit: Edit, dataset: Entity, column: str) -> bool:
    fields = shapes.members(edit.seen(dataset, "schemaMetadata"), "fields")
    return any(isinstance(field, Mapping) and field.get("fieldPath") == column for field in fields)
