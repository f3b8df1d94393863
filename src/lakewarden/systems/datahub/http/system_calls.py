"""Calls that manage the original's machinery, and have nothing to do here.

Who may not do them is refused like everywhere; who may is told by name that there is no such
function: what they mend or measure (an index beside the store, a queue, throttles) does not
exist here, or is done otherwise. SOURCE: the Rest.li interface definitions of operations,
entities, platform and runs, and the controllers of events and operations of the OpenAPI
interface, datahub-project/datahub@227e595b and later.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from lakewarden.http.exchange import Exchange, Handler, Reply, Route
from lakewarden.systems.datahub.http import timeseries
from lakewarden.systems.datahub.http.actions import Actions, memberships
from lakewarden.systems.datahub.http.authorization import allow
from lakewarden.systems.datahub.http.errors import Failure

_MANAGE: Final = "system.manage"
_RESTORE: Final = "system.indices.restore"
_EXPLAIN: Final = "system.query.explain"
_TASK: Final = "system.task.status"


def undone(operation: str, name: str) -> Handler:
    """A handler that refuses, or tells whoever may that there is no such function."""

    def handle(exchange: Exchange) -> Reply:
        allow(exchange, operation)
        raise Failure(HTTPStatus.NOT_IMPLEMENTED, f"`{name}` is not a function of this server")

    return handle


def poll(exchange: Exchange) -> Reply:
    """The events of a topic; which right it takes depends on the topic."""
    topic = exchange.one("topic")
    operation = "events.topic.read"
    if topic.startswith("PlatformEvent"):
        operation = "events.platform.read"
    elif topic.startswith("MetadataChangeLog"):
        operation = "events.change_log.read"
    return undone(operation, "poll")(exchange)


def _undone(actions: Mapping[str, str]) -> Actions:
    return {name: (operation, undone(operation, name)) for name, operation in actions.items()}


OF_ASPECTS: Final = _undone({"restoreIndices": _RESTORE})
OF_ENTITIES: Final = _undone(
    {
        "applyRetention": "system.retention.apply",
        "deleteAll": _MANAGE,
        "setWritable": "system.writeability.set",
    }
)
OF_OPERATIONS: Final[Actions] = {
    **timeseries.ACTIONS,
    **_undone({"getEsTaskStatus": _TASK, "restoreIndices": _RESTORE}),
}
OF_PLATFORM: Final = _undone({"producePlatformEvent": "system.event.produce"})
OF_RUNS: Final = _undone({"describe": _MANAGE, "list": _MANAGE, "rollback": _MANAGE})
"""What `?action=` may be, and the operation that it asks for, by the path that it belongs to."""

_ELASTIC: Final = "/openapi/operations/elasticSearch"
_ANALYTICS: Final = tuple(
    f"/openapi/{version}/analytics/datahub_usage_events/_search" for version in ("v1", "v2")
)

_OPEN: Final = (
    ("GET", f"{_ELASTIC}/getTaskStatus", _TASK, "getTaskStatus"),
    ("GET", f"{_ELASTIC}/explainSearchQuery", _EXPLAIN, "explainSearchQuery"),
    ("GET", f"{_ELASTIC}/explainSearchQueryDiff", _EXPLAIN, "explainSearchQueryDiff"),
    ("GET", f"{_ELASTIC}/restoreIndices", _RESTORE, "restoreIndices"),
    ("POST", f"{_ELASTIC}/restoreIndices", _RESTORE, "restoreIndices"),
    *(("POST", path, "analytics.read", "_search") for path in _ANALYTICS),
)
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_REST: Final = "/openapi/operations/{call:path}"
_WHY: Final = "every action asks for an operation of its own"
_TOPIC: Final = "which operation is asked for depends on the topic"

ROUTES: Final = (
    Route("POST", "/operations", "", memberships(OF_OPERATIONS), why=_WHY),
    Route("POST", "/platform", "", memberships(OF_PLATFORM), why=_WHY),
    Route("POST", "/runs", "", memberships(OF_RUNS), why=_WHY),
    Route("GET", "/openapi/v1/events/poll", "", poll, why=_TOPIC),
    *(Route(method, path, asked, undone(asked, name)) for method, path, asked, name in _OPEN),
    *(Route(method, _REST, _MANAGE, undone(_MANAGE, "operations")) for method in _METHODS),
)
