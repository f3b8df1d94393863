"""Figures for Prometheus: how many requests came, how they ended, how long they took.

Labels are wire, operation, outcome and model only, and plugins of engines by the names that they
give themselves: never a subject or an object. With several workers each process counts in its own
file, and the process that serves the figures adds the files up; this requires
`PROMETHEUS_MULTIPROC_DIR` to be set before this module is imported.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import Counter as Counts
from pathlib import Path
from typing import Final

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from lakewarden.app.readiness import is_alive

SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable that names the directory with the counts of all processes."""

CONTENT_TYPE = CONTENT_TYPE_LATEST

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

REQUESTS = Counter(
    "lakewarden_requests_total",
    "Requests by status",
    ["wire", "operation", "outcome", "model"],
)
DURATION = Histogram(
    "lakewarden_request_seconds",
    "Time from the request head to the answer",
    ["wire", "class"],
    buckets=_SECONDS,
)
ERRORS = Counter(
    "lakewarden_errors_total",
    "Requests that failed with an unexpected error; each was denied",
    ["wire", "operation"],
)
KERNEL_ERRORS = Counter(
    "lakewarden_kernel_errors_total",
    "Requests that could not be evaluated and were denied",
    ["model"],
)
STALE = Counter(
    "lakewarden_stale_answers_total", "Answers from the last state while the store was unavailable"
)
QUESTIONS = Counter("lakewarden_freshness_questions_total", "Queries for the newest revision")
RATE_LIMITED = Counter(
    "lakewarden_rate_limited_total",
    "Requests that the rate limit rejected",
    ["wire", "class"],
)
REVISION = Gauge("lakewarden_revision", "The newest known revision", multiprocess_mode="max")
ENTITIES = Gauge(
    "lakewarden_entities", "Stored entities", ["model"], multiprocess_mode="mostrecent"
)

PLUGINS = Gauge(
    "lakewarden_plugin_newest_documents_timestamp_seconds",
    "When a plugin last had the newest documents, in seconds since the epoch",
    ["realm", "service", "plugin"],
    multiprocess_mode="max",
)
"""The age of a plugin's documents is `time()` minus this."""

MOST_PLUGINS: Final = 10_000
"""The most plugin names with figures in a process: plugins choose names, and may change them."""

CONNECTIONS = Gauge("lakewarden_connections", "Open connections", multiprocess_mode="livesum")
CONNECTIONS_CLOSED = Counter(
    "lakewarden_connections_closed_total",
    "Connections that were closed or refused because of the connection limit",
    ["reason"],
)

_MOST_KEPT = 1_000

_OUTCOMES = {401: "unauthenticated", 403: "denied", 404: "missing", 409: "conflict"}


def outcome_of(status: int) -> str:
    """The outcome of a request as a word.

    >>> outcome_of(200), outcome_of(403), outcome_of(422), outcome_of(503)
    ('done', 'denied', 'refused', 'unavailable')
    """
    if status < 400:
        return "done"
    if status == 503:
        return "unavailable"
    if status >= 500:
        return "failed"
    return _OUTCOMES.get(status, "refused")


_counts: dict[tuple[str, str, str, int, str], list[float]] = {}
"""Counts since the last write: writing costs more than deciding."""


_plugins: set[tuple[str, str, str]] = set()


def plugin_polled(plugin: tuple[str, str, str], newest: float) -> None:
    """When a plugin (realm, service, name) last had the newest documents."""
    if plugin in _plugins or len(_plugins) < MOST_PLUGINS:
        _plugins.add(plugin)
        PLUGINS.labels(*plugin).set(newest)


def count(
    wire: str, rate_class: str, operation: str, status: int, model: str, seconds: float
) -> None:
    """Counts one answered request. Only on the event loop, like `write`."""
    key = (wire, rate_class, operation, status, model)
    durations = _counts.get(key)
    if durations is None:
        durations = _counts[key] = []
    durations.append(seconds)
    if len(durations) >= _MOST_KEPT:
        write()


def write() -> None:
    """Writes the counts to where they are read from."""
    for (wire, rate_class, operation, status, model), durations in _counts.items():
        REQUESTS.labels(wire, operation, outcome_of(status), model).inc(len(durations))
        _observe(DURATION.labels(wire, rate_class), durations)
    _counts.clear()


def _observe(histogram: Histogram, durations: list[float]) -> None:
    """Adds all of them at once; one at a time, as the library does, takes ten times as long."""
    for bucket, number in Counts(bisect_left(_SECONDS, each) for each in durations).items():
        histogram._buckets[bucket].inc(number)
    histogram._sum.inc(sum(durations))


def page() -> bytes:
    """All figures in the text format of Prometheus."""
    write()
    folder = os.environ.get(SHARED)
    if folder is not None:
        _remove_dead_processes(Path(folder))
    return generate_latest(registry())


def registry() -> CollectorRegistry:
    """The figures of all processes together, as far as they have been written."""
    if os.environ.get(SHARED) is None:
        return REGISTRY
    together = CollectorRegistry()
    MultiProcessCollector(together)  # type: ignore[no-untyped-call]  # untyped there
    return together


def _remove_dead_processes(folder: Path) -> None:
    """Removes the gauges of ended processes."""
    for file in folder.glob("gauge_live*_*.db"):
        number = file.stem.rpartition("_")[2]
        if number.isdigit() and not is_alive(int(number)):
            mark_process_dead(int(number))  # type: ignore[no-untyped-call]  # untyped there
