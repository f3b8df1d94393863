"""Readers of the fields of a record, by type.

- A scalar or enum: a member of another type counts as absent.
- An entity: the one that the member names, if it is visible to the caller.
- Any other object: the record in the member. A record without a required member counts as absent.

An absent value is the declared default, otherwise null; if null is not allowed, empty or zero.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, Final, TypeAlias

from graphql import (
    GraphQLEnumType,
    GraphQLList,
    GraphQLOutputType,
    GraphQLScalarType,
    get_named_type,
    get_nullable_type,
    is_non_null_type,
)

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.http.graphql import references
from lakewarden.systems.datahub.http.graphql.aspect_record import Record
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.directives import UNKNOWN_DEFAULT, Declaration, Source
from lakewarden.systems.datahub.http.graphql.references import Types
from lakewarden.systems.datahub.http.graphql.resolving import Info

Read: TypeAlias = Callable[[Record, Info], Any]
ReadMember: TypeAlias = Callable[[Record, str], Any]

NOBODY: Final = "urn:li:corpuser:unknown"
"""The actor of actions whose actor is not known."""

_EMPTY: Final[Mapping[str, Mapping[str, Any]]] = {"AuditStamp": {"time": 0, "actor": NOBODY}}
"""Defaults of required records whose default is not an empty record."""


def reader(field: Declaration) -> Read:
    """The reader of a field of a record."""
    if field.types is not None:
        return _entities(field.source, field.types, is_list=field.is_list)
    if field.named.name in _MAPS:
        return _MAPS[field.named.name](field.source)
    if not isinstance(field.named, GraphQLEnumType | GraphQLScalarType):
        return _record_list(field) if field.is_list else _record(field)
    if field.has("visible"):
        return _visible_urns(field)
    return _scalar(field)


def whole_record_reader(field: Declaration) -> Read:
    """The resolver of a field that shows a record itself."""
    return _record(field, of_itself=True)


def _scalar(field: Declaration) -> Read:
    source = field.source
    read, empty = _member_reader(field.type, or_null=source.default is None)
    default = empty if source.default is UNKNOWN_DEFAULT else source.default
    if source.or_key is None and len(source.paths) == 1 and len(source.paths[0]) == 1:
        plain = None if field.is_list else _PLAIN.get(field.named.name)
        return _member_resolver(read, source.paths[0][0], default, plain)

    def resolve(record: Record, _info: Info) -> Any:
        for *outer, key in source.paths:
            for holder in record.records_at(outer):
                value = read(holder, key)
                if value not in (None, ""):
                    return value
        if source.or_key is not None:
            return datahub.key_parts(record.entity.name)[source.or_key]
        return default

    return resolve


def _member_resolver(read: ReadMember, key: str, default: object, plain: type | None) -> Read:
    """Reads the member of a key; `plain`: the type that is shown as it is stored."""

    def resolve(record: Record, _info: Info) -> Any:
        value = record.value.get(key)
        if type(value) is plain:
            return value
        value = read(record, key)
        return default if value is None else value

    return resolve


_PLAIN: Final = {"Boolean": bool, "Float": float, "ID": str, "Int": int, "Long": int, "String": str}
"""The types of scalars that are shown as they are stored."""


def _member_reader(type: GraphQLOutputType, *, or_null: bool = False) -> tuple[ReadMember, Any]:
    """The reader of a member for a scalar or enum, and the value for an absent one.

    `or_null`: a missing list is null, not empty.
    """
    named_type = get_named_type(type)
    if isinstance(get_nullable_type(type), GraphQLList):
        read = (
            _enum_list_reader(named_type.values)
            if isinstance(named_type, GraphQLEnumType)
            else Record.texts
        )
        return (_or_null(read) if or_null else read), None
    if isinstance(named_type, GraphQLEnumType):
        return _enum_reader(named_type.values), None
    read_scalar, empty = _SCALARS[named_type.name]
    is_empty = is_non_null_type(type) or empty is False
    return read_scalar, empty if is_empty else None


_SCALARS: Final[Mapping[str, tuple[ReadMember, Any]]] = {
    "Boolean": (Record.flag, False),
    "Float": (Record.decimal, None),
    "ID": (Record.text, ""),
    "Int": (Record.number, 0),
    "Long": (Record.number, 0),
    "String": (Record.text, ""),
}
"""The reader of a scalar, and its default if null is not allowed."""


def _or_null(read: ReadMember) -> ReadMember:
    return lambda record, key: None if record.get(key) is None else read(record, key)


def _enum_reader(values: Container[str | None]) -> ReadMember:
    def word(record: Record, key: str) -> str | None:
        text = record.text(key)
        return text if text in values else None

    return word


def _enum_list_reader(values: Container[str]) -> ReadMember:
    return lambda record, key: [text for text in record.texts(key) if text in values]


def _custom_properties(source: Source) -> Read:
    """The custom properties, sorted by name."""
    (key,) = source.paths[0]
    return lambda record, _info: [
        {"key": name, "value": text, "associatedUrn": record.entity.name}
        for name, text in record.entries(key)
    ]


def _entries(source: Source) -> Read:
    """A map of strings, sorted by key."""
    (key,) = source.paths[0]
    default = None if source.default is UNKNOWN_DEFAULT else source.default

    def resolve(record: Record, _info: Info) -> list[Mapping[str, str]] | None:
        return [{"key": name, "value": text} for name, text in record.entries(key)] or default

    return resolve


_MAPS: Final[Mapping[str, Callable[[Source], Read]]] = {
    "CustomPropertiesEntry": _custom_properties,
    "StringMapEntry": _entries,
}
"""Types whose lists represent a map."""


def _entities(source: Source, types: Types, *, is_list: bool) -> Read:
    is_either = len(source.paths) > 1 and not source.all

    def resolve(record: Record, info: Info) -> Any:
        call: Call = info.context
        visible_entities: dict[Entity, None] = {}
        for path in source.paths:
            if source.open:
                entities = references.entities_of_urns(references.urns(record, path), types)
            else:
                entities = references.visible_at(call, record, path, types)
            visible_entities.update(dict.fromkeys(entities))
            if is_either and any(references.urns(record, path)):
                break
        call.count_named(len(visible_entities))
        return list(visible_entities) if is_list else next(iter(visible_entities), None)

    if source.default is None:
        key = source.paths[0][0]
        return lambda record, info: None if record.get(key) is None else resolve(record, info)
    if isinstance(source.default, str):
        (other,) = references.entities_of_urns([source.default])
        return lambda record, info: resolve(record, info) or other
    return resolve


def _visible_urns(field: Declaration) -> Read:
    """The URNs of the visible entities."""
    read = _entities(field.source, field.visible_types, is_list=True)

    def resolve(record: Record, info: Info) -> Any:
        urns = [entity.name for entity in read(record, info)]
        return urns if field.is_list else next(iter(urns), None)

    return resolve


def _record_list(field: Declaration) -> Read:
    *outer, key = field.source.paths[0]
    complete = _completeness_filter(field)
    empty: list[Record] | None = None if field.source.default is None else []

    def resolve(record: Record, info: Info) -> list[Record] | None:
        inner = (
            [record for holder in record.records_at(outer) for record in holder.records(key)]
            if outer
            else record.records(key)
        )
        return (inner if complete is None else complete(inner, info.context)) or empty

    return resolve


def _record(field: Declaration, *, of_itself: bool = False) -> Read:
    path = () if of_itself else field.source.paths[0]
    is_member = len(path) == 1
    complete = _completeness_filter(field)
    empty: Any = _EMPTY.get(field.named.name, {}) if field.is_required else None
    if isinstance(field.source.default, Mapping):
        empty = field.source.default

    def resolve(record: Record, info: Info) -> Record | None:
        inner = record.record(path[0]) if is_member else next(iter(record.records_at(path)), None)
        if inner is not None and (complete is None or complete([inner], info.context)):
            return inner
        return None if empty is None else Record(record.entity, empty)

    return resolve


def _completeness_filter(field: Declaration) -> Callable[[list[Record], Call], list[Record]] | None:
    """A filter for the records of one path that have all required members; None: no requirement."""
    members = [(name, _member_reader(type)[0]) for name, type in field.members.items()]
    required = field.references
    if not members and not required:
        return None

    def complete(records: list[Record], call: Call) -> list[Record]:
        for name, read in members:
            records = [record for record in records if read(record, name) is not None]
        for path, types in required:
            records = references.with_visible(call, records, path, types)
        return records

    return complete
