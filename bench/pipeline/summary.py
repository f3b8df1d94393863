"""Summaries of cells: medians over seeds, growth between sizes, goals, and the page's section.

Growth is the exponent k of seconds ~ entities^k: the slope between the logarithms of two
consecutive sizes. 1 is linear. Void cells are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import log
from typing import Any

from bench.result import machine
from bench.text import number
from bench.timing import median

Result = dict[str, Any]
Table = tuple[str, tuple[str, ...], Sequence[tuple[str, ...]]]
"""Title, heads, and rows."""

MEASURES = ("wall_s", "job_s", "cpu_s", "peak_pss_mib", "peak_rss_mib", "bytes", "load_before")
GIB = 1024.0

_COLUMNS = "grants, 29 columns a table"
"""The world of grants with 200 M columns at 10 M entities."""

GOALS = (
    ("index of 1 M: s", "grants.1000000.index.wall_s", 60.0),
    ("index of 1 M: MiB", "grants.1000000.index.peak_pss_mib", 4 * GIB),
    ("index of 10 M: s", "grants.10000000.index.wall_s", 480.0),
    ("index of 10 M: MiB", "grants.10000000.index.peak_pss_mib", 12 * GIB),
    ("index of 10 M with 200 M columns: s", f"{_COLUMNS}.10000000.index.wall_s", 900.0),
    ("index of 10 M with 200 M columns: MiB", f"{_COLUMNS}.10000000.index.peak_pss_mib", 12 * GIB),
    ("index, growth from 1 M on", "growth_from_1m.grants.index", 1.0),
    ("snapshot of 1 M from its index: s", "grants.1000000.snapshot.job_s", 3.0),
    ("ingest of 10,000 without the start: s", "grants.10000.ingest.job_s", 3.0),
    ("index of 10,000 without the start: s", "grants.10000.index.job_s", 4.0),
    ("review of 10,000 without the start: s", "grants.10000.review.job_s", 6.0),
    ("diff of 10,000 without the start: s", "grants.10000.diff.job_s", 8.0),
    ("review of 1 M without the start: s", "grants.1000000.review.job_s", 70.0),
    ("diff of 1 M without the start: s", "grants.1000000.diff.job_s", 120.0),
)
"""The goals on two cores: title, key of the figure, maximum."""


def summed(cells: Sequence[Mapping[str, Any]]) -> Result:
    """One result for all cells: by kind, size and stage the median of each figure."""
    sound = [cell for cell in cells if cell["void"] is None]
    result: Result = {
        **machine(),
        "void": [f"{_name(cell)}: {cell['void']}" for cell in cells if cell["void"] is not None],
        "seeds": {},
        "compared": {},
        "loads": _loads(sound),
        "growth": {},
        "growth_from_1m": {},
    }
    for kind in sorted(set(map(_kind, sound))):
        of_kind = [cell for cell in sound if _kind(cell) == kind]
        sizes = sorted({cell["size"]["entities"] for cell in of_kind})
        grouped = {n: [c for c in of_kind if c["size"]["entities"] == n] for n in sizes}
        result[kind] = {str(n): _stages(found) for n, found in grouped.items()}
        result["seeds"][kind] = {str(n): len(found) for n, found in grouped.items()}
        result["compared"][kind] = {str(n): _compared(found) for n, found in grouped.items()}
        result["growth"][kind] = _growth(result[kind])
        large = {n: stages for n, stages in result[kind].items() if int(n) >= 1_000_000}
        result["growth_from_1m"][kind] = _whole_growth(large)
    result["goals"] = [_goal(result, *goal) for goal in GOALS]
    return result


def _kind(cell: Mapping[str, Any]) -> str:
    """The kind of world; with columns it is a kind of its own."""
    columns = cell["size"].get("columns", 0)
    return f"{cell['kind']}, {columns} columns a table" if columns else str(cell["kind"])


def _name(cell: Mapping[str, Any]) -> str:
    return f"{cell['kind']}-{cell['size']['entities']}-{cell['seed']}"


def _loads(cells: Iterable[Mapping[str, Any]]) -> list[float]:
    """The lowest and the highest load of the machine at the start of a stage."""
    stages = (figures for cell in cells for figures in cell["stages"].values())
    found = [figures["load_before"] for figures in stages if "load_before" in figures]
    return [min(found), max(found)] if found else []


def _compared(cells: Iterable[Mapping[str, Any]]) -> int:
    """The number of answers of indexes that were compared with the kernel's."""
    return sum((cell["agreement"] or {}).get("asked", 0) for cell in cells)


def _stages(cells: Sequence[Mapping[str, Any]]) -> Result:
    """The medians by stage; the world is the first stage."""
    names = dict.fromkeys(["world", *(name for cell in cells for name in cell["stages"])])
    by_stage = {name: [_figures(cell, name) for cell in cells] for name in names}
    return {name: _medians(found) for name, found in by_stage.items() if any(found)}


def _figures(cell: Mapping[str, Any], stage: str) -> Mapping[str, Any]:
    """A stage's figures; empty if it was skipped or failed."""
    figures = cell["world"] if stage == "world" else cell["stages"].get(stage, {})
    return {} if "failed" in figures or "skipped" in figures else figures


def _medians(found: Iterable[Mapping[str, Any]]) -> Result:
    measured = [figures for figures in found if figures]
    known = {name: [f[name] for f in measured if f.get(name) is not None] for name in MEASURES}
    return {name: median(values) for name, values in known.items() if values}


def _growth(sizes: Mapping[str, Result]) -> dict[str, dict[str, float]]:
    """By stage, the exponents between consecutive sizes."""
    found: dict[str, dict[str, float]] = {}
    for small, large in pairwise(sizes):
        for stage, exponent in _exponents(sizes, small, large):
            found.setdefault(stage, {})[f"{small}-{large}"] = exponent
    return found


def _whole_growth(sizes: Mapping[str, Result]) -> dict[str, float]:
    """By stage, the exponent between the smallest and the largest size."""
    if len(sizes) < 2:
        return {}
    return dict(_exponents(sizes, next(iter(sizes)), list(sizes)[-1]))


def _exponents(sizes: Mapping[str, Result], small: str, large: str) -> Iterator[tuple[str, float]]:
    for stage, figures in sizes[large].items():
        before, after = sizes[small].get(stage, {}).get("wall_s"), figures.get("wall_s")
        if before and after:
            yield stage, log(after / before) / log(int(large) / int(small))


def _goal(result: Result, title: str, key: str, most: float) -> Result:
    value: Any = result
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    met = None if value is None else value <= most
    return {"title": title, "value": value, "most": most, "met": met}


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """The tables for people: seconds, memory and bytes by kind and size, growth, and the goals."""
    for kind in result["seeds"]:
        sizes = result[kind]
        for title, measures, unit in (
            ("seconds", ("wall_s",), 1.0),
            ("seconds without the start of Python and Spark", ("job_s",), 1.0),
            ("seconds of processors", ("cpu_s",), 1.0),
            ("peak memory, MiB", ("peak_pss_mib", "peak_rss_mib"), 1.0),
            ("written, MiB", ("bytes",), 2.0**20),
        ):
            heads = ("", *(f"{int(size):,}" for size in sizes))
            rows = [
                (stage, *(_cell(sizes[size].get(stage, {}), measures, unit) for size in sizes))
                for stage in _names(sizes)
            ]
            known = [row for row in rows if set(row[1:]) - {"–", "0"}]
            if known:
                yield f"World of {kind}: {title}", heads, known
        growth = result["growth"][kind]
        if growth:
            steps = [f"{small}-{large}" for small, large in pairwise(sizes)]
            rows = [(s, *(number(of.get(step)) for step in steps)) for s, of in growth.items()]
            yield f"World of {kind}: growth of seconds", ("", *map(_step, steps)), rows
    judged = [
        (g["title"], number(g["value"]), number(g["most"]), _verdict(g["met"]))
        for g in result["goals"]
        if g["value"] is not None
    ]
    if judged:
        yield "Goals of the pipeline", ("", "value", "at most", ""), judged


def _names(sizes: Mapping[str, Result]) -> list[str]:
    return list(dict.fromkeys(stage for stages in sizes.values() for stage in stages))


def _cell(figures: Mapping[str, Any], measures: Sequence[str], unit: float) -> str:
    """The first of the measures that is known."""
    known = [figures[name] for name in measures if name in figures]
    return number(float(f"{known[0] / unit:.4g}")) if known else "–"


def _step(step: str) -> str:
    small, _, large = step.partition("-")
    return f"{int(small):,} to {int(large):,}"


def _verdict(met: bool) -> str:
    return "met" if met else "**missed**"


def section(title: str, result: Mapping[str, Any]) -> Iterator[str]:
    """The tables as Markdown, for docs/performance.md."""
    yield from ("", f"### {title}", "", f"Measured on {result['date']}; {_about(result)}.")
    for name, heads, rows in tables(result):
        yield from ("", f"**{name}**", "", _line(heads))
        yield _line(["---", *("---:" for _ in heads[1:])])
        yield from map(_line, rows)


def _about(result: Mapping[str, Any]) -> str:
    """Seeds and compared answers of each size, and the load during the run."""
    told = [
        f"{kind} of {int(size):,}: {count} seeds,"
        f" {result['compared'][kind][size]:,} answers compared"
        for kind, sizes in result["seeds"].items()
        for size, count in sizes.items()
    ]
    loads = "–".join(map(number, result["loads"])) or "–"
    return f"figures are medians over seeds ({'; '.join(told)}); load before stages {loads}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def text(result: Mapping[str, Any]) -> str:
    """The tables as text."""
    lines = [
        f"The pipeline, {result['date']}: {result['machine']}, {result['cores']} cores,"
        f" Python {result['python']}",
        _about(result),
    ]
    for title, heads, rows in tables(result):
        lines += ["", title, *(_columns(row) for row in (heads, *rows))]
    return "\n".join([*lines, *(f"void: {reason}" for reason in result["void"])])


def _columns(cells: Sequence[str]) -> str:
    return f"  {cells[0]:<34}" + "".join(f"{cell:>22}" for cell in cells[1:])
