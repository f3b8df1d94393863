"""The declaration of resolvers: by type and field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from graphql import GraphQLResolveInfo

from lakewarden.systems.datahub.http.graphql.call import Call

Info: TypeAlias = GraphQLResolveInfo[Call]
"""What the executor passes to a resolver."""

Field = Callable[..., Any]
"""A resolver: it gets the parent's value, the executor's information, whose `context` is a `Call`,
and the field's arguments by name."""

Fields = Mapping[str, Field]
"""The resolvers of a type's fields."""

Resolvers = Mapping[str, Fields]
"""Type → field → resolver. Fields that are not listed are read as the schema declares."""
