"""Business attributes: meanings of columns, defined once, and attached to columns of datasets.

SOURCE: datahub reference 1.1, 1.3; datahub-project/datahub:…/resolvers/businessattribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.http.graphql.authorization import Requirement
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import Failure
from lakewarden.systems.datahub.http.graphql.pages import columns
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    AspectWrite,
    Kind,
    change,
    check_limit,
    creation,
    deletion,
    reference,
)
from lakewarden.systems.datahub.http.graphql.platform.columns import column_of
from lakewarden.systems.datahub.http.graphql.platform.listing import Listing, stored_entities
from lakewarden.systems.datahub.http.graphql.records import Input, Member, members
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value

TYPE: Final = "businessAttribute"
ASPECT: Final = "businessAttributeInfo"

_ON_COLUMNS: Final = "businessAttributes"
_MANAGE: Final = "business_attribute.manage"
_URN: Final = "businessAttributeUrn"


def _with_name(changes: AspectChanges, attribute: Entity, value: Value, input: Input) -> None:
    if input.get("name") is not None:
        _check_name(changes.call, attribute, input["name"])
        value["fieldPath"] = input["name"]


def _check_name(call: Call, attribute: Entity, name: str) -> None:
    """Raises `Failure` 409 if another attribute has the name."""
    for other in stored_entities(call, TYPE):
        if other != attribute and call.aspect(other, ASPECT).get("name") == name:
            raise Failure(409, f"there is a business attribute `{name}` already")


def _data_type(type: str) -> Value:
    return {"type": {f"com.linkedin.schema.{columns.RECORDS[type]}": {}}}


_KIND: Final = Kind(
    TYPE,
    ASPECT,
    (
        *members("name", "description"),
        Member("type", read=_data_type),
        Member("customProperties", default={}),
    ),
    stamps=("created", "lastModified"),
    audited_as="businessAttribute",
)


def _columns(call: Call, input: Input) -> list[Entity]:
    resources = [column_of(resource, "resourceUrn") for resource in input["resourceUrn"]]
    return check_limit(call, resources, "resourceUrn")


def _datasets(columns: Iterable[Entity]) -> list[Entity]:
    parents = (datahub.parent(column) for column in columns)
    return list(dict.fromkeys(parent for parent in parents if parent is not None))


def _requirements(_: AspectChanges, columns: Sequence[Entity], __: Input) -> list[Requirement]:
    return [
        Requirement("column.business_attribute.edit", dataset) for dataset in _datasets(columns)
    ]


def _add(changes: AspectChanges, columns: Sequence[Entity], input: Input) -> None:
    attribute = input[_URN]
    changes.check_exists(attribute, *_datasets(columns))
    for column in columns:
        changes.merge(column, _ON_COLUMNS, businessAttribute={_URN: attribute.name})


def _remove(changes: AspectChanges, columns: Sequence[Entity], input: Input) -> None:
    changes.check_exists(*_datasets(columns))
    for column in columns:
        association = shapes.mapping(changes.value(column, _ON_COLUMNS).get("businessAttribute"))
        if association.get(_URN) == input[_URN].name:
            changes.put(column, _ON_COLUMNS, None)


RESOLVERS: Final[Resolvers] = {
    "Query": {"listBusinessAttributes": Listing(TYPE, ASPECT, "businessAttributes")},
    "Mutation": {
        "createBusinessAttribute": creation(_KIND, "business_attribute.create", _with_name),
        "updateBusinessAttribute": change(_KIND, _MANAGE, _with_name),
        "deleteBusinessAttribute": deletion(_KIND, _MANAGE),
        "addBusinessAttribute": AspectWrite(_columns, _requirements, _add, {_URN: reference(TYPE)}),
        "removeBusinessAttribute": AspectWrite(
            _columns, _requirements, _remove, {_URN: reference(TYPE)}
        ),
    },
    "BusinessAttributeInfo": {"type": lambda attribute, _info: columns.column_type_word(attribute)},
}
