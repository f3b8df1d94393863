"""Stored aspects, for callers who may read the entity by the other APIs; and the last run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import entity_privileges
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.resolving import Fields, Info

_NO_RUN: Final = "no-run-id-provided"
"""The run id of writes outside of a run."""


def _last_ingested(entity: Entity, info: Info) -> int | None:
    """When an ingestion run last observed one of the entity's aspects."""
    call: Call = info.context
    systems = [aspect.system for aspect in call.aspects([entity]).get(entity, {}).values()]
    times = [
        time
        for system in systems
        if isinstance(time := system.get("lastObserved"), int)
        and system.get("runId", _NO_RUN) != _NO_RUN
    ]
    return max(times, default=None)


def _raw(
    entity: Entity, info: Info, input: Mapping[str, Any] | None = None
) -> list[Mapping[str, Any]] | None:
    call: Call = info.context
    if not entity_privileges.has_privilege(call, "entity.read", entity):
        return None
    options = input or {}
    if options.get("autoRenderOnly"):
        return []
    stored, names = call.aspects([entity]).get(entity, {}), options.get("aspectNames")
    return [
        {"aspectName": name, "payload": msgspec.json.encode(stored[name].value).decode()}
        for name in sorted(stored)
        if names is None or name in names
    ]


SHARED: Final[Fields] = {"aspects": _raw, "lastIngested": _last_ingested}
