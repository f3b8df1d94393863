"""The figures of docs/scale.md, from the committed result.

python -m bench.scale.page [--check]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.result import LAST

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
START = "<!-- figures: written by `python -m bench.scale.page` from bench/results -->"
END = "<!-- end of figures -->"

Result = Mapping[str, Any]

_UNITS = {
    "run": "a run",
    "million entities": "a million entities",
    "million columns": "a million columns",
    "million owners": "a million owners",
    "thousand statements": "a thousand statements",
    "blocks": "a block",
    "blocks of a thousand statements": "a block and a thousand statements",
    "cores": "a core",
}
_GIB, _MIB = 2**30, 2**20

REQUESTS = 4
"""Object store requests per task: open, read, write, list."""


def _table(heads: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"| --- |{' ---: |' * (len(heads) - 1)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value else ""


def _terms(result: Result) -> list[str]:
    """The variables of all costs in the result."""
    costs = [cost for by in result["factors"].values() for cost in by.values()]
    return [name for name in _UNITS if any(name in cost for cost in costs)]


def _factors(result: Result, measure: str, unit: float = 1.0) -> Iterator[Sequence[str]]:
    terms = _terms(result)
    for stage, by in result["factors"].items():
        yield (f"`{stage}`", *(_number(by[measure].get(name, 0) / unit) for name in terms))


def _checks(result: Result) -> Iterator[Sequence[str]]:
    what = {"driver_s": "driver", "tasks_s": "tasks"}
    for check in result["checks"]:
        size = check["size"]
        name = f"{size['entities']:,} entities"
        if size["columns"]:
            name += f", columns a table: {size['columns']}"
        yield (
            f"{name}: {what[check['measure']]}",
            f"{check['measured']:.1f}",
            f"{check['fitted']:.1f}",
            f"{check['error']:+.0%}",
        )


def _billion(result: Result) -> Iterator[Sequence[str]]:
    stages = result["billion"]["stages"]
    for name, cost in stages.items():
        yield _row(f"`{name}`", cost)
    keys = next(iter(stages.values()))
    yield _row("in all", {key: sum(cost[key] for cost in stages.values()) for key in keys})


def _row(name: str, cost: Mapping[str, float]) -> Sequence[str]:
    return (
        name,
        _number(cost["driver_s"]),
        _number(cost["tasks_s"]),
        _number(cost["wall_s"]),
        f"{cost['shuffled'] / _GIB:,.0f}",
        _number(cost["tasks"]),
        _number(cost["tasks"] * REQUESTS),
    )


def figures(result: Result) -> Iterator[str]:
    """The lines between the markers."""
    yield (
        f"Measured on {result['date']}: {result['machine']}, {result['cores']} cores, Python"
        f" {result['python']}, {result['runs']} runs; load {result['load'][0]:g} at the end."
    )
    heads = ("Stage", *(_UNITS[name] for name in _terms(result)))
    yield from ("", "Processor seconds of tasks, for each:", "")
    yield from _table(heads, _factors(result, "tasks_s"))
    yield from ("", "Processor seconds of the driver:", "")
    yield from _table(heads, _factors(result, "driver_s"))
    yield from ("", "MiB that tasks send each other:", "")
    yield from _table(heads, _factors(result, "shuffled", _MIB))
    yield from ("", "Left out of the fit, processor seconds:", "")
    yield from _table(("Estate", "measured", "fitted", "error"), _checks(result))
    odd = result["lopsided"]
    yield ""
    yield (
        f"The lopsided estate takes {odd['seconds']:.2f} times the processor seconds of the even;"
        f" the longest tasks of its stages take {odd['longest']:.2f} times as long."
    )
    estate = result["billion"]
    yield from ("", f"A billion, on {estate['nodes']} nodes of {estate['cores']} cores:", "")
    heads = ("Stage", "driver, s", "tasks, s", "wall, s", "shuffled, GiB", "tasks", "requests")
    yield from _table(heads, _billion(result))


def text(result: Result) -> str:
    """The result as readable text."""
    return "\n".join(figures(result))


def page(old: str, result: Result) -> str:
    """The page with the figures of the result."""
    before, _, behind = old.partition(START)
    _, _, after = behind.partition(END)
    return f"{before}{START}\n\n{text(result)}\n\n{END}{after}"


def main(given: Sequence[str]) -> int:
    """Writes the page; with `--check` only reports whether it is up to date."""
    result = json.loads((LAST / "scale.json").read_text())
    old = PAGE.read_text("utf-8")
    new = page(old, result)
    if "--check" in given:
        return int(old != new)
    PAGE.write_text(new, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
