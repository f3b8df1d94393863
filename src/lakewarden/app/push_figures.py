"""Prometheus figures of the process that watches targets, by realm and target name."""

from __future__ import annotations

from prometheus_client import Counter, Gauge

from lakewarden.service.push_watch import KINDS, DriftCheck

_TARGET = ["realm", "target"]


def _gauge(name: str, title: str, *labels: str) -> Gauge:
    """A gauge that one of several processes sets: the most recent value counts."""
    return Gauge(name, title, [*_TARGET, *labels], multiprocess_mode="mostrecent")


DRIFT = _gauge("lakewarden_push_drift", "What is not as it was pushed", "kind")
PENDING = _gauge("lakewarden_push_pending_steps", "Steps that the realm's changes ask for")
RESIDUE = _gauge("lakewarden_push_residue", "What the realm allows and is left out")
PUSHED = _gauge(
    "lakewarden_push_pushed_timestamp_seconds",
    "When the target was pushed to last, in seconds since the epoch; 0: never",
)
LOOKED = _gauge(
    "lakewarden_push_looked_timestamp_seconds",
    "When the target was looked at last, in seconds since the epoch",
)
FAILURES = Counter("lakewarden_push_failures", "Looks at a target that failed", _TARGET)


def count(check: DriftCheck, now: float) -> None:
    """Counts one look. Earlier findings stay while the target is unavailable."""
    labels = check.target.realm, check.target.name
    PUSHED.labels(*labels).set(check.target.pushed_at)
    FAILURES.labels(*labels).inc(bool(check.error))
    if check.drift is None:
        return
    for kind in KINDS:
        DRIFT.labels(*labels, kind).set(check.counts[kind])
    PENDING.labels(*labels).set(sum(check.drift.pending.values()))
    RESIDUE.labels(*labels).set(check.drift.residue)
    LOOKED.labels(*labels).set(now)
