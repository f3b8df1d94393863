"""Roles of other systems. SOURCE: datahub reference 2."""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.references import naming
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_USERS: Final = naming(("actors", "users", "user"), frozenset({"corpuser"}))


def _belongs_to_caller(role: Entity, info: Info) -> bool:
    return info.context.actor in _USERS(info.context, role)


RESOLVERS: Final[Resolvers] = {"Role": {"isAssignedToMe": _belongs_to_caller}}
