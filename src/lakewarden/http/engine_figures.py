"""Figures about engines for Prometheus: decisions, their durations, and polled services.

Labels are the engine, the outcome, an operation of the engine's mapping, and the configured name
of a polled service: never a user or an object. With several processes the newest value of a
gauge counts (`lakewarden.app.metrics`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from prometheus_client import Counter, Gauge, Histogram

_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)

_lock: Final = Lock()

UNKNOWN: Final = "unknown"
"""The operation of a question that the mapping does not have."""


class Figures(NamedTuple):
    """The metrics of a process."""

    decisions: Counter
    denials: Counter
    seconds: Histogram
    residue: Gauge
    made: Gauge
    polled: Gauge


def figures() -> Figures:
    """The metrics, created at first use: before that, a server sets where its processes count."""
    with _lock:
        return _figures()


@cache
def _figures() -> Figures:
    from prometheus_client import Counter, Gauge, Histogram

    def service(name: str, title: str) -> Gauge:
        return Gauge(name, title, ["realm", "service"], multiprocess_mode="mostrecent")

    return Figures(
        decisions=Counter(
            "lakewarden_engine_decisions_total",
            "Decisions for engines; each name in a list that an engine filters is one",
            ["engine", "outcome"],
        ),
        denials=Counter(
            "lakewarden_engine_denials_total",
            "Denials by operation of the engine; `unknown` is what its mapping has not",
            ["engine", "operation"],
        ),
        seconds=Histogram(
            "lakewarden_engine_seconds",
            "Time to decide about a question, plan or request of an engine",
            ["engine"],
            buckets=_SECONDS,
        ),
        residue=service(
            "lakewarden_ranger_residue",
            "What the realm allows and the polled documents of a service leave out",
        ),
        made=service(
            "lakewarden_ranger_document_made_timestamp_seconds",
            "When the polled documents of a service were made, which they are after a change",
        ),
        polled=service(
            "lakewarden_ranger_polled_timestamp_seconds",
            "When a plugin last polled a service",
        ),
    )


def decided(engine: str, operation: str, *, allowed: int = 0, denied: int = 0) -> None:
    """Counts decisions about one operation of the mapping, or `UNKNOWN`."""
    if allowed:
        figures().decisions.labels(engine, "allow").inc(allowed)
    if denied:
        figures().decisions.labels(engine, "deny").inc(denied)
        figures().denials.labels(engine, operation).inc(denied)


@contextmanager
def timed(engine: str) -> Iterator[None]:
    """Measures the duration of a question, including one that fails."""
    begun = time.perf_counter()
    try:
        yield
    finally:
        figures().seconds.labels(engine).observe(time.perf_counter() - begun)


def record_documents(realm: str, service: str, residue: int, now: float) -> None:
    """Records new documents of a service; `now` in seconds since the epoch."""
    figures().residue.labels(realm, service).set(residue)
    figures().made.labels(realm, service).set(now)


def record_poll(realm: str, service: str, now: float) -> None:
    """Records a plugin's poll of a service; `now` in seconds since the epoch."""
    figures().polled.labels(realm, service).set(now)
