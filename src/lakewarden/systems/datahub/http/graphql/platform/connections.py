"""Connections to other platforms: their details are kept sealed, and never given back.

SOURCE: datahub reference 1.1; datahub-project/datahub:…/resolvers/connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.entities import is_known
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import sealed, shapes
from lakewarden.systems.datahub.http.graphql.platform.draft import Draft, given, named, write
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_ASPECT: Final = "dataHubConnectionDetails"
_PLATFORM: Final = "dataPlatformInstance"
_TYPE: Final = "dataHubConnection"
_KEY: Final = "json"
_MANAGE: Final = "connection.manage"


def _connection(_: object, info: Info, urn: str) -> Entity | None:
    call: Call = info.context
    connection = calls.entity(urn, _TYPE)
    authorization.allow(call, _MANAGE)
    return connection if is_known(call.state, connection) else None


def _upsert(_: object, info: Info, input: Mapping[str, Any]) -> Entity:
    connection = named(_TYPE, input.get("id"))
    if input.get("json") is None:
        raise bad("expected `json`: the details of the connection")

    def task(draft: Draft) -> Entity:
        _put(draft, connection, input)
        return connection

    return write(info.context, _MANAGE, NO_RESOURCE, task, {"connection": connection.name})


def _update(_: object, info: Info, input: Mapping[str, Any]) -> Entity:
    connection = calls.entity(input["urn"], _TYPE)

    def task(draft: Draft) -> Entity:
        draft.check_there(connection)
        _put(draft, connection, input)
        return connection

    return write(info.context, _MANAGE, NO_RESOURCE, task, {"connection": connection.name})


def _put(draft: Draft, connection: Entity, input: Mapping[str, Any]) -> None:
    details = sealed.written(draft, connection, _ASPECT)
    draft.put(connection, _ASPECT, {**details, "type": "JSON", **given(input, "name")})
    if input.get("platformUrn") is not None:
        platform = calls.entity(input["platformUrn"], "dataPlatform")
        kept = draft.value(connection, _PLATFORM)
        draft.put(connection, _PLATFORM, {**kept, "platform": platform.name})
    if input.get("json") is not None:
        sealed.seal(draft, connection, _KEY, input["json"]["blob"])


def _details(connection: Entity, info: Info) -> Mapping[str, Any]:
    call: Call = info.context
    authorization.allow(call, _MANAGE)
    value = sealed.shown(call, [connection], _ASPECT).get(connection, {})
    return {"type": "JSON", "name": shapes.text(value.get("name"))}


def _json(_: object, _info: Info) -> None:
    raise sealed.never_given("what a connection is made with")


def _platform(connection: Entity, info: Info) -> Entity | None:
    value = info.context.aspect(connection, _PLATFORM)
    return shapes.entity(value.get("platform"), "dataPlatform")


RESOLVERS: Final[Resolvers] = {
    "Query": {"connection": _connection},
    "Mutation": {
        "upsertConnection": _upsert,
        "updateConnection": _update,
    },
    "DataHubConnection": {"details": _details, "platform": _platform},
    "DataHubConnectionDetails": {"json": _json},
}
