"""Metrics over the wire: who may emit and view them (K14, K23), and that counters count."""

from __future__ import annotations

from typing import Any

import pytest

from lakewarden.systems.cdap.http import metrics
from lakewarden.systems.cdap.settings import CdapLimits
from tests.systems.cdap.http.estate import API, CLICKS, NIGHTLY, ORDERS, Clock, build, give, lets
from tests.systems.cdap.http.wire import BOSS, Json, Wire, limit

QUERY = "metrics/query"

COUNTED = {
    "program:sales.shop.workflow.nightly": NIGHTLY,
    "dataset:sales.orders": ORDERS,
    "stream:sales.clicks": CLICKS,
}
"""Entities with counters, and their paths."""


@pytest.fixture
def clock() -> Clock:
    return Clock(1_700_000_040.0)


@pytest.fixture
def new(wire: Wire, clock: Clock) -> Wire:
    """The estate in the later profile."""
    wire.built(build)
    wire.service.clock = clock
    return wire


def emit(wire: Wire, path: str, **numbers: float) -> None:
    wire.good("POST", f"{path}/metrics", numbers)


def series(wire: Wire, query: str, user: str = BOSS) -> list[Json]:
    found: list[Json] = wire.good("POST", f"{QUERY}?{query}", user=user)["series"]
    return found


def total(wire: Wire, query: str, user: str = BOSS) -> Any:
    found = series(wire, query, user)
    return found[0]["data"][0]["value"] if found else None


@pytest.mark.parametrize("path", COUNTED.values(), ids=COUNTED)
def test_what_is_emitted_is_added_up(new: Wire, clock: Clock, path: str) -> None:
    emit(new, path, rows=2, errors=1)
    clock.now += 3_600
    emit(new, path, rows=3, seconds=0.5)
    new.reopened()
    assert new.good("GET", f"{path}/metrics") == {"errors": 1, "rows": 5, "seconds": 0.5}


@pytest.mark.parametrize("id", COUNTED)
def test_write_emits_and_read_views_in_the_later_profile(new: Wire, id: str) -> None:
    give(new, id)
    assert lets(new, "POST", f"{COUNTED[id]}/metrics", {"n": 1}) == {"writer"}
    assert lets(new, "GET", f"{COUNTED[id]}/metrics") == {"reader"}


@pytest.mark.parametrize("id", COUNTED)
def test_write_on_the_namespace_emits_and_read_views_in_the_older_profile(
    old: Wire, id: str
) -> None:
    build(old)
    give(old, id)
    path = f"{COUNTED[id]}/metrics"
    assert lets(old, "POST", path, {"n": 1}) == set()
    assert lets(old, "GET", path) == {"reader"}
    old.grant("source", "namespace:sales", "WRITE")
    assert old.status("POST", path, {"n": 1}, user="source") == 200
    assert old.status("GET", path, user="source") == 403


def test_totals_outlive_the_minutes_that_are_kept_as_is_said(new: Wire, clock: Clock) -> None:
    limit(new, CdapLimits(metric_minutes=2))
    for _ in range(4):
        emit(new, ORDERS, rows=1)
        clock.now += 60
    assert new.good("GET", f"{ORDERS}/metrics") == {"rows": 4}
    tags = "tag=namespace:sales&tag=dataset:orders&metric=rows"
    assert total(new, f"{tags}&start=1&aggregate=true") == 2


def test_the_number_of_metrics_is_a_setting_and_existing_ones_continue(new: Wire) -> None:
    emit(new, ORDERS, a=1, b=1, c=1)
    limit(new, CdapLimits(metrics=2))
    assert new.status("POST", f"{ORDERS}/metrics", {"d": 1, "a": 1}) == 400
    emit(new, ORDERS, a=1, c=1)
    assert new.good("GET", f"{ORDERS}/metrics") == {"a": 2, "b": 1, "c": 2}


def test_the_number_of_queries_in_one_request_is_a_setting(new: Wire) -> None:
    limit(new, CdapLimits(metric_queries=1))
    query = {"tags": {"namespace": "sales", "dataset": "orders"}, "metrics": ["rows"]}
    assert new.status("POST", "metrics/query", {"a": query, "b": query}) == 400
    assert new.status("POST", "metrics/query", {"a": query}) == 200


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"n": "1"},
        {"n": None},
        {"n": True},
        {"": 1},
        {"a b": 1},
        {"n": 2**63},
        {"n" * 256: 1},
        {f"n{number}": 1 for number in range(501)},
    ],
)
def test_what_is_no_metric_is_400_and_counts_nothing(new: Wire, body: Any) -> None:
    assert new.status("POST", f"{ORDERS}/metrics", body) == 400
    assert new.good("GET", f"{ORDERS}/metrics") == {}


def test_refused_before_not_found(new: Wire) -> None:
    path = "namespaces/sales/streams/absent/metrics"
    assert new.status("GET", path, user="eve") == 403
    assert new.status("GET", path) == 404
    assert new.status("POST", path, {"n": 1}) == 404


NIGHTLY_TAGS = "tag=namespace:sales&tag=app:shop&tag=workflow:nightly&metric=rows"


def test_a_query_sums_what_its_tags_name(new: Wire) -> None:
    emit(new, NIGHTLY, rows=1)
    emit(new, API, rows=2)
    emit(new, ORDERS, rows=4)
    assert total(new, NIGHTLY_TAGS) == 1
    assert total(new, "tag=namespace:sales&tag=app:shop&metric=rows") == 3
    assert total(new, "tag=namespace:sales&tag=app:shop&tag=service:*&metric=rows") == 2
    assert total(new, "tag=namespace:sales&tag=dataset:orders&metric=rows") == 4
    assert total(new, "tag=namespace:sales&metric=rows") == 7
    assert total(new, "tag=namespace:*&metric=rows") == 7
    assert total(new, "metric=rows") == 7
    assert series(new, "tag=namespace:sales&tag=app:other&metric=rows") == []
    assert series(new, f"{NIGHTLY_TAGS}&tag=odd:x") == []


def test_one_thing_that_the_tags_name_is_refused_as_viewing_it_is(new: Wire) -> None:
    emit(new, NIGHTLY, rows=1)
    give(new, "program:sales.shop.workflow.nightly")
    assert lets(new, "POST", f"{QUERY}?{NIGHTLY_TAGS}") == {"reader"}
    status, text = new.ask("POST", f"{QUERY}?{NIGHTLY_TAGS}", user="writer")
    assert status == 403
    assert "[READ]" in text


def test_a_wider_query_sums_only_what_the_caller_may_view(new: Wire) -> None:
    emit(new, NIGHTLY, rows=1)
    emit(new, API, rows=2)
    emit(new, CLICKS, rows=4)
    new.grant("eve", "program:sales.shop.service.api", "READ")
    new.grant("eve", "program:sales.shop.workflow.nightly", "WRITE", "EXECUTE", "ADMIN")
    assert total(new, "tag=namespace:sales&metric=rows", "eve") == 2
    assert series(new, "tag=namespace:sales&metric=rows", "zed") == []
    grouped = series(new, "tag=namespace:sales&metric=rows&groupBy=app,workflow", "eve")
    assert [one["grouping"] for one in grouped] == [{"app": "shop"}]


def test_many_things_are_summed_as_a_few_are(new: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_FEW", 1)
    emit(new, NIGHTLY, rows=1)
    emit(new, API, rows=2, calls=9)
    emit(new, ORDERS, rows=4)
    new.grant("eve", "program:sales.shop.*", "READ")
    assert total(new, "tag=namespace:sales&metric=rows") == 7
    assert total(new, "tag=namespace:sales&metric=rows", "eve") == 3
    assert total(new, "tag=namespace:sales&metric=rows&start=now-5m&aggregate=true", "eve") == 3
    found = new.good("POST", "metrics/search?target=metric", user="eve")
    assert found == ["calls", "rows"]


def test_a_query_is_split_by_tags(new: Wire) -> None:
    emit(new, NIGHTLY, rows=1)
    emit(new, API, rows=2)
    found = series(new, "tag=namespace:sales&metric=rows&groupBy=service")
    split = [(one["grouping"], one["data"]) for one in found]
    assert split == [
        ({}, [{"time": 0, "value": 1}]),
        ({"service": "api"}, [{"time": 0, "value": 2}]),
    ]


def test_a_query_in_time_tells_each_step(new: Wire, clock: Clock) -> None:
    at = int(clock.now)
    emit(new, NIGHTLY, rows=1)
    clock.now += 61
    emit(new, NIGHTLY, rows=2)
    clock.now += 7_200
    emit(new, NIGHTLY, rows=4)
    minute, hour = at // 60 * 60, at // 3_600 * 3_600
    found = new.good("POST", f"{QUERY}?{NIGHTLY_TAGS}&start={at}&end={at + 120}")
    assert found == {
        "startTime": at,
        "endTime": at + 120,
        "series": [
            {
                "metricName": "rows",
                "grouping": {},
                "data": [{"time": minute, "value": 1}, {"time": minute + 60, "value": 2}],
            }
        ],
        "resolution": "60s",
    }
    (hours,) = series(new, f"{NIGHTLY_TAGS}&start={at}&resolution=1h")
    assert [one["value"] for one in hours["data"]] == [3, 4]
    assert hours["data"][0]["time"] == hour
    assert total(new, f"{NIGHTLY_TAGS}&start={at + 60}&aggregate=true") == 6


def test_several_queries_are_answered_by_name(new: Wire) -> None:
    emit(new, NIGHTLY, rows=1, errors=3)
    tags = {"namespace": "sales", "app": "shop"}
    body = {
        "all": {"tags": tags, "metrics": ["rows", "errors"], "groupBy": ["workflow"]},
        "ever": {"tags": tags, "metrics": ["rows"], "timeRange": {"aggregate": True}},
        "late": {"tags": tags, "metrics": ["rows"], "timeRange": {"start": "now", "end": "now"}},
    }
    found = new.good("POST", QUERY, body)
    assert [one["metricName"] for one in found["all"]["series"]] == ["errors", "rows"]
    assert found["ever"] == {
        "startTime": 0,
        "endTime": 0,
        "series": [
            {"metricName": "rows", "grouping": {}, "data": [{"time": 0, "value": 1}]},
        ],
        "resolution": "2147483647s",
    }
    assert found["late"]["series"] == []


def test_metrics_and_tags_are_found_on_what_the_caller_may_view(new: Wire) -> None:
    emit(new, NIGHTLY, rows=1)
    emit(new, API, calls=2)
    emit(new, ORDERS, size=3)
    new.grant("eve", "program:sales.shop.service.api", "READ")

    def found(query: str, user: str = "eve") -> Any:
        return new.good("POST", f"metrics/search?{query}", user=user)

    assert found("target=metric&tag=namespace:sales") == ["calls"]
    assert found("target=metric", BOSS) == ["calls", "rows", "size"]
    assert found("target=tag") == [{"name": "namespace", "value": "sales"}]
    assert found("target=tag&tag=namespace:sales") == [{"name": "app", "value": "shop"}]
    apps = "target=tag&tag=namespace:sales&tag=app:shop"
    assert found(apps) == [{"name": "service", "value": "api"}]
    assert found(apps, "zed") == []
    assert found(f"{apps}&tag=service:api") == []
    hidden = f"metrics/search?{apps}&tag=workflow:nightly"
    assert new.status("POST", hidden, user="eve") == 403
    assert new.status("POST", "metrics/search?target=odd") == 400


def test_one_refused_query_refuses_the_call(new: Wire) -> None:
    tags = {"namespace": "sales", "dataset": "orders"}
    wide = {"tags": {"namespace": "sales"}, "metrics": ["rows"]}
    body = {"wide": wide, "one": {"tags": tags, "metrics": ["rows"]}}
    assert new.status("POST", QUERY, body, user="eve") == 403
    assert new.status("POST", QUERY, {"wide": wide}, user="eve") == 200


@pytest.mark.parametrize(
    "query",
    [
        "tag=namespace:sales",
        "tag=namespace&metric=n",
        "tag=:sales&metric=n",
        "tag=namespace:&metric=n",
        "tag=namespace:a%20b&metric=n",
        "metric=n&resolution=3d",
        "metric=n&start=x",
        "metric=n&start=2&end=1",
        "",
    ],
)
def test_what_cannot_be_queried_is_400(new: Wire, query: str) -> None:
    assert new.status("POST", f"{QUERY}?{query}", {}) == 400


@pytest.mark.parametrize("body", [[], {"q": 1}, {"q": {"tags": {"a": 1}}}, {"q": {}}])
def test_a_body_that_is_no_query_is_400(new: Wire, body: Any) -> None:
    assert new.status("POST", QUERY, body) == 400
