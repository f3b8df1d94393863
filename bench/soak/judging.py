"""Whether a soak kept its bounds: flat memory, flat latencies, no wrong answer, no error."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bench.timing import quantile

MIB_PER_HOUR: Final = 8.0
"""The permitted growth of a worker's private memory over the second half."""
P99_RATIO: Final = 1.5
"""The permitted ratio of the p99 in the last third to the first third, relative to the control.

Each is over all requests of a third: a window has too few lists for a p99 of its own.
"""

ALONE: Final = ".alone"
CONTROL: Final = f"control{ALONE}"
"""The group of requests to the constant server."""

Rows = Sequence[Mapping[str, Any]]


def judged(rows: Rows, gauges: Rows) -> dict[str, Any]:
    """Figures by window, their trends, and whether each bound was kept."""
    windows = len(gauges)
    latencies, together = (_latencies(rows, windows, part) for part in ("kinds", "groups"))
    counts: Counter[str] = Counter()
    by_kind: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for kind, of in row.get("kinds", {}).items():
            for name in ("asked", "judged", "positive", "negative", "stale", "wrong", "errors"):
                by_kind[kind][name] += of.get(name, 0)
                counts[name] += of.get(name, 0)
    growth = [_growth(gauges, number) for number in range(len(gauges[0]["workers"]))]
    ratios = _ratios(_by_group(rows, windows), windows)
    steady = [each["ratio"] for group, each in ratios.items() if not group.endswith(".writes")]
    worst = max(steady, default=1.0)
    bounds: dict[str, dict[str, float]] = {
        "worker_uss_mib_per_hour": {"value": max(growth), "most": MIB_PER_HOUR},
        "p99_last_third_over_first": {"value": worst, "most": P99_RATIO},
        "wrong": {"value": counts["wrong"], "most": 0},
        "errors": {"value": counts["errors"], "most": 0},
    }
    return {
        "counts": dict(counts),
        "kinds": {kind: dict(of) for kind, of in sorted(by_kind.items())},
        "windows": [
            _window(gauge, latencies, together, number) for number, gauge in enumerate(gauges)
        ],
        "uss_growth_mib_per_hour": growth,
        "p99": ratios,
        "bounds": bounds,
        "kept": all(each["value"] <= each["most"] for each in bounds.values()),
        "told": [row for row in rows if "wrong" in row or "error" in row][:20],
    }


def _latencies(rows: Rows, windows: int, part: str) -> dict[str, list[Any]]:
    """The figures of each window, by kind."""
    found: dict[str, list[Any]] = defaultdict(lambda: [None] * windows)
    for row in rows:
        if row.get("window", windows) < windows:
            for kind, of in row[part].items():
                if of["asked"]:
                    found[kind][row["window"]] = of
    return found


def _window(
    gauge: Mapping[str, Any],
    latencies: Mapping[str, Sequence[Any]],
    together: Mapping[str, Sequence[Any]],
    number: int,
) -> dict[str, Any]:
    kinds = {kind: of[number] for kind, of in latencies.items() if of[number]}
    own = {kind: of for kind, of in kinds.items() if kind.startswith(("control", "healthz"))}
    shown = {**{group: of[number] for group, of in together.items() if of[number]}, **own}
    return {
        **gauge,
        "p50_ms": {kind: of["p50_ms"] for kind, of in shown.items()},
        "p99_ms": {kind: of["p99_ms"] for kind, of in shown.items()},
        "asked": sum(of["asked"] for of in kinds.values()),
        "wrong": sum(of.get("wrong", 0) for of in kinds.values()),
        "errors": sum(of.get("errors", 0) for of in kinds.values()),
    }


def _growth(gauges: Rows, worker: int) -> float:
    """MiB per hour over the second half, by least squares."""
    second = gauges[len(gauges) // 2 :]
    if len(second) < 2:
        return 0.0
    hours = [gauge["at_s"] / 3600 for gauge in second]
    slope, _ = statistics.linear_regression(
        hours, [gauge["workers"][worker]["uss"] for gauge in second]
    )
    return slope


def _by_group(rows: Rows, windows: int) -> dict[str, list[list[float]]]:
    """By group, all latencies of each window; those of the constant server from all clients."""
    found: dict[str, list[list[float]]] = defaultdict(lambda: [[] for _ in range(windows)])
    for row in rows:
        if row.get("window", windows) < windows:
            for group, of in row["groups"].items():
                found[group][row["window"]].extend(of["all_ms"])
    return found


def _ratios(
    latencies: Mapping[str, Sequence[Sequence[float]]], windows: int
) -> dict[str, dict[str, float]]:
    """By group, the ratio of the p99 of the last third to that of the first, and the control's."""
    third = windows // 3
    if third == 0:
        return {}
    found = {}
    theirs = _last_over_first(latencies.get(CONTROL, ()), third)
    for group, of in latencies.items():
        ours = None if group.endswith(ALONE) else _last_over_first(of, third)
        if ours and theirs:
            found[group] = {"plain": ours, "control": theirs, "ratio": ours / theirs}
    return found


def _last_over_first(of: Sequence[Sequence[float]], third: int) -> float | None:
    first, last = ([one for each in part for one in each] for part in (of[:third], of[-third:]))
    return quantile(last, 0.99) / quantile(first, 0.99) if first and last else None
