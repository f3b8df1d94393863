"""Medians, growth and goals of cells, and their presentation."""

from __future__ import annotations

from typing import Any

import pytest

from bench.pipeline.summary import section, summed, text

MILLION = 1_000_000


def cell(entities: int, seed: int, seconds: float, void: str | None = None) -> dict[str, Any]:
    return {
        "kind": "grants",
        "size": {"entities": entities},
        "seed": seed,
        "world": {"wall_s": 1.0, "peak_rss_mib": 100.0, "bytes": 2**20},
        "stages": {
            "index": {
                "wall_s": seconds,
                "peak_rss_mib": 3_000.0,
                "peak_pss_mib": 2_000.0,
                "bytes": 3 * 2**20,
                "load_before": 0.5,
            },
            "snapshot": {"wall_s": 9.0, "job_s": 2.0, "peak_rss_mib": 500.0, "bytes": 0},
            "review": {"skipped": "there is no verb"},
            "export": {"wall_s": 1.0, "failed": "exit code 1"},
        },
        "agreement": {"asked": 20_000} if entities == MILLION else {"skipped": "too many"},
        "void": void,
    }


CELLS = [
    cell(MILLION, 1, 30.0),
    cell(MILLION, 2, 20.0),
    cell(MILLION, 3, 50.0),
    cell(3 * MILLION, 1, 90.0),
    cell(10 * MILLION, 1, 500.0),
]


def test_figures_are_medians_over_seeds() -> None:
    result = summed(CELLS)
    assert result["grants"]["1000000"]["index"]["wall_s"] == 30.0
    assert result["seeds"]["grants"] == {"1000000": 3, "3000000": 1, "10000000": 1}


def test_stages_that_were_left_out_or_failed_have_no_figures() -> None:
    assert summed(CELLS)["grants"]["1000000"].keys() == {"world", "index", "snapshot"}


def test_worlds_with_columns_are_a_kind_of_their_own() -> None:
    with_columns = cell(10 * MILLION, 1, 900.0)
    with_columns["size"]["columns"] = 29
    result = summed([*CELLS, with_columns])
    assert result["grants"]["10000000"]["index"]["wall_s"] == 500.0
    goals = {goal["title"]: goal["met"] for goal in result["goals"]}
    assert goals["index of 10 M: s"] is False
    assert goals["index of 10 M with 200 M columns: s"] is True
    assert "World of grants, 29 columns a table: seconds" in text(result)


def test_growth_is_the_slope_between_the_logarithms() -> None:
    growth = summed(CELLS)["growth"]["grants"]
    assert growth["index"]["1000000-3000000"] == pytest.approx(1.0)
    assert growth["index"]["3000000-10000000"] == pytest.approx(1.4243, abs=1e-4)
    assert growth["snapshot"]["1000000-3000000"] == 0.0
    whole = summed(CELLS)["growth_from_1m"]["grants"]["index"]
    assert whole == pytest.approx(1.2218, abs=1e-4)


def test_goals_are_met_or_missed_or_not_measured() -> None:
    judged = {goal["title"]: goal["met"] for goal in summed(CELLS)["goals"]}
    assert judged["index of 1 M: s"] is True
    assert judged["index of 10 M: s"] is False
    assert judged["snapshot of 1 M from its index: s"] is True
    none = {goal["title"]: goal["met"] for goal in summed(CELLS[:1])["goals"]}
    assert none["index of 10 M: s"] is None
    assert none["index, growth from 1 M on"] is None


def test_a_stage_that_only_some_cells_have_counts_where_it_is() -> None:
    more = cell(MILLION, 2, 20.0)
    more["stages"]["lint"] = {"wall_s": 4.0}
    result = summed([cell(MILLION, 1, 30.0), more])
    assert result["grants"]["1000000"]["lint"] == {"wall_s": 4.0}


def test_the_summary_names_the_compared_answers_and_the_load() -> None:
    result = summed(CELLS)
    assert result["compared"]["grants"] == {"1000000": 60_000, "3000000": 0, "10000000": 0}
    assert result["loads"] == [0.5, 0.5]
    assert "grants of 1,000,000: 3 seeds, 60,000 answers compared" in text(result)


def test_a_void_cell_counts_for_nothing_and_is_named() -> None:
    result = summed([*CELLS, cell(MILLION, 4, 1.0, void="an answer differs")])
    assert result["seeds"]["grants"]["1000000"] == 3
    assert result["void"] == ["grants-1000000-4: an answer differs"]
    assert "void: grants-1000000-4: an answer differs" in text(result)


def test_nothing_but_void_cells_leave_no_figures() -> None:
    result = summed([cell(MILLION, 1, 1.0, void="an answer differs")])
    assert result["seeds"] == {}
    assert all(goal["met"] is None for goal in result["goals"])


def test_the_section_of_the_page_has_a_table_of_each_kind() -> None:
    lines = list(section("The pipeline", summed(CELLS)))
    assert "**World of grants: seconds**" in lines
    assert "| index | 30 | 90 | 500 |" in lines
    assert "| index | 2,000 | 2,000 | 2,000 |" in lines
    assert "| index of 10 M: s | 500 | 480 | **missed** |" in lines
    assert "**World of grants: growth of seconds**" in lines
    start = lines.index("**World of grants: seconds without the start of Python and Spark**")
    assert lines[start + 4] == "| snapshot | 2 | 2 | 2 |"


def test_a_stage_that_writes_nothing_is_not_in_the_table_of_what_is_written() -> None:
    lines = list(section("The pipeline", summed(CELLS)))
    start = lines.index("**World of grants: written, MiB**")
    assert [line.split()[1] for line in lines[start + 4 : start + 6]] == ["world", "index"]
    assert lines[start + 6] == ""


def test_memory_is_resident_where_shares_are_not_told() -> None:
    lines = list(section("The pipeline", summed(CELLS)))
    assert "| snapshot | 500 | 500 | 500 |" in lines
