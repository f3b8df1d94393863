"""SVG charts: bars with their names and numbers. Colours come from the page's CSS classes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, takewhile
from typing import Final, NamedTuple
from unicodedata import east_asian_width

from lakewarden.pipeline.review.markup import Markup, element, together

WIDTH: Final = 720
_NUMBERS: Final = 90
_LINE: Final = 40
_NAME: Final = 20
_BAR: Final = 14
_LONGEST: Final = 84
_HEIGHT: Final = 180
_FOOT: Final = 40
_COLOURS: Final = 3


class Bar(NamedTuple):
    """A counted item."""

    name: str
    value: int


def bars(title: str, values: Sequence[Bar]) -> Markup:
    """Horizontal bars, each below its name; the longest one spans the width."""
    if not values:
        return element("p", "Nothing to show.", class_="nothing")
    maximum = max(1, *(bar.value for bar in values))
    room = WIDTH - _NUMBERS
    lines = [
        _line(bar, number * _LINE, max(1.0, bar.value / maximum * room) if bar.value else 0.0)
        for number, bar in enumerate(values)
    ]
    return _svg(title, len(values) * _LINE, lines, values)


def _line(bar: Bar, top: int, length: float) -> Markup:
    middle = top + _NAME + _BAR / 2
    return element(
        "g",
        element("title", f"{bar.name}: {bar.value:,}"),
        element("text", shortened(bar.name), x=0, y=top + _NAME / 2, class_="name"),
        element(
            "rect",
            x=0,
            y=top + _NAME,
            width=round(length, 1),
            height=_BAR,
            rx=2,
            class_="bar0",
        ),
        element("text", bar.value, x=round(length + 8, 1), y=middle, class_="number"),
    )


def columns(
    title: str, names: Sequence[str], series: Sequence[tuple[str, Sequence[int]]]
) -> Markup:
    """Groups of upright bars: one group per name, with one bar per series."""
    maximum = max([1, *(value for _, values in series for value in values)])
    room = (WIDTH - 20) / max(1, len(names))
    width = room * 0.8 / max(1, len(series))
    drawn: list[Markup] = []
    for place, name in enumerate(names):
        left = 10 + place * room
        for number, (of, values) in enumerate(series):
            value = values[place]
            high = max(1.0, value / maximum * _HEIGHT) if value else 0.0
            drawn.append(
                element(
                    "g",
                    element("title", f"{of}, {name}: {value:,}"),
                    element(
                        "rect",
                        x=round(left + room * 0.1 + number * width, 1),
                        y=round(_HEIGHT - high, 1),
                        width=round(width * 0.9, 1),
                        height=round(high, 1),
                        class_=f"bar{number % _COLOURS}",
                    ),
                )
            )
        middle = round(left + room / 2, 1)
        drawn.append(element("text", name, x=middle, y=_HEIGHT + 20, class_="below"))
    line = element("line", x1=0, y1=_HEIGHT, x2=WIDTH, y2=_HEIGHT, class_="axis")
    flat = [
        Bar(f"{of}, {n}", v) for of, values in series for n, v in zip(names, values, strict=True)
    ]
    legend = element(
        "p",
        *(
            element("span", element("span", class_=f"dot bar{number % _COLOURS}"), of)
            for number, (of, _) in enumerate(series)
        ),
        class_="legend",
        aria_hidden="true",
    )
    return together(legend, _svg(title, _HEIGHT + _FOOT, [line, *drawn], flat))


def _svg(title: str, height: int, parts: Sequence[Markup], values: Sequence[Bar]) -> Markup:
    """The chart, with the same content as text for screen readers."""
    description = "; ".join(f"{bar.name}: {bar.value:,}" for bar in values)
    return element(
        "svg",
        element("title", title),
        element("desc", description),
        *parts,
        viewBox=f"0 0 {WIDTH} {height}",
        role="img",
        aria_label=f"{title}. {description}",
        xmlns="http://www.w3.org/2000/svg",
    )


def shortened(name: str) -> str:
    """The name, with its middle cut out if it is wider than the chart.

    >>> shortened("a" * 50) == "a" * 50, len(shortened("a" * 100)), len(shortened("字" * 100))
    (True, 83, 41)
    """
    if sum(map(_width, name)) <= _LONGEST:
        return name
    return f"{_fitting(name)}…{_fitting(name[::-1])[::-1]}"


def _fitting(name: str) -> str:
    """The longest prefix that fits into half of the chart."""
    widths = accumulate(map(_width, name))
    return name[: sum(1 for _ in takewhile(lambda width: width < _LONGEST / 2, widths))]


def _width(character: str) -> int:
    return 2 if east_asian_width(character) in "WF" else 1
