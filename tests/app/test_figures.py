"""A server's own figures of its request times."""

from __future__ import annotations

import math

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from lakewarden.app import metrics
from lakewarden.app.figures import figures, quantile
from lakewarden.http.exchange import BULK, LOGINS, READS, WRITES

REQUESTS = ("wire", "operation", "outcome", "model")
DURATION = ("wire", "class")


@pytest.fixture(autouse=True)
def counters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters for this test alone."""
    registry = CollectorRegistry()
    requests = Counter("lakewarden_requests_total", "-", REQUESTS, registry=registry)
    durations = Histogram(
        "lakewarden_request_seconds",
        "-",
        DURATION,
        buckets=metrics._SECONDS,
        registry=registry,
    )
    monkeypatch.setattr(metrics, "REQUESTS", requests)
    monkeypatch.setattr(metrics, "DURATION", durations)
    monkeypatch.setattr(metrics, "REGISTRY", registry)
    monkeypatch.setattr(metrics, "_counts", {})


def count(number: int, seconds: float, rate_class: str = READS) -> None:
    for _ in range(number):
        metrics.count("admin", rate_class, "realm.list", 200, "", seconds)
    metrics.write()


def test_one_slow_request_of_a_few_is_not_the_99th_percentile() -> None:
    count(30, 0.002)
    count(1, 2.6)
    found = figures(0.0, 1)
    assert found.p99_seconds is None
    assert found.median_seconds is not None
    assert 0.001 < found.median_seconds < 0.0025


def test_runs_of_the_checks_and_logins_are_not_requests_that_were_slow() -> None:
    count(60, 0.002)
    count(60, 0.002, WRITES)
    count(20, 4.0, BULK)
    count(20, 0.4, LOGINS)
    found = figures(0.0, 1)
    assert found.p99_seconds is not None
    assert found.p99_seconds <= 0.0025
    assert found.requests == {"done": 160}


def test_a_time_lies_within_its_bucket_and_not_at_the_edge() -> None:
    count(980, 0.002)
    count(20, 2.6)
    found = figures(0.0, 1)
    assert found.p99_seconds == 3.75


def test_before_the_first_request_nothing_is_said() -> None:
    found = figures(0.0, 1)
    assert (found.median_seconds, found.p99_seconds) == (None, None)


def test_beyond_the_last_bound_nothing_is_said() -> None:
    assert quantile({0.1: 98.0, math.inf: 100.0}, 0.99, fewest=1) is None
    assert quantile({0.1: 99.0, math.inf: 100.0}, 0.99, fewest=1) == 0.1


def test_plugins_that_come_by_ever_other_names_have_no_figures_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gauge = Gauge(metrics.PLUGINS._name, "-", ("realm", "service", "plugin"), registry=None)
    monkeypatch.setattr(metrics, "PLUGINS", gauge)
    monkeypatch.setattr(metrics, "_plugins", set())
    monkeypatch.setattr(metrics, "MOST_PLUGINS", 2)
    for newest, name in enumerate(("a", "b", "c", "a")):
        metrics.plugin_polled(("lake", "hive", name), float(newest))
    (family,) = gauge.collect()
    assert {one.labels["plugin"]: one.value for one in family.samples} == {"a": 3.0, "b": 1.0}
