"""Measures the rivals: see `bench.rivals`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.result import kept, machine, rounded
from bench.rivals import build
from bench.rivals.compare import compared, listed, wrong_answers
from bench.rivals.rows import FULL, QUICK, ROWS, Bench, Row, prepared
from bench.text import number, say
from lakewarden import __version__

EXAMPLES = """\
examples:
  python -m bench.rivals --quick                 a tenth of the tables, seconds for each part
  python -m bench.rivals --only cedar,opa        these alone
  python -m bench.rivals --save bench/results/rivals.json && python -m bench.rivals.page

The first run builds the rivals below ~/.cache/lakewarden, which takes minutes (SpiceDB and OpenFGA
half an hour on two slow cores). A rival whose toolchain (go, cargo) is missing is left out.

With --only, --save keeps the other rows that FILE has of the same workload.

exit codes: 0 measured; 1 an answer of lakewarden is wrong; 2 bad usage
"""


def measured(bench: Bench, row: Row) -> dict[str, Any]:
    """The figures of one row; `missing` or `failed` says why there are none."""
    about = {
        "title": row.title,
        "version": build.versions()[row.version] if row.version else __version__,
        "served": row.served,
        "date": datetime.now(UTC).date().isoformat(),
        "load": round(os.getloadavg()[0], 1),
    }
    try:
        given = row.measure(bench)
    except build.Missing as reason:
        return {**about, "missing": str(reason)}
    except (RuntimeError, TimeoutError, subprocess.SubprocessError) as reason:
        return {**about, "failed": str(reason)}
    limit = bench.effort.list_seconds
    shipped = [listed(each, bench.truth, limit) for each in given.get("lists_as_shipped", ())]
    return {
        **about,
        **compared(given, bench.truth, limit),
        **({"lists_as_shipped": shipped} if shipped else {}),
    }


def told(figures: Mapping[str, Any]) -> str:
    """One line of progress."""
    for reason in ("missing", "failed"):
        if reason in figures:
            return f"  {reason}: {figures[reason]}"
    wrong = wrong_answers(figures)
    single = figures.get("single", {})
    parts = [f"{wrong} wrong answers" if wrong else "all answers right"]
    parts += [f"{number(single[key])} {key}" for key in ("p50_us", "cpu_us") if key in single]
    parts += [f"{each['found']} of {each['tables']} listed" for each in figures.get("lists", ())]
    return "  " + ", ".join(parts)


def everything(bench: Bench, rows: Sequence[Row]) -> dict[str, Any]:
    """The result of a run."""
    about = {**machine(), "toolchains": build.toolchains()}
    found = {}
    for row in rows:
        say(f"{row.title}{' served' if row.served else ' embedded'}")
        found[row.name] = measured(bench, row)
        say(told(found[row.name]))
    workload = bench.workload
    facts = {"tables": workload.nodes - workload.first_table, "sha256": workload.digest()}
    result: dict[str, Any] = rounded({**about, "workload": facts, "rows": found})
    return result


def merged(result: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The rows, plus the file's rows of the same workload that this run did not measure."""
    before = json.loads(Path(path).read_text("utf-8")) if path and Path(path).exists() else {}
    others = before.get("rows", {}) if before.get("workload") == result["workload"] else {}
    both = {**others, **result["rows"]}
    return {row.name: both[row.name] for row in ROWS if row.name in both}


def table(result: Mapping[str, Any]) -> str:
    """The result as readable text."""
    lines = []
    for figures in result["rows"].values():
        lines += [f"{figures['title']} {figures['version']}", told(figures)]
    return "\n".join(lines)


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The command-line options."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.rivals",
        description="Builds rivals, asks them workload W, compares their answers, then times them.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [row.name for row in ROWS]
    parser.add_argument("--quick", action="store_true", help="10,000 tables, a few seconds a part")
    parser.add_argument("--only", default=",".join(names), help=f"of {', '.join(names)}")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--save", nargs="?", const="", metavar="FILE", help="keep the result")
    options = parser.parse_args(given)
    if unknown := set(options.only.split(",")) - set(names):
        parser.error(f"no rival `{', '.join(sorted(unknown))}`")
    return options


def main(given: Sequence[str] | None = None) -> int:
    """Measures, prints and saves the result; returns the exit code."""
    options = arguments(given)
    rows = [row for row in ROWS if row.name in options.only.split(",")]
    with prepared(QUICK if options.quick else FULL) as bench:
        result = everything(bench, rows)
    if options.save is not None:
        result["rows"] = merged(result, options.save)
        say(f"kept in {kept(result, 'rivals', options.save)}")
    print(json.dumps(result) if options.json else table(result))
    mine = [result["rows"][row.name] for row in rows if not row.version]
    return int(any("failed" in each or wrong_answers(each) for each in mine))


if __name__ == "__main__":
    sys.exit(main())
