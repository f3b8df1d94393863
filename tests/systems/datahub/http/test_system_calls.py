"""Calls that manage the original's machinery: refused, or reported as missing."""

from __future__ import annotations

import json

import pytest

from lakewarden.systems.datahub.http import system_calls
from tests.systems.datahub.http.wire import Wire

ELASTIC = "/openapi/operations/elasticSearch"
CALLS = [
    ("POST", "/aspects?action=restoreIndices", "RESTORE_INDICES_PRIVILEGE"),
    ("POST", "/operations?action=restoreIndices", "RESTORE_INDICES_PRIVILEGE"),
    ("GET", f"{ELASTIC}/restoreIndices?urn=x", "RESTORE_INDICES_PRIVILEGE"),
    ("POST", f"{ELASTIC}/restoreIndices", "RESTORE_INDICES_PRIVILEGE"),
    ("POST", "/operations?action=getEsTaskStatus", "GET_ES_TASK_STATUS_PRIVILEGE"),
    ("GET", f"{ELASTIC}/getTaskStatus?task=a:1", "GET_ES_TASK_STATUS_PRIVILEGE"),
    ("GET", f"{ELASTIC}/explainSearchQuery?query=x", "ES_EXPLAIN_QUERY_PRIVILEGE"),
    ("GET", f"{ELASTIC}/explainSearchQueryDiff", "ES_EXPLAIN_QUERY_PRIVILEGE"),
    ("POST", "/entities?action=setWritable", "SET_WRITEABLE_PRIVILEGE"),
    ("POST", "/entities?action=applyRetention", "APPLY_RETENTION_PRIVILEGE"),
    ("POST", "/entities?action=deleteAll", "MANAGE_SYSTEM_OPERATIONS"),
    ("POST", "/platform?action=producePlatformEvent", "PRODUCE_PLATFORM_EVENT_PRIVILEGE"),
    ("GET", "/openapi/v1/events/poll?topic=PlatformEvent_v1", "GET_PLATFORM_EVENTS"),
    (
        "GET",
        "/openapi/v1/events/poll?topic=MetadataChangeLog_Versioned_v1",
        "GET_METADATA_CHANGE_LOG_EVENTS",
    ),
    ("GET", "/openapi/v1/events/poll?topic=Other", "GET_TOPIC_EVENTS"),
    ("POST", "/runs?action=list", "MANAGE_SYSTEM_OPERATIONS"),
    ("POST", "/runs?action=describe", "MANAGE_SYSTEM_OPERATIONS"),
    ("POST", "/runs?action=rollback", "MANAGE_SYSTEM_OPERATIONS"),
    ("GET", "/openapi/operations/throttle/requests", "MANAGE_SYSTEM_OPERATIONS"),
    ("POST", "/openapi/operations/throttle/requests", "MANAGE_SYSTEM_OPERATIONS"),
    ("GET", "/openapi/operations/kafka/mcp/consumer/offsets", "MANAGE_SYSTEM_OPERATIONS"),
    ("GET", "/openapi/operations/messaging/mcp/consumer/lag", "MANAGE_SYSTEM_OPERATIONS"),
    ("POST", f"{ELASTIC}/entity/raw", "MANAGE_SYSTEM_OPERATIONS"),
    ("POST", "/openapi/v1/analytics/datahub_usage_events/_search", "GET_ANALYTICS_PRIVILEGE"),
    ("POST", "/openapi/v2/analytics/datahub_usage_events/_search", "VIEW_ANALYTICS"),
    ("DELETE", "/openapi/operations/k8/jobs/x", "MANAGE_SYSTEM_OPERATIONS"),
]


def platform(wire: Wire, privilege: str) -> None:
    wire.put(
        (
            "urn:li:dataHubPolicy:platform",
            "dataHubPolicyInfo",
            {
                "displayName": "x",
                "description": "",
                "type": "PLATFORM",
                "state": "ACTIVE",
                "privileges": [privilege],
                "actors": {"users": ["urn:li:corpuser:eve"], "resourceOwners": False},
            },
        )
    )


@pytest.mark.parametrize(("method", "path", "privilege"), CALLS)
@pytest.mark.parametrize("below", ["", "/api/gms"])
def test_refused_is_403_and_allowed_501_that_names_it(
    wire: Wire, method: str, path: str, privilege: str, below: str
) -> None:
    body: dict[str, object] | None = {} if method == "POST" else None
    assert wire.bad(method, below + path, body, "eve") == 403
    platform(wire, privilege)
    assert wire.bad(method, below + path, body, "eve") == 501
    platform(wire, "MANAGE_SYSTEM_OPERATIONS")
    assert wire.bad(method, below + path, body, "eve") == 501
    told = json.loads(wire.send(method, path, b"{}", user="eve").body)
    assert "is not a function of this server" in told["message"]


def test_every_undone_call_is_among_these() -> None:
    actions = {
        *system_calls.OF_ASPECTS,
        *system_calls.OF_ENTITIES,
        *system_calls.OF_PLATFORM,
        *system_calls.OF_RUNS,
        *(system_calls.OF_OPERATIONS.keys() - {"getIndexSizes", "truncateTimeseriesAspect"}),
    }
    asked = {path.partition("action=")[2] for _, path, _ in CALLS}
    assert actions <= asked
