"""Calls that operate the original's infrastructure, without a counterpart here.

Callers without the right are refused as usual; others get 501 with the name of the function. The
objects of these calls (an index beside the store, a queue, throttles) do not exist here, or work
differently. SOURCE: the Rest.li interface definitions of operations, entities, platform and
runs, and the controllers of events and operations of the OpenAPI interface,
datahub-project/datahub@227e595b and later.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from lakewarden.http.exchange import Exchange, Handler, Reply, Route
from lakewarden.systems.datahub.http import timeseries
from lakewarden.systems.datahub.http.actions import Actions, action_route
from lakewarden.systems.datahub.http.authorization import allow
from lakewarden.systems.datahub.http.errors import Failure

_MANAGE: Final = "system.manage"
_RESTORE: Final = "system.indices.restore"
_EXPLAIN: Final = "system.query.explain"
_TASK: Final = "system.task.status"


def not_implemented(operation: str, name: str) -> Handler:
    """A handler that refuses callers without the right, and answers others with 501."""

    def handle(exchange: Exchange) -> Reply:
        allow(exchange, operation)
        raise Failure(HTTPStatus.NOT_IMPLEMENTED, f"`{name}` is not a function of this server")

    return handle


def poll(exchange: Exchange) -> Reply:
    """The events of a topic; the required right depends on the topic."""
    topic = exchange.one("topic")
    operation = "events.topic.read"
    if topic.startswith("PlatformEvent"):
        operation = "events.platform.read"
    elif topic.startswith("MetadataChangeLog"):
        operation = "events.change_log.read"
    return not_implemented(operation, "poll")(exchange)


def _not_implemented(actions: Mapping[str, str]) -> Actions:
    return {
        name: (operation, not_implemented(operation, name)) for name, operation in actions.items()
    }


OF_ASPECTS: Final = _not_implemented({"restoreIndices": _RESTORE})
OF_ENTITIES: Final = _not_implemented(
    {
        "applyRetention": "system.retention.apply",
        "deleteAll": _MANAGE,
        "setWritable": "system.writeability.set",
    }
)
OF_OPERATIONS: Final[Actions] = {
    **timeseries.ACTIONS,
    **_not_implemented({"getEsTaskStatus": _TASK, "restoreIndices": _RESTORE}),
}
OF_PLATFORM: Final = _not_implemented({"producePlatformEvent": "system.event.produce"})
OF_RUNS: Final = _not_implemented({"describe": _MANAGE, "list": _MANAGE, "rollback": _MANAGE})
"""The values of `?action=` and their operations, by path."""

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
_TOPIC: Final = "which operation is asked for depends on the topic"

ROUTES: Final = (
    action_route("/operations", OF_OPERATIONS, body_limit=None),
    action_route("/platform", OF_PLATFORM, body_limit=None),
    action_route("/runs", OF_RUNS, body_limit=None),
    Route("GET", "/openapi/v1/events/poll", "", poll, why=_TOPIC),
    *(
        Route(method, path, operation, not_implemented(operation, name))
        for method, path, operation, name in _OPEN
    ),
    *(Route(method, _REST, _MANAGE, not_implemented(_MANAGE, "operations")) for method in _METHODS),
)
