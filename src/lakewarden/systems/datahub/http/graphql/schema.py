"""The schema that documents are executed against: our SDL files, bound to their resolvers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, wraps
from importlib.resources import files
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
from lakewarden.systems.datahub.http.graphql import (
    app_config,
    edits,
    identities,
    invitations,
    kinds,
    measures,
    past,
    platform,
    policies,
    privileges,
    search,
    service_accounts,
    tokens,
    user_settings,
)
from lakewarden.systems.datahub.http.graphql.pages import (
    assets,
    association,
    columns,
    contents,
    governance,
    learning,
    lineage,
    lists,
    looks,
    metrics,
    part,
    people,
    pipelines,
    products,
    queries,
    roots,
    runs,
    shared,
    systems,
    versions,
)
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.http.graphql.search.inputs import QUERY
from lakewarden.systems.datahub.search.question import URN

_MODULES: Final = (
    *(app_config, edits, identities, invitations, measures, past, platform, policies),
    *(privileges, search, service_accounts, tokens, user_settings),
)
_PAGES: Final = (
    *(assets, association, columns, contents, governance, learning, lineage, lists, looks),
    metrics,
    *(people, pipelines, products, queries, roots, runs, systems, versions),
)
"""Each has `RESOLVERS`: by type and field."""


_QUERY: Final = "query"


@cache
def schema() -> GraphQLSchema:
    """The executable schema, made once."""
    made = make_executable_schema("\n".join(_texts()), *_bindables())
    for type in made.type_map.values():
        if isinstance(type, GraphQLObjectType):
            if type.name in kinds.NAMES:
                _resolve_shared(type)
            for name, field in type.fields.items():
                _checked(field)
                field.resolve = field.resolve or part.by_default(name, field)
        elif isinstance(type, GraphQLInterfaceType | GraphQLUnionType):
            type.resolve_type = type.resolve_type or kinds.type_of
    return made


def _resolve_shared(type: GraphQLObjectType) -> None:
    """Fields that no module resolves for the type itself are resolved as for all types."""
    for name, field in type.fields.items():
        field.resolve = field.resolve or shared.RESOLVERS.get(name)


def _checked(field: GraphQLField) -> None:
    """Looks, before a field is resolved, whether anybody waits for it; and bounds a search.

    That is the words of an input that searches, whatever the resolver does with them.
    """
    resolve = field.resolve
    if resolve is None:
        return
    argument = field.args.get("input")
    input = None if argument is None else get_named_type(argument.type)
    searches = isinstance(input, GraphQLInputObjectType) and _QUERY in input.fields

    @wraps(resolve)
    def checked(parent: object, info: Info, **given: Any) -> object:
        check()
        if searches:
            _check_words((given.get("input") or {}).get(_QUERY))
        return resolve(parent, info, **given)

    field.resolve = checked


def _check_words(query: object) -> None:
    if isinstance(query, str) and not query.strip().startswith(URN):
        check_search(query, QUERY)


def _texts() -> Iterator[str]:
    folder = files("lakewarden.systems.datahub.http.graphql").joinpath("sdl")
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        if file.name.endswith(".graphql"):
            yield file.read_text(encoding="utf-8")


def _bindables() -> Iterator[ObjectType]:
    bound: dict[str, ObjectType] = {"Query": QueryType(), "Mutation": MutationType()}
    for resolvers in _resolvers():
        for type, fields in resolvers.items():
            target = bound.setdefault(type, ObjectType(type))
            for name, resolver in fields.items():
                target.set_field(name, resolver)
    yield from bound.values()


def _resolvers() -> Iterator[Resolvers]:
    for module in (*_MODULES, *_PAGES):
        yield module.RESOLVERS
