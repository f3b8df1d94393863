"""Results as text for people."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any


def say(text: str) -> None:
    """Prints a line of progress, separate from the result."""
    print(text, file=sys.stderr, flush=True)


def section(title: str, figures: Mapping[str, Any]) -> Iterable[str]:
    """A titled list of figures."""
    return ["", title, *(f"  {name:<28}{number(value):>14}" for name, value in figures.items())]


def number(value: object) -> str:
    """A figure, with thousands separators if it is large."""
    match value:
        case None:
            return "–"
        case float() if value >= 1000:
            return f"{value:,.0f}"
        case float():
            return f"{value:.4g}"
        case int():
            return f"{value:,}"
        case Mapping():
            return ", ".join(f"{key} {number(each)}" for key, each in value.items())
        case _:
            return str(value)
