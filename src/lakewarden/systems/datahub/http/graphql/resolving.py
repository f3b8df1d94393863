"""How resolvers are declared: by type and field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from graphql import GraphQLResolveInfo

from lakewarden.systems.datahub.http.graphql.call import Call

Info: TypeAlias = GraphQLResolveInfo[Call]
"""What the executor tells a resolver."""

Resolvers = Mapping[str, Mapping[str, Callable[..., Any]]]
"""Type → field → resolver. A resolver has the parent's value, the executor's information, whose
`context` is a `Call`, and the field's arguments by name. Fields that are not named are read from
the parent's value, a mapping."""
