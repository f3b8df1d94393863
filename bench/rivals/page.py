"""The tables of docs/rivals.md and its charts, from the committed result.

python -m bench.rivals.page [--check]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.page import END, _table
from bench.result import LAST
from bench.rivals.chart import Chart, Line
from bench.rivals.compare import wrong_answers
from bench.rivals.rows import ROWS
from bench.targets import found
from bench.text import number

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "rivals.md"
PICTURES: Final = ROOT / "docs" / "pictures" / "rivals"
START: Final = "<!-- figures: written by `python -m bench.rivals.page` from bench/results -->"

SINGLE: Final = (
    ("version", "version"),
    ("questions", "single.n"),
    ("p50, µs", "single.p50_us"),
    ("p99, µs", "single.p99_us"),
    ("processor, µs", "single.cpu_us"),
    ("of its database, µs", "single.store_cpu_us"),
    ("batch, answers a second", "batch.per_s"),
    ("batch, processor, µs an answer", "batch.cpu_us"),
    ("load, s", "load_s"),
    ("most memory, MiB", "peak_mib"),
)
RATES: Final = ("1", "8", "32")

Rows = Mapping[str, Mapping[str, Any]]


def figures(result: Mapping[str, Any]) -> str:
    """All tables, as Markdown."""
    rows: Rows = result["rows"]
    parts = [*_about(result)]
    for title, served in (("Embedded, in one process", False), ("Served, on loopback", True)):
        some = {name: row for name, row in rows.items() if row["served"] is served}
        parts += _questions(title, some, served=served)
        parts += _first(some)
    parts += [*_rates(rows), *_lists(rows), *_answers(rows)]
    return "\n".join(parts)


def _first(rows: Rows) -> Iterator[str]:
    for row in rows.values():
        if (first := found(row, "single.first_us")) is not None:
            yield ""
            yield (
                f"The first pass of {row['title']} over the questions, when rows of its matrix"
                f" are computed, took {number(first)} µs of processor a question on average."
            )


def _about(result: Mapping[str, Any]) -> Iterator[str]:
    tools = ", ".join(f"{name} {version}" for name, version in result["toolchains"].items())
    rows = result["rows"]
    loads = [row["load"] for row in rows.values()]
    absent = [row.title for row in ROWS if row.name not in rows]
    yield ""
    yield (
        f"Measured on {result['date']}: {result['machine']}, {result['cores']} cores, Python"
        f" {result['python']}, {tools}; {result['workload']['tables']:,} tables. Load of the"
        f" machine before each row: {min(loads)} to {max(loads)}."
    )
    if absent:
        yield ""
        yield f"Not measured in this result: {', '.join(absent)}."


def _questions(title: str, rows: Rows, *, served: bool) -> Iterator[str]:
    kinds = [each for each in SINGLE if served or "store" not in each[1]]
    heads = ("", *(head for head, _ in kinds))
    cells = [(row["title"], *(_cell(row, key) for _, key in kinds)) for row in rows.values()]
    yield from _table(title, heads, cells)


def _cell(row: Mapping[str, Any], key: str) -> str:
    if key == "version":
        return str(row["version"])
    value = found(row, key)
    return "" if value is None else number(int(value) if key.endswith(".n") else value)


def _rates(rows: Rows) -> Iterator[str]:
    heads = (
        "",
        *(f"requests a second at {each}" for each in RATES),
        *(f"p50 at {each}, ms" for each in RATES),
        *(f"processor at {each}, µs" for each in RATES),
    )
    cells = []
    for row in rows.values():
        if row["served"]:
            rates = row.get("rates", {})
            each = [rates.get(count, {}) for count in RATES]
            cells.append(
                (
                    row["title"],
                    *(number(one.get("per_s")) for one in each),
                    *(number(one["p50_us"] / 1e3) if "p50_us" in one else "" for one in each),
                    *(number(_all_cpu(one)) for one in each),
                )
            )
    yield from _table("Single questions over connections, database included", heads, cells)


def _all_cpu(one: Mapping[str, Any]) -> float | None:
    return one["cpu_us"] + one["store_cpu_us"] if "cpu_us" in one else None


def _lists(rows: Rows) -> Iterator[str]:
    heads = ("", "tables to find", "found", "seconds", "processor, s", "said that it was all")
    cells = []
    for row in rows.values():
        for key, note in (("lists", ""), ("lists_as_shipped", ", limits as shipped")):
            for one in row.get(key, ()):
                cpu = one["cpu_s"] + one["store_cpu_s"] if "cpu_s" in one else None
                complete = "yes" if one["told_complete"] else "no, ended by the bench"
                if one.get("stopped_by_clock"):
                    complete += " by the clock"
                counts = (number(one["tables"]), number(one["found"]))
                times = (number(one.get("seconds")), number(cpu))
                cells.append((row["title"] + note, *counts, *times, complete))
    yield from _table("All tables of a user", heads, cells)


def _answers(rows: Rows) -> Iterator[str]:
    cells = []
    for row in rows.values():
        kinds = [row.get("single"), row.get("batch"), *row.get("rates", {}).values()]
        asked = sum(each["n"] for each in kinds if each)
        errors = {each["error"]: None for each in kinds if each and "error" in each}
        why = row.get("missing") or row.get("failed") or "; ".join(errors)
        cells.append((row["title"], number(asked), number(wrong_answers(row)), why))
    yield from _table("Answers compared with the truth", ("", "answers", "wrong", ""), cells)


def charts(result: Mapping[str, Any]) -> dict[str, Chart]:
    """The charts, by the name of their file."""
    rows: Sequence[Mapping[str, Any]] = list(result["rows"].values())
    served = [row for row in rows if row["served"]]
    return {
        "check.svg": Chart(
            "One question: may this user load this table? Microseconds",
            ("time, median", "processor, database included"),
            [_line(row, [_of(row, "single.p50_us"), _single_cpu(row)]) for row in rows],
        ),
        "connections.svg": Chart(
            "Processor of a question over the network, database included: microseconds",
            tuple(f"{each} connections" if each != "1" else "1 connection" for each in RATES),
            [
                _line(row, [_all_cpu(row.get("rates", {}).get(each, {})) for each in RATES])
                for row in served
            ],
        ),
        "lists.svg": Chart(
            "All tables that a user may load, for the larger of two users: seconds",
            ("time", "processor, database included"),
            [_list_line(row) for row in rows],
        ),
    }


def _line(row: Mapping[str, Any], values: Sequence[float | None]) -> Line:
    return Line(row["title"], values, "" if any(values) else "not measured")


def _of(row: Mapping[str, Any], key: str) -> float | None:
    return found(row, key)


def _single_cpu(row: Mapping[str, Any]) -> float | None:
    return _all_cpu(row.get("single") or {})


def _list_line(row: Mapping[str, Any]) -> Line:
    lists = row.get("lists")
    if not lists:
        return Line(row["title"], [], "not measured")
    one = max(lists, key=lambda each: each["tables"])
    if one.get("stopped_by_clock"):
        return Line(row["title"], [], "ended by the clock, see the table")
    whole = one["found"] == one["tables"]
    note = "" if whole else f"{one['found']:,} of {one['tables']:,}"
    cpu = one["cpu_s"] + one["store_cpu_s"] if "cpu_s" in one else None
    return Line(row["title"], [one.get("seconds"), cpu], note)


def written(page: str, result: Mapping[str, Any]) -> str:
    """The page with the tables of a result."""
    head, _, rest = page.partition(START)
    return f"{head}{START}\n{figures(result)}\n\n{END}{rest.partition(END)[2]}"


def main(given: Sequence[str]) -> int:
    """Writes page and charts; with --check only reports (exit code 1) that one is out of date."""
    result = json.loads((LAST / "rivals.json").read_text("utf-8"))
    files = {PAGE: written(PAGE.read_text("utf-8"), result)}
    files |= {PICTURES / name: chart.svg() for name, chart in charts(result).items()}
    if "--check" in given:
        return int(any(not p.exists() or p.read_text("utf-8") != t for p, t in files.items()))
    for path, text in files.items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
