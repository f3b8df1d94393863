"""The resolvers of fields without a resolver in a module, as the schema declares them.

A field of an entity is read from an aspect, its own or that of its type; a field of a record is a
member of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLSchema,
    default_field_resolver,
    get_named_type,
)

from lakewarden.kernel.entity import Entity
from lakewarden.service.cancellation import check
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.http.graphql import authorization, references
from lakewarden.systems.datahub.http.graphql.aspect_record import Record, aspect
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.directives import Declaration, entity_types
from lakewarden.systems.datahub.http.graphql.pages import roots
from lakewarden.systems.datahub.http.graphql.readers import Read, reader, whole_record_reader
from lakewarden.systems.datahub.http.graphql.resolving import Field, Info

ReadEntity = Callable[[Entity, Info], Any]


def resolver(schema: GraphQLSchema, name: str, field: GraphQLField) -> Field:
    """The resolver of a field; for a parent that is neither entity nor record, its member."""
    declared = Declaration(schema, name, field)
    may_read, of_entity, of_record = (
        _may_read(declared),
        _entity_field(declared),
        _record_field(declared),
    )

    def resolve(parent: object, info: Info, **arguments: Any) -> Any:
        if isinstance(parent, Record):
            check()
            return of_record(parent, info)
        if not isinstance(parent, Entity):
            return default_field_resolver(parent, info, **arguments)
        check()
        if may_read is not None and not may_read(info.context):
            return None
        return of_entity(parent, info)

    return resolve


def root(schema: GraphQLSchema, name: str, field: GraphQLField) -> Field:
    """The resolver of a root field without a module: the entity of a URN."""
    types = entity_types(schema, get_named_type(field.type))
    if types is None or field.args.keys() != {"urn"}:
        raise LookupError(f"nothing resolves the field {name} of the root")
    operation = Declaration(schema, name, field).argument("guarded", "operation")
    return roots.by_urn(sorted(types), operation)


def _may_read(field: Declaration) -> Callable[[Call], bool] | None:
    """Whether a field of an entity is visible; raises `Failure` 403 if it is required."""
    if field.has("shown"):
        operation, about = field.argument("shown", "operation"), field.argument("shown", "about")
        return lambda call: authorization.is_allowed(call, operation, Entity(about, ""))
    if not field.has("guarded"):
        return None

    def may_read(call: Call) -> bool:
        authorization.allow(call, field.argument("guarded", "operation"))
        return True

    return may_read


def _entity_field(field: Declaration) -> ReadEntity:
    if field.has("urn"):
        return lambda entity, _info: entity.name
    if field.has("key"):
        return _key_field(field)
    stored = field.aspect
    if stored is None:
        return lambda _entity, _info: None
    read = whole_record_reader(field) if field.is_whole_aspect else reader(field)

    def resolve(entity: Entity, info: Info) -> Any:
        record = aspect(info.context, entity, stored)
        return read(record, info) if record.value or field.is_required else None

    return resolve


def _record_field(field: Declaration) -> Read:
    if field.has("urn"):
        return lambda record, _info: record.entity.name
    if field.has("key"):
        of_entity = _key_field(field)
        return lambda record, info: of_entity(record.entity, info)
    return reader(field)


def _key_field(field: Declaration) -> ReadEntity:
    """A part of the key: the entity that it names, an enum value, or the text."""
    part: int = field.argument("key", "part")
    if field.types is not None:
        naming = references.naming_by_key(part, field.types)
        return lambda entity, info: references.first_visible(info.context, entity, naming)
    values = field.named.values if isinstance(field.named, GraphQLEnumType) else None

    def text(entity: Entity, _info: Info) -> str | None:
        part_text = datahub.key_parts(entity.name)[part]
        return part_text if values is None or part_text in values else None

    return text
