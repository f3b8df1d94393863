"""Writes the tables of `docs/expressions.md` from the code: `python -m tests.expressions.pages`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from lakewarden.expressions.checker import CASTS, CONSTANT_CASTS
from lakewarden.expressions.engines import REFUSED
from lakewarden.expressions.functions import CALLED, FUNCTIONS
from lakewarden.expressions.masks import STRICTEST_FIRST

PAGE: Final = Path(__file__).parents[2] / "docs" / "expressions.md"
SAME: Final = "the type of the arguments"
_PART: Final = r"(<!-- {name} -->)\n.*?(<!-- end -->)"


def _functions() -> list[str]:
    hidden = {"sha256", "year_start", "last"}
    shown = {name: one for name, one in FUNCTIONS.items() if name not in hidden}
    ordered = sorted(shown, key=lambda name: (name in CALLED, list(FUNCTIONS).index(name)))
    return [
        "| Written | Gives |",
        "|---|---|",
        *(
            f"| `{_escaped(shown[name].title)}` | {shown[name].result or SAME} |"
            for name in ordered
        ),
    ]


def _casts() -> list[str]:
    rows = [
        f"| {source} | {', '.join(sorted(targets))} |"
        for source, targets in CASTS.items()
        if targets
    ]
    constants = ", ".join(sorted(CONSTANT_CASTS))
    return ["| From | To |", "|---|---|", *rows, f"| a constant or `$user.NAME` | {constants} |"]


def _refused() -> list[str]:
    rows = [f"| {engine} | `{what}` | {reason} |" for (what, engine), reason in REFUSED.items()]
    return ["| Engine | Cannot say | Because |", "|---|---|---|", *rows]


def _masks() -> list[str]:
    return [" > ".join(f"`{kind}`" for kind in STRICTEST_FIRST)]


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


PARTS: Final[Mapping[str, list[str]]] = {
    "functions": _functions(),
    "casts": _casts(),
    "refused": _refused(),
    "masks": _masks(),
}


def page(text: str) -> str:
    """The page with its tables from the code."""
    for name, lines in PARTS.items():
        body = "\n".join(["", *lines, ""]).replace("\\", "\\\\")
        text = re.sub(_PART.format(name=name), rf"\1{body}\2", text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
