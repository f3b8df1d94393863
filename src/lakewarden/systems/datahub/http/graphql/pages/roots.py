"""Entities by their URNs. Missing entities and those hidden from the caller are both null."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.entities import is_known
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.resolving import Field, Info, Resolvers


def visible_or_null(call: Call, entities: Sequence[Entity]) -> list[Entity | None]:
    """The entities that exist and are visible to the caller; null for the others."""
    visible = set(authorization.visible(call, entities))
    result = [
        entity if entity in visible and is_known(call.state, entity) else None
        for entity in entities
    ]
    call.add_group(entity for entity in result if entity is not None)
    return result


def by_urn(types: Iterable[str], operation: str | None) -> Field:
    """A field that shows an entity; `operation`, if given, decides who may see it."""

    def look_up(_: object, info: Info, urn: str) -> Entity | None:
        call: Call = info.context
        entity = calls.entity(urn, *types)
        if operation is None:
            return visible_or_null(call, [entity])[0]
        authorization.allow(call, operation)
        return entity if is_known(call.state, entity) else None

    return look_up


def _entities(
    _: object,
    info: Info,
    urns: Sequence[str],
    checkForExistence: bool | None = None,  # noqa: ARG001, N803 — existence is always checked
) -> list[Entity | None]:
    call: Call = info.context
    most = call.exchange.services.page_rows
    if len(urns) > most:
        raise bad(f"expected at most {most} `urns`")
    return visible_or_null(call, [calls.entity(urn) for urn in urns])


def _exists(_: object, info: Info, urn: str) -> bool:
    return visible_or_null(info.context, [calls.entity(urn)])[0] is not None


RESOLVERS: Final[Resolvers] = {"Query": {"entities": _entities, "entityExists": _exists}}
