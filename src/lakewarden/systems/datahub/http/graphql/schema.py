"""The executable schema: our SDL files, bound to their resolvers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, wraps
from importlib.resources import files
from threading import Lock
from typing import Any, Final

from ariadne import MutationType, ObjectType, QueryType, make_executable_schema
from graphql import (
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    get_named_type,
)

from lakewarden.service.cancellation import check
from lakewarden.service.search_terms import check_search
from lakewarden.systems.datahub.http import graphql
from lakewarden.systems.datahub.http.graphql import (
    declared,
    directives,
    kinds,
    pages,
    platform,
    search,
)
from lakewarden.systems.datahub.http.graphql.discovery import resolvers_in
from lakewarden.systems.datahub.http.graphql.pages.shared import SHARED
from lakewarden.systems.datahub.http.graphql.resolving import Field, Fields, Info
from lakewarden.systems.datahub.http.graphql.search.inputs import QUERY
from lakewarden.systems.datahub.search.question import URN

_PACKAGES: Final = (graphql, pages, search)
"""The packages whose modules, also in subpackages, may have `RESOLVERS`: by type and field."""

_SHARED: Final[Fields] = {**SHARED, **platform.SHARED}
_QUERY: Final = "query"
_MAKING: Final = Lock()


def schema() -> GraphQLSchema:
    """The executable schema, created once. Thread-safe: other threads wait for the first."""
    with _MAKING:
        return _schema()


@cache
def _schema() -> GraphQLSchema:
    executable = make_executable_schema("\n".join(_texts()), *_bindables())
    for type in executable.type_map.values():
        if isinstance(type, GraphQLObjectType):
            for name, field in type.fields.items():
                field.resolve = _resolver(executable, type, name, field)
        elif isinstance(type, GraphQLInterfaceType | GraphQLUnionType):
            type.resolve_type = type.resolve_type or kinds.type_of
    executable.directives = tuple(
        directive for directive in executable.directives if directive.name not in directives.NAMES
    )
    return executable


def _resolver(
    executable: GraphQLSchema, type: GraphQLObjectType, name: str, field: GraphQLField
) -> Field:
    """The resolver of a module, else the declared one, else the one shared by all entity types."""
    resolve = field.resolve
    if resolve is None and type.name in kinds.NAMES and not directives.has_directives(field):
        resolve = _SHARED.get(name)
    if resolve is None and type in (executable.query_type, executable.mutation_type):
        resolve = declared.root(executable, name, field)
    return (
        declared.resolver(executable, name, field)
        if resolve is None
        else _with_limits(field, resolve)
    )


def _with_limits(field: GraphQLField, resolve: Field) -> Field:
    """Checks, before a field is resolved, whether the client still waits; and limits a search.

    The limit applies to the words in a search input, regardless of the resolver.
    """
    argument = field.args.get("input")
    input = None if argument is None else get_named_type(argument.type)
    searches = isinstance(input, GraphQLInputObjectType) and _QUERY in input.fields

    @wraps(resolve)
    def checked(parent: object, info: Info, **arguments: Any) -> object:
        check()
        if searches:
            _check_words((arguments.get("input") or {}).get(_QUERY))
        return resolve(parent, info, **arguments)

    return checked


def _check_words(query: object) -> None:
    if isinstance(query, str) and not query.strip().startswith(URN):
        check_search(query, QUERY)


def _texts() -> Iterator[str]:
    folder = files("lakewarden.systems.datahub.http.graphql").joinpath("sdl")
    for file in sorted(folder.iterdir(), key=lambda file_path: file_path.name):
        if file.name.endswith(".graphql"):
            yield file.read_text(encoding="utf-8")


def _bindables() -> Iterator[ObjectType]:
    bound: dict[str, ObjectType] = {"Query": QueryType(), "Mutation": MutationType()}
    for package in _PACKAGES:
        for type, fields in resolvers_in(package.__path__, package.__name__).items():
            target = bound.setdefault(type, ObjectType(type))
            for name, resolver in fields.items():
                target.set_field(name, resolver)
    yield from bound.values()
