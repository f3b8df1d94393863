"""The tables of docs/performance.md, from the committed results.

python -m bench.page [--check]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.result import LAST
from bench.targets import found
from bench.text import number

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
START = "<!-- figures: written by `python -m bench.page` from bench/results -->"
END = "<!-- end of figures -->"

ROWS = (
    ("check, p50, ns", "check_ns_p50", "check_ns_p50", "check_ns_p50"),
    ("check, p99, ns", "check_ns_p99", "check_ns_p99", "check_ns_p99"),
    ("checks a second", "checks_per_s", "checks_per_s", "checks_per_s"),
    ("the engine alone, p50, ns", "", "", "engine_ns_p50"),
    ("batch of 10,000 by names, verdicts a second", "batch_names_per_s", "", "batch_names_per_s"),
    ("batch of 10,000 by ids, verdicts a second", "batch_per_s", "", ""),
    ("all tables of a user, set, p50, ms", "list_ms_p50", "list_ms_p50", "list_ms_p50"),
    ("the same, asked for the first time", "list_first_ms_p50", "", ""),
    ("the same as sorted ids", "list_ids_ms_p50", "", ""),
    ("count, p50, ms", "count_ms_p50", "", ""),
    ("page of 100 from the middle, p50, ms", "page_ms_p50", "", ""),
    ("build from decoded rows, s", "build_s", "build_s", "build_s"),
    ("a grant changed until a check shows it, p50, ms", "grant_visible_ms_p50", "", ""),
    ("the same by rebuilding, p50, ms", "rebuild_ms_p50", "rebuild_ms_p50", ""),
)
LARGE = (
    ("check, p50, ns", "check_1m_ns_p50", "check_1m_ns_p50"),
    ("all tables of a user, set, p50, ms", "list_1m_ms_p50", "list_1m_ms_p50"),
    ("the same as sorted ids", "list_ids_1m_ms_p50", ""),
    ("count, p50, ms", "count_1m_ms_p50", ""),
    ("page of 100 from the middle, p50, ms", "page_1m_ms_p50", ""),
    ("build from decoded rows, s", "build_1m_s", "build_1m_s"),
    ("a grant changed until a check shows it, p50, ms", "grant_visible_1m_ms_p50", ""),
    ("the same by rebuilding, p50, ms", "rebuild_1m_ms_p50", "rebuild_1m_ms_p50"),
    ("resident memory, MiB", "resident_1m_mib", ""),
)
RICH = (
    ("entities", "entities"),
    ("policies", "policies"),
    ("classes over all privileges", "classes"),
    ("build from decoded rows, s", "build_s"),
    ("check, p50, ns", "check_ns_p50"),
    ("check, p99, ns", "check_ns_p99"),
    ("a question asked for the first time, p50, us", "check_first_us_p50"),
    ("list, p50, ms", "list_ms_p50"),
    ("list, asked for the first time, p50, ms", "list_first_ms_p50"),
    ("a policy changed until a check shows it, p50, ms", "policy_visible_ms_p50"),
    ("resident memory of the index, MiB", "resident_mib"),
    ("the same after all questions, MiB", "resident_warm_mib"),
)


def figures(w: Mapping[str, Any], rich: Mapping[str, Any]) -> str:
    """All tables, as Markdown."""
    return "\n".join([*_about(w), *_workload(w), *_large(w), *_targets(w), *_rich(rich)])


def _about(w: Mapping[str, Any]) -> Iterator[str]:
    versions = ", ".join(f"{name} {version}" for name, version in w["versions"].items())
    yield ""
    yield (
        f"Measured on {w['date']}: {w['machine']}, {w['cores']} cores, load {w['load'][0]}, "
        f"Python {w['python']}, {versions}, cedarpy {w['rivals']['cedarpy']['version']}."
    )


def _workload(w: Mapping[str, Any]) -> Iterator[str]:
    cedar = w["rivals"]["cedarpy"]
    rows = [
        (title, _cell(w, ours), _cell(w["baseline"], by_hand), _cell(cedar, theirs))
        for title, ours, by_hand, theirs in ROWS
    ]
    yield from _table("Workload W", ("", "lakewarden", "hand-made", "cedarpy"), rows)
    ratios = [(name.replace("_", " "), number(value)) for name, value in w["ratios"].items()]
    yield from _table("Ratios, paired by round", ("", "times"), ratios)


def _large(w: Mapping[str, Any]) -> Iterator[str]:
    rows = [(title, _cell(w, ours), _cell(w["baseline"], hand)) for title, ours, hand in LARGE]
    yield from _table("Workload W-1M", ("", "lakewarden", "hand-made"), rows)


def _targets(w: Mapping[str, Any]) -> Iterator[str]:
    rows = [
        (
            id,
            target["title"],
            *(number(target[key]) for key in ("value", "must", "aim")),
            "aim met" if target["aim_met"] else "met" if target["met"] else "**missed**",
        )
        for id, target in w["targets"].items()
    ]
    yield from _table("Targets", ("", "measure", "value", "must", "aim", ""), rows)


def _rich(rich: Mapping[str, Any]) -> Iterator[str]:
    estates = (rich["rich"], rich["modest"])
    rows = [(title, *(_cell(each, key) for each in estates)) for title, key in RICH]
    yield from _table("Attribute-rich estate", ("", "rich", "modest"), rows)


def _cell(figures: Mapping[str, Any], key: str) -> str:
    return number(found(figures, key)) if key else ""


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield from ("", f"### {title}", "", _line(heads))
    yield _line(["---", *("---:" for _ in heads[1:])])
    yield from map(_line, rows)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def written(page: str) -> str:
    """The page with the tables of the committed results."""
    w, rich = (json.loads((LAST / f"{name}.json").read_text()) for name in ("w", "attribute_rich"))
    head, _, rest = page.partition(START)
    return f"{head}{START}\n{figures(w, rich)}\n\n{END}{rest.partition(END)[2]}"


def main(given: Sequence[str]) -> int:
    """Writes the page; with --check only tells (exit code 1) whether it is not up to date."""
    before = PAGE.read_text()
    after = written(before)
    if "--check" in given:
        return int(before != after)
    PAGE.write_text(after)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
