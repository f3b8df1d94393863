"""Connections to other platforms: their details are stored sealed, and never returned.

SOURCE: datahub reference 1.1; datahub-project/datahub:…/resolvers/connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import sealed, shapes
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    Kind,
    deletion,
    mutation,
    new_entity,
)
from lakewarden.systems.datahub.http.graphql.records import Input, members, provided_members
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_ASPECT: Final = "dataHubConnectionDetails"
_PLATFORM: Final = "dataPlatformInstance"
_TYPE: Final = "dataHubConnection"
_KEY: Final = "json"
_MANAGE: Final = "connection.manage"


def _upsert(changes: AspectChanges, connection: Entity, input: Input) -> None:
    if "urn" in input:
        changes.check_exists(connection)
    details = sealed.stored_without_secret(changes, connection, _ASPECT)
    members_of_input = provided_members(members("name"), input)
    changes.put(connection, _ASPECT, {**details, "type": "JSON", **members_of_input})
    if input.get("platformUrn") is not None:
        platform = calls.entity(input["platformUrn"], "dataPlatform")
        changes.merge(connection, _PLATFORM, platform=platform.name)
    if input.get(_KEY) is not None:
        sealed.seal(changes, connection, _KEY, input[_KEY]["blob"])


def _connection_of(_: Call, input: Input) -> list[Entity]:
    """The connection; a new one requires its details."""
    if "urn" in input:
        return [calls.entity(input["urn"], _TYPE)]
    connection = new_entity(_TYPE, input.get("id"))
    if input.get(_KEY) is None:
        raise bad("expected `json`: the details of the connection")
    return [connection]


_UPSERT: Final = mutation(
    _connection_of, _MANAGE, _upsert, about=NO_RESOURCE, audited_as="connection"
)


def _details(connection: Entity, info: Info) -> Mapping[str, Any]:
    call: Call = info.context
    authorization.allow(call, _MANAGE)
    value = sealed.without_secrets(call, [connection], _ASPECT).get(connection, {})
    return {"type": "JSON", "name": shapes.text(value.get("name"))}


def _json(_: object, _info: Info) -> None:
    raise sealed.sealed_failure("what a connection is made with")


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "upsertConnection": _UPSERT,
        "updateConnection": _UPSERT,
        "deleteConnection": deletion(Kind(_TYPE, _ASPECT, audited_as="connection"), _MANAGE),
    },
    "DataHubConnectionDetails": {"json": _json},
    "DataHubConnection": {"details": _details},
}
