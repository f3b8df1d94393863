"""The cost model of an index: its fit, its figures from Spark, and its page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.result import LAST
from bench.scale.__main__ import FITTED, LEFT_OUT, bits_of, features
from bench.scale.fitting import fitted
from bench.scale.page import PAGE, page
from bench.scale.run import PUBLISH, of_tasks
from lakewarden.pipeline.index.numbering import BLOCK_BITS


def test_a_sum_is_found_again_and_what_costs_nothing_has_no_factor() -> None:
    estates = [
        {"run": 1.0, "a": float(a), "b": float(b), "c": float(a * b)}
        for a, b in ((1, 5), (2, 1), (4, 4), (7, 2), (3, 9), (8, 8))
    ]
    cost = fitted(estates, [3 + 2 * estate["a"] + 0.5 * estate["c"] for estate in estates])
    assert set(cost.factors) == {"run", "a", "c"}
    assert cost.of({"run": 1, "a": 100, "b": 7, "c": 700}) == pytest.approx(553)


def test_no_factor_is_below_zero() -> None:
    estates = [{"run": 1.0, "a": float(a)} for a in range(5)]
    cost = fitted(estates, [10.0 - a for a in range(5)])
    assert set(cost.factors) == {"run"}
    assert cost.of({"run": 1, "a": 50}) > 0


def test_costs_are_those_of_more_than_one_size_of_everything() -> None:
    terms = [
        features(
            s.entities, s.entities * s.columns, s.statements, s.owned, 1 << BLOCK_BITS - bits_of(s)
        )
        for s in FITTED
    ]
    for name in set(terms[0]) - {"run"}:
        assert len({one[name] for one in terms}) >= 3, name
    assert not set(FITTED) & set(LEFT_OUT)


def test_tasks_count_for_the_stage_of_their_job(tmp_path: Path) -> None:
    metrics = {
        "Executor Run Time": 4_000,
        "Shuffle Write Metrics": {"Shuffle Bytes Written": 7},
        "Disk Bytes Spilled": 0,
        "Input Metrics": {"Bytes Read": 5},
        "Output Metrics": {"Bytes Written": 3},
    }
    ours = {"spark.job.description": "index: number"}
    events = [
        {
            "Event": "SparkListenerJobStart",
            "Stage IDs": [0],
            "Submission Time": 5,
            "Properties": ours,
        },
        {
            "Event": "SparkListenerJobStart",
            "Stage IDs": [1],
            "Submission Time": 5,
            "Properties": {},
        },
        *(
            {"Event": "SparkListenerTaskEnd", "Stage ID": n, "Task Metrics": metrics}
            for n in (0, 0)
        ),
        {"Event": "SparkListenerTaskEnd", "Stage ID": 1, "Task Metrics": metrics},
    ]
    (tmp_path / "log").write_text("\n".join(map(json.dumps, events)))
    told = of_tasks(tmp_path)
    assert (told["number"]["tasks"], told["number"]["shuffled"]) == (2, 14)
    assert told["number"]["longest_s"] == 4
    assert told[PUBLISH]["read"] == 5


def test_the_page_has_the_committed_figures() -> None:
    result = json.loads((LAST / "scale.json").read_text())
    old = PAGE.read_text("utf-8")
    assert page(old, result) == old
    assert all(abs(check["error"]) < 0.2 for check in result["checks"])
