"""Fields as the schema declares them: their types, and the directives of `directives.graphql`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

from graphql import (
    GraphQLField,
    GraphQLList,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    get_directive_values,
    get_named_type,
    get_nullable_type,
    is_abstract_type,
    is_non_null_type,
)

from lakewarden.systems.datahub.http.graphql.kinds import KINDS
from lakewarden.systems.datahub.http.graphql.references import ANY, Types

Path: TypeAlias = tuple[str, ...]

NAMES: Final = ("aspect", "member", "key", "urn", "require", "visible", "guarded", "shown")
"""The directives."""

UNKNOWN_DEFAULT: Final = object()
"""The default of a field that declares none."""

_LITERALS: Final[Mapping[str, Any]] = {"null": None, "true": True, "[]": [], "{}": {}}
"""Defaults that are not strings."""


class Source(NamedTuple):
    """The source of a field of a record, and its default: see the directive."""

    paths: tuple[Path, ...]
    default: Any = UNKNOWN_DEFAULT
    or_key: int | None = None
    all: bool = False
    open: bool = False


class Reference(NamedTuple):
    """A member that must name a visible entity of one of the types."""

    path: Path
    types: Types


class Declaration:
    """A field of the schema."""

    def __init__(self, schema: GraphQLSchema, name: str, field: GraphQLField) -> None:
        self._schema = schema
        self._given = _directives(schema, field)
        self.type: GraphQLOutputType = field.type
        self.named = get_named_type(field.type)
        self.is_list = isinstance(get_nullable_type(field.type), GraphQLList)
        self.is_required = is_non_null_type(field.type)
        self.types = entity_types(schema, self.named)
        """The types of entities that the field shows; None if it shows none."""
        self.source = _source(name, self._given.get("member"))

    def argument(self, directive: str, name: str) -> Any:
        """An argument of a directive; None if the field does not have it."""
        return self._given.get(directive, {}).get(name)

    def has(self, directive: str) -> bool:
        """Whether the field has the directive."""
        return directive in self._given

    @property
    def aspect(self) -> str | None:
        """The aspect that a field of an entity is read from."""
        return self.argument("aspect", "name") or self._aspect_of_type

    @property
    def is_whole_aspect(self) -> bool:
        """Whether a field of an entity shows an aspect, not a member of it."""
        return not self.has("aspect")

    @property
    def _aspect_of_type(self) -> str | None:
        return _directives(self._schema, self.named).get("aspect", {}).get("name")

    @property
    def visible_types(self) -> Types:
        """The types of the entities that `@visible` checks."""
        return frozenset(self.argument("visible", "types") or ())

    @property
    def references(self) -> list[Reference]:
        """The references that must be visible for a record of the field to be shown."""
        references = [*_required_references(self._schema, self.named)]
        by = self.argument("visible", "by")
        if by is not None:
            references.append(Reference(tuple(by.split(".")), self.visible_types))
        return references

    @property
    def members(self) -> Mapping[str, GraphQLOutputType]:
        """The members that a record of the field must have to be shown, and their types."""
        fields = self.named.fields if isinstance(self.named, GraphQLObjectType) else {}
        return {name: fields[name].type for name in self.argument("require", "members") or ()}


def has_directives(field: GraphQLField) -> bool:
    """Whether the schema declares how a field is read."""
    return field.ast_node is not None and bool(field.ast_node.directives)


@cache
def entity_types(schema: GraphQLSchema, type: GraphQLNamedType) -> Types | None:
    """The entity types of a type of the schema; None if it is not an entity type."""
    if type.name == "Entity":
        return ANY
    if is_abstract_type(type):
        inner = [entity_types(schema, possible) for possible in schema.get_possible_types(type)]
        known = [types for types in inner if types is not None]
        return frozenset().union(*known) if known and len(known) == len(inner) else None
    return frozenset(kind for kind, name in KINDS.items() if name == type.name) or None


@cache
def _required_references(schema: GraphQLSchema, type: GraphQLNamedType) -> tuple[Reference, ...]:
    """The references that must be visible for a record of the type to be shown."""
    return tuple(_each_required(schema, type))


def _each_required(schema: GraphQLSchema, type: GraphQLNamedType) -> Iterator[Reference]:
    for name, field in type.fields.items() if isinstance(type, GraphQLObjectType) else ():
        types = entity_types(schema, get_named_type(field.type))
        is_one = not isinstance(get_nullable_type(field.type), GraphQLList)
        if types is not None and is_one and is_non_null_type(field.type):
            own = Declaration(schema, name, field)
            if not own.source.open and not own.has("key"):
                yield Reference(own.source.paths[0], types)


def _directives(
    schema: GraphQLSchema, of: GraphQLField | GraphQLNamedType
) -> Mapping[str, Mapping[str, Any]]:
    """The directives of a field or type, with their arguments."""
    node = of.ast_node
    if node is None or not node.directives:
        return {}
    return {
        name: values
        for name in NAMES
        if (definition := schema.get_directive(name)) is not None
        and (values := get_directive_values(definition, node)) is not None
    }


def _source(name: str, arguments: Mapping[str, Any] | None) -> Source:
    if arguments is None:
        return Source(((name,),))
    paths = tuple(
        tuple(path.split(".")) if path != "." else () for path in arguments.get("path") or ()
    )
    default = arguments.get("default", UNKNOWN_DEFAULT)
    return Source(
        paths or ((name,),),
        _LITERALS.get(default, default) if isinstance(default, str) else default,
        arguments.get("orKey"),
        arguments["all"],
        arguments["open"],
    )
