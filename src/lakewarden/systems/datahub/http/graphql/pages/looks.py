"""What most entities say of themselves: whether they are there, how they look, what is written.

`aspects` shows them as they are stored, to whoever may read the entity by the other APIs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import entity_privileges
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.pages.following import (
    Fields,
    each,
    many,
    named,
    naming,
    shown,
    under,
)
from lakewarden.systems.datahub.http.graphql.pages.part import (
    Part,
    aspect,
    typed,
)
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_NO_RUN: Final = "no-run-id-provided"
"""The run of what was written outside of one."""

SIBLINGS: Final = naming("siblings", under("siblings"))
_STEPS: Final = naming("browsePathsV2", each("path", "urn"))
_ROLES: Final = naming("access", each("roles", "urn"), "role")


def _ingested(entity: Entity, info: Info) -> int | None:
    """When a run of an ingestion saw one of its aspects last."""
    call: Call = info.context
    systems = [one.system for one in call.aspects([entity]).get(entity, {}).values()]
    seen = [
        time
        for one in systems
        if isinstance(time := one.get("lastObserved"), int) and one.get("runId", _NO_RUN) != _NO_RUN
    ]
    return max(seen, default=None)


def _steps(path: Part, info: Info) -> list[Mapping[str, Any]]:
    """The steps, but those that stand for what the caller is not shown."""
    seen = shown(info.context, path.entity, _STEPS)
    found: list[Mapping[str, Any]] = []
    for step in path.parts("path"):
        there = named((step.get("urn"),))
        if step.text("id") is not None and (not there or there[0] in seen):
            found.append({"name": step.text("id"), "entity": there[0] if there else None})
    return found


def _roles(access: Part, info: Info) -> list[Mapping[str, Any]]:
    seen = shown(info.context, access.entity, _ROLES)
    roles = named((one.get("urn") for one in access.parts("roles")), frozenset({"role"}))
    of = access.entity.name
    return [{"role": role, "associatedUrn": of} for role in roles if role in seen]


def _raw(
    entity: Entity, info: Info, input: Mapping[str, Any] | None = None
) -> list[Mapping[str, Any]] | None:
    call: Call = info.context
    if not entity_privileges.holds(call, "entity.read", entity):
        return None
    asked = input or {}
    if asked.get("autoRenderOnly"):
        return []
    found = call.aspects([entity]).get(entity, {})
    wanted = asked.get("aspectNames")
    return [
        {"aspectName": name, "payload": msgspec.json.encode(found[name].value).decode()}
        for name in sorted(found)
        if wanted is None or name in wanted
    ]


def _documentations(documentation: Part, _info: Info) -> list[Part]:
    found = documentation.parts("documentations")
    return [one for one in found if one.text("documentation") is not None]


SHARED: Final[Fields] = {
    "access": aspect("access"),
    "aspects": _raw,
    "assetOrigin": aspect("origin"),
    "browsePathV2": aspect("browsePathsV2"),
    "displayProperties": aspect("displayProperties"),
    "documentation": aspect("documentation"),
    "embed": aspect("embed"),
    "lastIngested": _ingested,
    "siblings": aspect("siblings"),
    "status": aspect("status"),
    "subTypes": aspect("subTypes"),
}

RESOLVERS: Final[Resolvers] = {
    "Access": {"roles": _roles},
    "BrowsePathV2": {"path": _steps},
    "Documentation": {"documentations": _documentations},
    "SiblingProperties": {"isPrimary": typed("primary"), "siblings": many(SIBLINGS)},
}
