"""The schema that documents are executed against: our SDL files, bound to their resolvers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Final

from ariadne import MutationType, ObjectType, QueryType, make_executable_schema
from graphql import (
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
)

from lakewarden.wire.datahub.graphql import (
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
from lakewarden.wire.datahub.graphql.pages import (
    assets,
    association,
    columns,
    contents,
    governance,
    learning,
    lists,
    looks,
    people,
    pipelines,
    queries,
    roots,
    shared,
    systems,
)
from lakewarden.wire.datahub.graphql.resolving import Resolvers

_MODULES: Final = (
    *(edits, identities, invitations, measures, past, platform, policies),
    *(privileges, search, service_accounts, tokens, user_settings),
)
_PAGES: Final = (
    *(assets, association, columns, contents, governance, learning, lists, looks, people),
    *(pipelines, queries, roots, systems),
)
"""Each has `RESOLVERS`: by type and field."""


@cache
def schema() -> GraphQLSchema:
    """The executable schema, made once."""
    made = make_executable_schema("\n".join(_texts()), *_bindables())
    for type in made.type_map.values():
        if isinstance(type, GraphQLObjectType) and type.name in kinds.NAMES:
            _resolve_shared(type)
        elif isinstance(type, GraphQLInterfaceType | GraphQLUnionType):
            type.resolve_type = type.resolve_type or kinds.type_of
    return made


def _resolve_shared(type: GraphQLObjectType) -> None:
    """Fields that no module resolves for the type itself are resolved as for all types."""
    for name, field in type.fields.items():
        field.resolve = field.resolve or shared.RESOLVERS.get(name)


def _texts() -> Iterator[str]:
    folder = files("lakewarden.wire.datahub.graphql").joinpath("sdl")
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
