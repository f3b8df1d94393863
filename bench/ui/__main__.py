"""The budgets of the web pages: bytes, and times in Chromium with real servers.

    python -m bench.ui [--json] [--minutes N] [--save [FILE]]

One server has the sample estate, another the large one of `bench.ui.world`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.result import kept, machine, rounded
from bench.text import say
from bench.ui import browse, sizes
from bench.ui.world import KINDS, add_policies, make_store
from lakewarden.cli import main as lakewarden
from tests.app.serving import server
from tests.ui.browser import Visits, chromium

EXAMPLES: Final = """\
examples:
  python -m bench.ui               everything, as a table: about three minutes
  python -m bench.ui --minutes 30  the same, with half an hour of questions for the memory
  python -m bench.ui --json        as one JSON object

exit codes: 0 every budget is kept; 1 one is not; 2 bad usage
"""


class Budget(NamedTuple):
    """A figure and its maximum."""

    title: str
    key: str
    most: float


BUDGETS: Final = (
    Budget("first load: scripts, kB compressed", "script_kb", 200),
    Budget("first load: style sheets, kB compressed", "css_kb", 20),
    Budget("first load: fonts, kB", "fonts_kb", 100),
    Budget("all that is built, MB", "dist_mb", 2),
    Budget("first contentful paint, cold, ms", "first_paint_ms", 1_500),
    Budget("page usable, cold, ms", "usable_ms", 2_000),
    Budget("question to verdict, sample, ms", "verdict_sample_ms", 150),
    Budget("question to verdict, 100,000 entities and 20,000 users, ms", "verdict_ms", 500),
    Budget("key press to response, ms", "key_ms", 100),
    Budget("longest task of the main thread, ms", "long_task_ms", 50),
    Budget("preview, sample, ms", "preview_sample_ms", 500),
    Budget("preview, 100,000 entities, ms", "preview_ms", 5_000),
    Budget("scrolling 100,000 rows, frame p50, ms", "scroll_p50_ms", 17),
    Budget("scrolling 100,000 rows, frame p95, ms", "scroll_p95_ms", 70),
    Budget("rows in the page", "rows_in_page", 60),
    Budget("jump to row 90,000, ms", "jump_ms", 300),
    Budget("jump to row 90,000, requests", "jump_requests", 1),
    Budget("matrix of 400 × 400 painted, ms", "matrix_ms", 400),
    Budget("matrix, hover, ms", "hover_ms", 16),
    Budget("10,000 policies, first page, ms", "policies_ms", 300),
    Budget("10,000 policies, search, ms", "policies_search_ms", 300),
    Budget("heap at the end, MB", "heap_mb", 150),
    Budget("heap, growth after the first sixth, MB", "heap_growth_mb", 5),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.ui",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--minutes", type=float, default=1, help="of questions for the memory")
    parser.add_argument("--save", nargs="?", const="", help="keep the result")
    options = parser.parse_args(arguments)
    path = chromium()
    if path is None:
        parser.error("no Chromium here: scripts/install-test-tools.sh installs Debian's")
    figures = measured(path, options.minutes)
    budgets = [{"title": b.title, "value": figures[b.key], "most": b.most} for b in BUDGETS]
    result = rounded({"budgets": budgets, "asked": figures["asked"], **machine()})
    if options.save is not None:
        say(f"kept in {kept(result, 'ui', options.save)}")
    failed = [one for one in BUDGETS if figures[one.key] > one.most]
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        for one in BUDGETS:
            mark = "MISSED" if one in failed else "kept"
            print(f"{one.title:<60} {figures[one.key]:>10.1f} of {one.most:>7,.0f}  {mark}")
    return 1 if failed else 0


def measured(chromium: str, minutes: float) -> dict[str, Any]:
    """All figures by their keys."""
    from playwright.sync_api import sync_playwright

    scripts, sheets = sizes.first_load()
    figures: dict[str, Any] = {
        "script_kb": sum(map(sizes.gzipped, scripts)) / sizes.KB,
        "css_kb": sum(map(sizes.gzipped, sheets)) / sizes.KB,
        "dist_mb": sizes.whole() / 1e6,
    }
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        folder = Path(place)
        say("sample estate")
        lakewarden(["demo", "--once", "--dir", str(folder / "sample")])
        (folder / "served").mkdir()
        for file in (folder / "sample").glob("lakewarden.db*"):
            shutil.copy(file, folder / "served" / file.name.replace("lakewarden.db", "store.db"))
        with server(folder / "served") as served:
            figures |= _of_sample(Visits(browser, served.address), minutes)
        say("large estate")
        (folder / "large").mkdir()
        make_store(folder / "large")
        with server(folder / "large") as served:
            add_policies(served)
            _wait_until_idle(served.process.pid)
            figures |= _of_large(Visits(browser, served.address))
        browser.close()
    return figures


def _wait_until_idle(pid: int) -> None:
    """Waits until the server has precomputed rows and search terms, at most a minute."""
    ticks = os.sysconf("SC_CLK_TCK")
    busy, end = 1.0, time.monotonic() + 60
    while busy > 0.1 and time.monotonic() < end:
        before = _processor_ticks(pid)
        time.sleep(1)
        busy = (_processor_ticks(pid) - before) / ticks


def _processor_ticks(pid: int) -> int:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return int(user) + int(system)


def _of_sample(visit: Visits, minutes: float) -> dict[str, Any]:
    on, people = "table:quillmere:lake.sales.forecasts", ["hugo", "ana", "dora", "nora", "zoe"]
    say("sample: first load, questions, keys, preview")
    figures: dict[str, Any] = browse.first_paint(visit, "admin")
    figures["verdict_sample_ms"] = browse.verdict(visit, "gravitino", on, people)
    figures |= browse.keys(visit)
    deny = "quillmere:marts_only/schema:lake.sales/deny"
    figures["preview_sample_ms"] = browse.preview(visit, "gravitino", deny)
    say(f"sample: memory, {minutes:g} minutes")
    return figures | browse.memory(visit, "gravitino", on, people, minutes)


def _of_large(visit: Visits) -> dict[str, Any]:
    say("large: questions, lists, matrix, policies")
    people = [f"u{number:05}" for number in range(1, 2 * KINDS, 97)]
    figures: dict[str, Any] = {
        "verdict_ms": browse.verdict(visit, "gravitino", "table:big:wide.all.t050000", people)
    }
    figures |= browse.scrolling(visit)
    figures |= browse.matrix(visit)
    figures |= browse.policies(visit)
    figures["preview_ms"] = browse.preview(visit, "gravitino", "big:r001/big:wide.all")
    return figures


if __name__ == "__main__":
    sys.exit(main())
