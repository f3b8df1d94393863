"""Dot plots on a logarithmic scale, as SVG that follows the reader's color scheme.

Every series has its own shape and every row has its values as text, so a chart is readable without
color. The colors are those of Okabe and Ito, which color-blind people can distinguish.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from bench.text import number

STYLE: Final = """
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.small { font-size: 11px; fill: #59636e; }
.strong { font-weight: 600; }
.grid { stroke: #d1d9e0; fill: none; }
.span { stroke: #8c959f; stroke-width: 2; fill: none; }
.a { fill: #0072b2; stroke: #0072b2; }
.b { fill: #d55e00; stroke: #d55e00; }
.c { fill: #007a5a; stroke: #007a5a; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .small { fill: #9198a1; }
  .grid { stroke: #3d444d; }
  .span { stroke: #656c76; }
  .a { fill: #56b4e9; stroke: #56b4e9; }
  .b { fill: #e69f00; stroke: #e69f00; }
  .c { fill: #2fc08f; stroke: #2fc08f; }
}
"""

LEFT, PLOT, RIGHT = 160, 360, 200
TOP, STEP = 66, 30
KINDS: Final = "abc"
"""Classes of the series: circle, square, triangle."""


@dataclass(frozen=True, slots=True)
class Line:
    """A row: its name, a value for each series (None: none), and a text for missing values."""

    label: str
    values: Sequence[float | None]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A title that ends with the unit, names of up to three series, rows, and our row's name."""

    title: str
    series: Sequence[str]
    lines: Sequence[Line]
    ours: str = "lakewarden"

    def svg(self) -> str:
        """The chart."""
        width, height = LEFT + PLOT + RIGHT, TOP + STEP * len(self.lines) + 34
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            f' width="{width}" height="{height}" role="img">',
            f"<title>{escape(self.title)}</title>",
            f"<desc>{escape(self.told())}</desc>",
            f"<style>{STYLE}</style>",
            _text(10, 20, self.title, "strong"),
            *self._legend(),
            *self._grid(height),
        ]
        for at, line in enumerate(self.lines):
            parts += self._line(TOP + STEP * at + STEP // 2, line)
        return "\n".join([*parts, "</svg>\n"])

    def told(self) -> str:
        """All values as text, for readers who do not see the chart."""
        return "; ".join(f"{line.label}: {self._values(line)}" for line in self.lines)

    def _values(self, line: Line) -> str:
        found = [number(value) for value in line.values if value is not None]
        return ", ".join(
            [*([" · ".join(found)] if found else []), *([line.note] * bool(line.note))]
        )

    def _decades(self) -> tuple[int, int]:
        found = [value for line in self.lines for value in line.values if value]
        low, high = min(found, default=1), max(found, default=10)
        return math.floor(math.log10(low)), max(math.ceil(math.log10(high)), 1)

    def _x(self, value: float) -> float:
        low, high = self._decades()
        return LEFT + PLOT * (math.log10(value) - low) / (high - low)

    def _grid(self, height: int) -> Iterator[str]:
        low, high = self._decades()
        for power in range(low, high + 1):
            x = self._x(10.0**power)
            yield f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{height - 30}"/>'
            yield _text(x, height - 14, f"{10.0**power:,g}", "small", "middle")

    def _legend(self) -> Iterator[str]:
        x = 16.0
        for kind, name in zip(KINDS, self.series, strict=False):
            yield _mark(kind, x, 44)
            yield _text(x + 10, 48, name, "small")
            x += 30 + 6.2 * len(name)

    def _line(self, y: int, line: Line) -> Iterator[str]:
        ours = line.label.startswith(self.ours)
        yield _text(LEFT - 12, y + 4, line.label, "strong" if ours else "", "end")
        at = [self._x(value) for value in line.values if value]
        if len(at) > 1:
            yield (f'<line class="span" x1="{min(at):.1f}" y1="{y}" x2="{max(at):.1f}" y2="{y}"/>')
        for kind, value in zip(KINDS, line.values, strict=False):
            if value:
                yield _mark(kind, self._x(value), y)
        yield _text(LEFT + PLOT + 14, y + 4, self._values(line), "small")


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _mark(kind: str, x: float, y: float) -> str:
    if kind == "a":  # largest and drawn first: visible behind a mark with the same value
        return f'<circle class="a" cx="{x:.1f}" cy="{y:.1f}" r="7"/>'
    if kind == "b":
        return f'<rect class="b" x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9"/>'
    points = f"{x:.1f},{y - 6:.1f} {x - 6:.1f},{y + 5:.1f} {x + 6:.1f},{y + 5:.1f}"
    return f'<polygon class="c" points="{points}"/>'
