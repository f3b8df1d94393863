"""The command for workload W prints one JSON object with every key, or an error with the reason."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import result, targets, w
from bench.literal import Void
from lakewarden.testing.workload import ANSWERS_W, SHA256_W

ROOT = Path(__file__).parents[2]
KEYS = {
    "workload_sha256",
    "answers_sha256",
    "check_ns_p50",
    "check_ns_p99",
    "checks_per_s",
    "batch_per_s",
    "list_ms_p50",
    "list_1m_ms_p50",
    "count_ms_p50",
    "build_s",
    "build_1m_s",
    "grant_visible_ms_p50",
    "rivals",
    "baseline",
    "ratios",
    "targets",
    "against",
    "n",
    "python",
    "cores",
    "interleaved",
}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    kept = tmp_path_factory.mktemp("bench") / "w.json"
    command = [sys.executable, "-m", "bench.w", "--quick", "--no-rivals", "--json"]
    run = subprocess.run(
        [*command, "--save", str(kept)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    printed: dict[str, Any] = json.loads(run.stdout)
    assert json.loads(kept.read_text()) == printed
    return printed


@pytest.mark.nightly
def test_one_json_object_holds_every_key(printed: dict[str, Any]) -> None:
    assert printed.keys() >= KEYS


@pytest.mark.nightly
def test_the_digests_are_the_published_ones(printed: dict[str, Any]) -> None:
    assert (printed["workload_sha256"], printed["answers_sha256"]) == (SHA256_W, ANSWERS_W)


@pytest.mark.nightly
def test_a_quick_run_leaves_out_the_large_workload_and_the_rivals(printed: dict[str, Any]) -> None:
    assert printed["list_1m_ms_p50"] is printed["build_1m_s"] is None
    assert printed["rivals"] == {"cedarpy": None}
    assert printed["targets"]["P12.W-1M"]["met"] is None


@pytest.mark.nightly
def test_every_target_is_judged(printed: dict[str, Any]) -> None:
    assert printed["targets"].keys() == {target.id for target in targets.TARGETS}
    for target in printed["targets"].values():
        assert (target["met"] is None) == (target["value"] is None)


@pytest.mark.nightly
def test_the_table_names_every_target(printed: dict[str, Any]) -> None:
    text = w.table({**printed, "against": None})
    assert all(target.id in text for target in targets.TARGETS)
    assert "not measured" in text


@pytest.mark.nightly
def test_figures_are_set_against_the_last_committed_ones(
    printed: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result, "LAST", tmp_path)
    assert result.against(printed, "w", w.COMPARED) is None
    (tmp_path / "w.json").write_text(json.dumps({**printed, "build_s": printed["build_s"] * 2}))
    found = result.against(printed, "w", w.COMPARED)
    assert found is not None
    assert found["ratios"]["build_s"] == 0.5
    assert found["ratios"]["baseline.check_ns_p50"] == 1
    assert found["ratios"]["build_1m_s"] is None
    assert "times the result of" in w.table({**printed, "against": found})


def test_the_committed_result_is_a_full_run_with_a_rival_and_all_answers_right() -> None:
    last = json.loads((result.LAST / "w.json").read_text())
    assert (last["workload_sha256"], last["answers_sha256"]) == (SHA256_W, ANSWERS_W)
    assert last["rivals"]["cedarpy"]["version"]
    assert not [id for id, target in last["targets"].items() if target["met"] is None]


def test_a_target_is_met_on_the_right_side_of_its_bound() -> None:
    bounds = {target.id: target for target in targets.TARGETS}
    judged = targets.judged({"ratios": {"check_vs_cedarpy": 30.0, "check_vs_baseline": 2.5}})
    assert bounds["P1.cedarpy"].more_is_better
    assert (judged["P1.cedarpy"]["met"], judged["P1.cedarpy"]["aim_met"]) == (True, False)
    assert judged["P3"]["met"] is False
    assert judged["P1.engine"]["met"] is None


def test_a_void_run_prints_the_reason_alone_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(*_: object, **__: object) -> dict[str, Any]:
        raise Void("cedarpy: the answers differ")

    monkeypatch.setattr(w, "measured", wrong)
    assert w.main(["--json"]) == 1
    output = capsys.readouterr()
    assert json.loads(output.out) == {"void": "cedarpy: the answers differ"}
    assert "void: cedarpy: the answers differ" in output.err


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        w.main(["--help"])
    assert stop.value.code == 0
    assert "python -m bench.w --quick --no-rivals" in capsys.readouterr().out
