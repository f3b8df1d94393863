"""The chart of a soak: memory, latencies with those of a constant server, and the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import log10
from typing import Any, Final, NamedTuple

WIDTH: Final = 760
HEIGHT: Final = 150
LEFT: Final = 60
RIGHT: Final = 190
TOP: Final = 30
COLORS: Final = ("#0969da", "#bf3989", "#1a7f37", "#9a6700")
STYLE: Final = """
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.small { font-size: 11px; fill: #59636e; }
.axis { stroke: #8c959f; fill: none; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .small { fill: #9198a1; }
  .axis { stroke: #656c76; }
}
"""


class Panel(NamedTuple):
    """Lines over the minutes of the soak; `log`: a logarithmic scale, one step per power of ten."""

    title: str
    lines: Mapping[str, Sequence[float | None]]
    log: bool = False


def drawn(result: Mapping[str, Any]) -> str:
    """The chart of a result, as SVG."""
    windows = result["windows"]
    minutes = [window["at_s"] / 60 for window in windows]
    panels = [
        Panel(
            "Memory, MiB (workers: private; PostgreSQL: proportional)",
            {
                "worker 1": [window["workers"][0]["uss"] for window in windows],
                "worker 2": [window["workers"][1]["uss"] for window in windows],
                "PostgreSQL": [window["postgres_pss"] for window in windows],
            },
        ),
        Panel(
            "p99 of questions and of a constant server, ms",
            {
                "gravitino": _of(windows, "p99_ms", "gravitino.questions"),
                "datahub": _of(windows, "p99_ms", "datahub.questions"),
                "cdap": _of(windows, "p99_ms", "cdap.questions"),
                "constant": _of(windows, "p99_ms", "control.gravitino"),
            },
            log=True,
        ),
        Panel("Store, MiB", {"database": [window["store_mib"] for window in windows]}),
    ]
    height = len(panels) * (HEIGHT + TOP + 24)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
        f' viewBox="0 0 {WIDTH} {height}">',
        "<title>The soak by windows of five minutes</title>",
        f"<style>{STYLE}</style>",
    ]
    for number, panel in enumerate(panels):
        parts += _panel(panel, minutes, number * (HEIGHT + TOP + 24) + TOP)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _of(windows: Sequence[Mapping[str, Any]], figure: str, kind: str) -> list[float | None]:
    return [window[figure].get(kind) for window in windows]


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.4g}"


def _panel(panel: Panel, minutes: Sequence[float], top: int) -> list[str]:
    values = [value for line in panel.lines.values() for value in line if value is not None]
    low, high = (0.0, max(values) * 1.1)
    if panel.log:
        low, high = float(int(log10(min(values)) - 0.999)), float(int(log10(max(values)) + 0.999))

    def y(value: float) -> float:
        at = log10(value) if panel.log else value
        return top + HEIGHT - HEIGHT * (at - low) / (high - low)

    def x(minute: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * minute / max(minutes)

    bottom, right = top + HEIGHT, WIDTH - RIGHT
    found = [
        f'<text x="{LEFT}" y="{top - 10}">{escape(panel.title)}</text>',
        f'<path class="axis" d="M{LEFT} {top} V{bottom} H{right}"/>',
        f'<text class="small" x="{right - 52}" y="{bottom + 15}">{max(minutes):.0f} minutes</text>',
    ]
    marks = (
        [10.0**power for power in range(int(low), int(high) + 1)]
        if panel.log
        else [low, high / 1.1]
    )
    found += [
        f'<text class="small" x="6" y="{y(mark) + 4:.0f}">{_figure(mark)}</text>' for mark in marks
    ]
    for number, (name, line) in enumerate(panel.lines.items()):
        points = [
            f"{x(minute):.1f},{y(value):.1f}"
            for minute, value in zip(minutes, line, strict=True)
            if value is not None
        ]
        color = COLORS[number]
        found.append(
            f'<polyline fill="none" stroke="{color}" stroke-width="2" points="{" ".join(points)}"/>'
        )
        at = top + 14 + 18 * number
        found.append(
            f'<path stroke="{color}" stroke-width="2" d="M{right + 16} {at - 4} h18"/>'
            f'<text class="small" x="{right + 40}" y="{at}">{escape(name)}</text>'
        )
    return found
