"""Platforms, their instances, roles of other systems, and policies as entities.

SOURCE: records of acryl-datahub 1.7.0.17; datahub reference 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization, policy_output
from lakewarden.systems.datahub.http.graphql.authorization import POLICIES
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.pages.assets import key, or_key
from lakewarden.systems.datahub.http.graphql.pages.following import (
    Fields,
    each,
    named,
    naming,
    shown,
)
from lakewarden.systems.datahub.http.graphql.pages.part import (
    Part,
    aspect,
    custom_properties,
    of_aspect,
    typed,
)
from lakewarden.systems.datahub.http.graphql.policy_output import Policy
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import POLICY

_OF_PLATFORM: Final[Fields] = {
    "type": typed(otherwise="OTHERS"),
    "datasetNameDelimiter": typed(otherwise="."),
}
_PLATFORM: Final = "dataPlatformInfo"

_USERS: Final = naming("actors", each("users", "user"), "corpuser")
_GROUPS: Final = naming("actors", each("groups", "group"), "corpGroup")


def _has(list: str, member: str, naming: Callable[..., Any]) -> Callable[..., Any]:
    """Who has the role, of those that the caller is shown."""

    def resolve(actors: Part, info: Info) -> Any:
        seen = shown(info.context, actors.entity, naming)
        found = named(one.get(member) for one in actors.parts(list))
        return [{member: one} for one in found if one in seen]

    return resolve


def _is_mine(role: Entity, info: Info) -> bool:
    return info.context.actor in _USERS(info.context, role)


def _policy(call: Call, entity: Entity) -> Mapping[str, Any]:
    """The policy, shown to whoever may list policies; empty to everybody else."""
    value = call.aspect(entity, POLICY)
    if not value or not authorization.may(call, "policy.list", POLICIES):
        return {}
    return policy_output.shown(Policy(entity.name, value))


def _of_policy(member: str) -> Callable[..., Any]:
    return lambda entity, info: _policy(info.context, entity).get(member)


RESOLVERS: Final[Resolvers] = {
    "DataPlatform": {
        "name": key(0),
        "properties": aspect(_PLATFORM),
        "info": aspect(_PLATFORM),
        "displayName": of_aspect(_PLATFORM),
    },
    "DataPlatformProperties": {**_OF_PLATFORM},
    "DataPlatformInfo": _OF_PLATFORM,
    "DataPlatformInstance": {
        "instanceId": key(1),
        "properties": aspect("dataPlatformInstanceProperties"),
    },
    "DataPlatformInstanceProperties": {"customProperties": custom_properties},
    "Role": {
        "id": key(0),
        "properties": aspect("roleProperties"),
        "actors": aspect("actors"),
        "isAssignedToMe": _is_mine,
    },
    "RoleProperties": {"name": or_key("name", 0)},
    "Actor": {"users": _has("users", "user", _USERS), "groups": _has("groups", "group", _GROUPS)},
    "DataHubPolicy": {
        **{
            name: _of_policy(name)
            for name in ("state", "description", "resources", "privileges", "actors", "editable")
        },
        "policyType": _of_policy("type"),
        "name": of_aspect(POLICY, or_key("displayName", 0)),
    },
}
