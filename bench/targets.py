"""The required and the desired figures on workload W.

Ratios compare figures of one machine and one run; times apply to a small machine with two cores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Target:
    """One figure with its bounds; `key` is its path in the result."""

    id: str
    title: str
    key: str
    must: float
    aim: float
    more_is_better: bool = False


def _more(id: str, title: str, key: str, must: float, aim: float) -> Target:
    return Target(id, title, key, must, aim, more_is_better=True)


TARGETS = (
    _more("P1.cedarpy", "check: times faster than cedarpy", "ratios.check_vs_cedarpy", 20, 45),
    _more("P1.engine", "check: times faster than Cedar alone", "ratios.check_vs_engine", 10, 20),
    Target("P3", "check: times the hand-made engine", "ratios.check_vs_baseline", 2, 1.25),
    _more("P5", "batch by ids: verdicts a second", "batch_per_s", 20e6, 100e6),
    _more("P7.bitmap", "list: times faster than cedarpy", "ratios.list_vs_cedarpy", 20e3, 150e3),
    _more("P7.ids", "sorted ids: times faster", "ratios.list_ids_vs_cedarpy", 5e3, 15e3),
    Target("P8.bitmap", "list on W-1M: ms", "list_1m_ms_p50", 1, 0.1),
    Target("P8.ids", "sorted ids on W-1M: ms", "list_ids_1m_ms_p50", 10, 4),
    Target("P8.count", "count on W-1M: ms", "count_1m_ms_p50", 0.1, 0.01),
    Target("P8.page", "page of 100 on W-1M: ms", "page_1m_ms_p50", 0.1, 0.01),
    Target("P12.W", "build: s", "build_s", 1, 0.2),
    Target("P12.W-1M", "build W-1M: s", "build_1m_s", 8, 2),
    Target("P13.rebuild", "grant visible, rebuilt: ms", "rebuild_ms_p50", 300, 80),
    Target("P13.incremental", "grant visible: ms", "grant_visible_ms_p50", 50, 5),
    Target("P14", "p99 / p50 of checks while swapping", "swapping_p99_over_p50", 10, 4),
)


def judged(result: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Each target with its value and whether it is met; None if it was not measured."""
    return {target.id: _judged(target, found(result, target.key)) for target in TARGETS}


def found(result: Mapping[str, Any], key: str) -> float | None:
    """The figure at a dotted key, or None."""
    at: Any = result
    for part in key.split("."):
        at = at.get(part) if isinstance(at, Mapping) else None
    return None if at is None else float(at)


def _judged(target: Target, value: float | None) -> dict[str, Any]:
    return {
        "title": target.title,
        "value": value,
        "must": target.must,
        "aim": target.aim,
        "met": _reaches(target, value, target.must),
        "aim_met": _reaches(target, value, target.aim),
    }


def _reaches(target: Target, value: float | None, bound: float) -> bool | None:
    if value is None:
        return None
    return value >= bound if target.more_is_better else value <= bound
