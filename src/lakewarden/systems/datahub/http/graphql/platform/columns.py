"""Columns: by their own URN, or as a part of their dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.errors import bad

COLUMN: Final = "schemaField"


def column(dataset: Entity, path: str) -> Entity:
    """A column of a dataset."""
    return calls.entity(f"urn:li:{COLUMN}:({dataset.name},{path})", COLUMN)


def column_of(input: Mapping[str, Any], argument: str) -> Entity:
    """The column in an input; raises `Failure` 400 with the argument."""
    resource = calls.entity(input["resourceUrn"], COLUMN, "dataset")
    if resource.type == COLUMN:
        if dataset_of(resource).type != "dataset":
            raise bad(f"`{argument}`: `{resource.name}` is not a column of a dataset")
        return resource
    if input.get("subResource") is None:
        raise bad(f"`{argument}`: expected a column: its URN, or a `subResource` of the dataset")
    return column(resource, input["subResource"])


def dataset_of(entity: Entity) -> Entity:
    """The dataset of a column; for any other entity, the entity itself."""
    parent = datahub.parent(entity) if entity.type == COLUMN else None
    return entity if parent is None else parent
