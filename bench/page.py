"""The tables of docs/performance.md, from the committed results.

python -m bench.page [--check]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.pipeline.summary import section
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

SERVICE = (
    ("1,000 questions in a body, bytes to bytes, questions a second", "authzen.mixed_gate_per_s"),
    ("the same about one subject", "authzen.of_one_gate_per_s"),
    ("the same, times faster than cedarpy's batch without any body", "authzen.ratio_vs_cedarpy"),
    ("a single question, bytes to bytes, p50, us", "authzen.single_us_p50"),
    ("single checks over HTTP, 16 connections, a second", "http.check_per_s"),
    ("the same server with an answer that is constant", "http.constant_per_s"),
    ("share of the constant's rate", "http.check_share_of_constant"),
    ("added to the constant on one connection, p50, us", "http.check_added_us_p50"),
    ("1,000 questions over HTTP, questions a second", "http.evaluations_per_s"),
    ("Gravitino's list of 10,496 tables, authorization on, p50, ms", "http.list_on_ms_p50"),
    ("the same, authorization off", "http.list_off_ms_p50"),
    ("share of the time that authorization takes", "http.list_authorization_share"),
)
STORED = (
    ("a process ready with 1,000,000 tables and 100,000 grants, SQLite, s", "start.sqlite.ready_s"),
    ("its memory, MiB", "start.sqlite.peak_mib"),
    (
        "write to visible in another process, SQLite, p50, ms",
        "grant_visible.sqlite.write_to_visible_ms_p50",
    ),
    ("the same on PostgreSQL", "grant_visible.postgres.write_to_visible_ms_p50"),
    (
        "two workers on PostgreSQL, over HTTP: from a write's answer until all say it, p99, ms",
        "visible_http.strict.all_say_ms_p99",
    ),
    ("answers there that were older than a write before", "visible_http.strict.old_answers"),
    ("a check there, which asks the database first, p50, ms", "visible_http.strict.check_ms_p50"),
    ("one that need not (`consistency = host`), p50, ms", "visible_http.host.check_ms_p50"),
)

SEARCH = (
    ("datasets, on SQLite", "search.sqlite.datasets"),
    (
        "first page of everything, for a user who sees 1 %, p50, ms",
        "search.sqlite.all.one.on_ms_p50",
    ),
    ("times the page of everything unfiltered, paired", "search.sqlite.all.one.ratio"),
    ("the same for a user who sees 25 %", "search.sqlite.all.quarter.ratio"),
    ("the same for a user who sees everything", "search.sqlite.all.everything.ratio"),
    (
        "a word of one name in twenty, for a user who sees 25 %, p50, ms",
        "search.sqlite.name.quarter.on_ms_p50",
    ),
    ("times the unfiltered search", "search.sqlite.name.quarter.ratio"),
    ("a word of one description in a hundred, times", "search.sqlite.description.quarter.ratio"),
    ("worst of all such ratios (goal: 1.3), SQLite", "search.sqlite.worst_ratio"),
    ("datasets, on PostgreSQL", "search.postgres.datasets"),
    ("worst of all such ratios, PostgreSQL", "search.postgres.worst_ratio"),
)

DATAHUB = (
    ("`datahub ingest` into SQLite, records a second", "datahub.ingest.sqlite_per_s"),
    ("into PostgreSQL", "datahub.ingest.postgres_per_s"),
    ("into a server that answers with a constant", "datahub.ingest.constant_per_s"),
    (
        "two workers on PostgreSQL: from a policy's answer until all say it, p99, ms",
        "datahub.visible.all_say_ms_p99",
    ),
    ("answers there that were older than a policy before", "datahub.visible.old_answers"),
    ("what an actor was granted on a dataset, p50, ms", "datahub.pages.granted_ms_p50"),
    ("a page of 100 datasets with their owners, p50, ms", "datahub.pages.plain_ms_p50"),
    (
        "the same with all that the caller may do with each, p50, ms",
        "datahub.pages.with_privileges_ms_p50",
    ),
    ("rights told on that page", "datahub.pages.privileges_of_a_page"),
)

PIPELINE = (
    ("pipeline", "The pipeline: the access index"),
    ("pipeline_jobs", "The pipeline: every job"),
    ("pipeline_small", "The pipeline: a small estate"),
    ("pipeline_rich", "The pipeline: the access index of an attribute-rich estate"),
    ("pipeline_columns", "The pipeline: the access index of an estate with many columns"),
)


def figures(w: Mapping[str, Any], rich: Mapping[str, Any], service: Mapping[str, Any]) -> str:
    """All tables, as Markdown."""
    tables = [*_about(w), *_workload(w), *_large(w), *_targets(w), *_rich(rich)]
    tables += _service(service)
    tables += _pages(service["ui"]) if "ui" in service else ()
    for name, title in PIPELINE:
        tables += section(title, service[name]) if name in service else ()
    return "\n".join(tables)


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


def _service(service: Mapping[str, Any]) -> Iterator[str]:
    tables = (
        ("The server", SERVICE),
        ("The store behind it", STORED),
        ("DataHub", DATAHUB),
        ("Search", SEARCH),
    )
    for title, wanted in tables:
        rows = [(text, _cell(service, key)) for text, key in wanted]
        yield from _table(title, ("", "value"), rows)


def _pages(ui: Mapping[str, Any]) -> Iterator[str]:
    rows = [
        (
            one["title"],
            number(one["value"]),
            number(one["most"]),
            "kept" if one["value"] <= one["most"] else "**missed**",
        )
        for one in ui["budgets"]
    ]
    yield from _table("The web pages in Chromium", ("", "value", "at most", ""), rows)
    yield ""
    yield f"Measured on {ui['date']}, load {ui['load'][0]}; {ui['asked']} questions for the heap."


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
    results = {path.stem: json.loads(path.read_text()) for path in LAST.glob("*.json")}
    told = figures(results["w"], results["attribute_rich"], results)
    head, _, rest = page.partition(START)
    return f"{head}{START}\n{told}\n\n{END}{rest.partition(END)[2]}"


def main(given: Sequence[str]) -> int:
    """Writes the page; with --check only reports (exit code 1) that it is out of date."""
    before = PAGE.read_text()
    after = written(before)
    if "--check" in given:
        return int(before != after)
    PAGE.write_text(after)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
