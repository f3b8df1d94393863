"""Business attributes: what columns mean, defined once, and put on columns of datasets.

SOURCE: datahub reference 1.1, 1.3; datahub-project/datahub:…/resolvers/businessattribute.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import Ask
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import Failure
from lakewarden.systems.datahub.http.graphql.pages.part import Part
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.columns import column_of
from lakewarden.systems.datahub.http.graphql.platform.draft import (
    Draft,
    given,
    limited,
    named,
    write,
    write_all,
)
from lakewarden.systems.datahub.http.graphql.platform.listing import listed_by_name, shown, stored
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

TYPE: Final = "businessAttribute"
ASPECT: Final = "businessAttributeInfo"

_ON_COLUMNS: Final = "businessAttributes"
_MANAGE: Final = "business_attribute.manage"
_PUT: Final = "column.business_attribute.edit"

_DATA_TYPES: Final = {
    "ARRAY": "ArrayType",
    "BOOLEAN": "BooleanType",
    "BYTES": "BytesType",
    "DATE": "DateType",
    "ENUM": "EnumType",
    "FIXED": "FixedType",
    "MAP": "MapType",
    "NULL": "NullType",
    "NUMBER": "NumberType",
    "STRING": "StringType",
    "STRUCT": "RecordType",
    "TIME": "TimeType",
    "UNION": "UnionType",
}
"""The record that stands for a type of columns in an aspect."""


def _create(_: object, info: Info, input: Mapping[str, Any]) -> Entity:
    attribute = named(TYPE, input.get("id"))

    def task(draft: Draft) -> Entity:
        draft.check_new(attribute)
        _check_name(draft, attribute, input["name"])
        stamp = draft.stamp()
        value = {
            "fieldPath": input["name"],
            "name": input["name"],
            "customProperties": {},
            "created": stamp,
            "lastModified": stamp,
            **given(input, "description"),
            **_data_type(input),
        }
        draft.put(attribute, ASPECT, value)
        return attribute

    told = {"businessAttribute": attribute.name}
    return write(info.context, "business_attribute.create", NO_RESOURCE, task, told)


def _update(_: object, info: Info, urn: str, input: Mapping[str, Any]) -> Entity:
    attribute = calls.entity(urn, TYPE)

    def task(draft: Draft) -> Entity:
        draft.check_there(attribute)
        value = draft.value(attribute, ASPECT)
        if input.get("name") is not None:
            _check_name(draft, attribute, input["name"])
            value["fieldPath"] = input["name"]
        value |= {**given(input, "name", "description"), **_data_type(input)}
        draft.put(attribute, ASPECT, {**value, "lastModified": draft.stamp()})
        return attribute

    return write(info.context, _MANAGE, NO_RESOURCE, task, {"businessAttribute": attribute.name})


def _check_name(draft: Draft, attribute: Entity, name: str) -> None:
    """Raises `Failure` 409 where another attribute has the name."""
    call = draft.call
    for other in stored(call, TYPE):
        if other != attribute and call.aspect(other, ASPECT).get("name") == name:
            raise Failure(409, f"there is a business attribute `{name}` already")


def _data_type(input: Mapping[str, Any]) -> dict[str, Any]:
    word = input.get("type")
    if word is None:
        return {}
    return {"type": {"type": {f"com.linkedin.schema.{_DATA_TYPES[word]}": {}}}}


def _put(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    attribute = calls.entity(input["businessAttributeUrn"], TYPE)
    columns = limited(info.context, _columns(input), "resourceUrn")

    def task(draft: Draft) -> bool:
        draft.check_there(attribute, *_datasets(columns))
        for column in columns:
            value = draft.value(column, _ON_COLUMNS)
            value["businessAttribute"] = {"businessAttributeUrn": attribute.name}
            draft.put(column, _ON_COLUMNS, value)
        return True

    return write_all(info.context, lambda _: _asks(columns), task)


def _take(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    attribute = calls.entity(input["businessAttributeUrn"], TYPE)
    columns = limited(info.context, _columns(input), "resourceUrn")

    def task(draft: Draft) -> bool:
        draft.check_there(*_datasets(columns))
        for column in columns:
            value = draft.value(column, _ON_COLUMNS)
            there = shapes.mapping(value.get("businessAttribute"))
            if there.get("businessAttributeUrn") == attribute.name:
                draft.put(column, _ON_COLUMNS, None)
        return True

    return write_all(info.context, lambda _: _asks(columns), task)


def _columns(input: Mapping[str, Any]) -> list[Entity]:
    return [column_of(one, "resourceUrn") for one in input["resourceUrn"]]


def _datasets(columns: list[Entity]) -> list[Entity]:
    found = (datahub.parent(column) for column in columns)
    return list(dict.fromkeys(one for one in found if one is not None))


def _asks(columns: list[Entity]) -> list[Ask]:
    return [Ask(_PUT, dataset) for dataset in _datasets(columns)]


def _list(_: object, info: Info, input: Mapping[str, Any]) -> Mapping[str, Any]:
    call: Call = info.context
    return listed_by_name(call, stored(call, TYPE), ASPECT, input, "businessAttributes")


def _properties(attribute: Entity, info: Info) -> Mapping[str, Any] | None:
    value = info.context.aspect(attribute, ASPECT)
    name = shapes.text(value.get("name"))
    if name is None:
        return None
    kind = shapes.mapping(value.get("type")).get("type")
    record = next(iter(kind), "") if isinstance(kind, Mapping) else ""
    words = {record: word for word, record in _DATA_TYPES.items()}
    return {
        "name": name,
        "description": shapes.text(value.get("description")),
        "type": words.get(record.rpartition(".")[2]),
        "tags": _part(attribute, value, "globalTags"),
        "glossaryTerms": _part(attribute, value, "glossaryTerms"),
        "customProperties": [
            {**one, "associatedUrn": attribute.name}
            for one in shapes.entries(value.get("customProperties"))
        ],
        "created": shapes.stamp(value.get("created")) or shapes.NO_STAMP,
        "lastModified": shapes.stamp(value.get("lastModified")) or shapes.NO_STAMP,
        "deleted": shapes.stamp(value.get("deleted")),
    }


def _part(attribute: Entity, value: Mapping[str, Any], key: str) -> Part | None:
    return Part(attribute, value).part(key)


def _of_column(column: Entity, info: Info) -> Mapping[str, Any] | None:
    """What a column means, if the caller is shown that."""
    stated = Part(column, info.context.aspect(column, _ON_COLUMNS)).part("businessAttribute")
    named = None if stated is None else shapes.entity(stated.get("businessAttributeUrn"), TYPE)
    attribute = shown(info.context, named)
    if attribute is None:
        return None
    return {"businessAttribute": {"businessAttribute": attribute, "associatedUrn": column.name}}


RESOLVERS: Final[Resolvers] = {
    "Query": {"listBusinessAttributes": _list},
    "BusinessAttribute": {"properties": _properties},
    "SchemaFieldEntity": {"businessAttributes": _of_column},
    "Mutation": {
        "createBusinessAttribute": _create,
        "updateBusinessAttribute": _update,
        "addBusinessAttribute": _put,
        "removeBusinessAttribute": _take,
    },
}
