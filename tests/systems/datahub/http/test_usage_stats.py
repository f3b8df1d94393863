"""Usage in the older interface: writes and queries."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.datahub.http.wire import Wire

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
ANA = "urn:li:corpuser:ana"
BOB = "urn:li:corpuser:bob"
INGEST = "/usageStats?action=batchIngest"
QUERY = "/usageStats?action=query"
RANGE = "/usageStats?action=queryRange"
ASKED = {"resource": ORDERS, "duration": "DAY"}


def bucket(time: int, *users: tuple[str, int], duration: str = "DAY") -> dict[str, Any]:
    counts = [{"user": user, "count": count, "userEmail": f"{user}@x"} for user, count in users]
    metrics = {
        "uniqueUserCount": len(users),
        "totalSqlQueries": sum(count for _, count in users),
        "users": counts,
        "fields": [{"fieldName": "id", "count": 2}],
    }
    return {"bucket": time, "duration": duration, "resource": ORDERS, "metrics": metrics}


def test_buckets_come_back_as_they_were_written_with_what_they_come_to(wire: Wire) -> None:
    first, second = bucket(10, (ANA, 2)), bucket(20, (ANA, 1), (BOB, 5))
    wire.good("POST", INGEST, {"buckets": [second, first, bucket(15, duration="HOUR")]})
    told = wire.good("POST", QUERY, ASKED)["value"]
    assert told["buckets"] == [first, second]
    together = told["aggregations"]
    assert [(one["user"], one["count"]) for one in together["users"]] == [(BOB, 5), (ANA, 3)]
    assert (together["uniqueUserCount"], together["totalSqlQueries"]) == (2, 8)
    assert together["fields"] == [{"fieldName": "id", "count": 4}]


def test_windows_ranges_and_limits_pick_buckets(wire: Wire) -> None:
    now = int(wire.service.clock() * 1_000)
    old = bucket(now - 10 * 86_400_000)
    wire.good("POST", INGEST, {"buckets": [bucket(now - 1_000), old]})
    asked = {**ASKED, "startTime": now - 2_000}
    assert len(wire.good("POST", QUERY, asked)["value"]["buckets"]) == 1
    (one,) = wire.good("POST", QUERY, {**ASKED, "maxBuckets": 1})["value"]["buckets"]
    assert one["bucket"] == now - 1_000
    for word, count in (("WEEK", 1), ("MONTH", 2), ("ALL", 2)):
        told = wire.good("POST", RANGE, {**ASKED, "rangeFromEnd": word})
        assert len(told["value"]["buckets"]) == count


def test_usage_is_asked_for_by_its_own_privilege_and_written_as_any_aspect(wire: Wire) -> None:
    body = {"buckets": [bucket(1)]}
    assert wire.bad("POST", INGEST, body, "eve") == 403
    wire.grant("write", "EDIT_ENTITY", to="eve")
    wire.good("POST", INGEST, body, "eve")
    assert wire.bad("POST", QUERY, ASKED, "eve") == 403
    wire.grant("usage", "VIEW_DATASET_USAGE", to="eve", URN=[ORDERS])
    assert len(wire.good("POST", QUERY, ASKED, "eve")["value"]["buckets"]) == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (INGEST, {"buckets": [{**bucket(1), "duration": "AGE"}]}),
        (INGEST, {"buckets": [{**bucket(1), "resource": ANA}]}),
        (INGEST, {"buckets": [{**bucket(1), "bucket": "now"}]}),
        (QUERY, {**ASKED, "duration": "AGE"}),
        (QUERY, {**ASKED, "startTime": "x"}),
        (RANGE, {**ASKED, "rangeFromEnd": "AGE"}),
    ],
)
def test_what_makes_no_sense_is_400(wire: Wire, path: str, body: dict[str, Any]) -> None:
    assert wire.bad("POST", path, body) == 400
