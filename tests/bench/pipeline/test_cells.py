"""Cells run their stages as commands, are saved, and are reused if complete."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.literal import Void
from bench.pipeline import __main__ as command
from bench.pipeline import agreement, stages
from bench.pipeline.cells import Bench, Cell
from bench.pipeline.grants import GRANTS
from bench.pipeline.stages import EVERY, STAGES, Stage, chosen
from lakewarden.cli import PIPELINE_VERBS
from tests.bench.pipeline.worlds import TINY

FAKE = """\
import json, pathlib, sys, time
reads, out, log = map(pathlib.Path, sys.argv[1:4])
with log.open("a") as lines:
    lines.write(out.name + "\\n")
if log.with_name("broken").exists():
    sys.exit("it is broken")
assert reads.is_dir()
version = out / "versions" / "1"
(version / "rows").mkdir(parents=True)
(out / ".work").mkdir()
(out / ".work" / "left").write_text("x" * 1000)
(version / "rows" / "part.parquet").write_text("x" * 300)
(version / "report.json").write_text(json.dumps({"seconds": {"read": 1.5, "write": 0.5}}))
"""

FIRST = Stage("index", ("{world}", "{out}", "{log}"), module="fake_stage")
SECOND = Stage("review", ("{index}", "{out}", "{log}"), module="fake_stage", needs=("index",))
MISSING = Stage("lint", (), verb="no-such-verb")
AFTER_MISSING = Stage("export", (), module="fake_stage", needs=("lint",))
CELL = Cell(GRANTS, TINY, seed=1)


@pytest.fixture(name="log")
def _log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the fake stage records its runs."""
    (tmp_path / "fake_stage.py").write_text(FAKE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(agreement, "reason_not_to", lambda entities: "")
    return tmp_path / "log"


def agreeing(world: Path, index: Path, seed: int) -> dict[str, Any]:
    assert index.is_dir()
    return {"asked": 7, "allowed": 3}


def bench(log: Path, *given: Stage, again: bool = False, agree: Any = agreeing) -> Bench:
    logged = [
        Stage(
            s.name,
            tuple(a.replace("{log}", str(log)) for a in s.arguments),
            s.verb,
            s.module,
            s.needs,
        )
        for s in given
    ]
    return Bench(logged, log.parent / "kept", again=again, agree=agree)


def ran(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


@pytest.mark.nightly
def test_stages_are_measured_one_after_the_other(log: Path) -> None:
    [found] = bench(log, FIRST, SECOND).cells([CELL])
    assert ran(log) == ["index", "review"]
    review = found["stages"]["review"]
    assert review["wall_s"] > 0
    assert review["peak_rss_mib"] > 0
    assert (review["job_s"], review["steps_s"]) == (2.0, {"read": 1.5, "write": 0.5})
    assert review["bytes_of"]["rows"] == 300
    assert review["bytes"] == sum(review["bytes_of"].values()) < 1000
    assert found["world"]["rows"]["entities"] > TINY.entities
    assert found["agreement"] == {"asked": 7, "allowed": 3}
    assert found["void"] is None


@pytest.mark.nightly
def test_a_stage_whose_verb_is_not_there_is_left_out_with_a_note(log: Path) -> None:
    [found] = bench(log, FIRST, MISSING, AFTER_MISSING).cells([CELL])
    note = {"skipped": "there is no `lakewarden pipeline no-such-verb` yet"}
    assert found["stages"]["lint"] == note
    assert found["stages"]["export"] == note
    assert ran(log) == ["index"]


@pytest.mark.nightly
@pytest.mark.slow
def test_a_cell_that_is_finished_is_not_measured_again_unless_it_is_asked_for(log: Path) -> None:
    [first] = bench(log, FIRST, MISSING).cells([CELL])
    [second] = bench(log, FIRST, MISSING).cells([CELL])
    assert second == first
    assert ran(log) == ["index"]
    bench(log, FIRST, MISSING, again=True).cells([CELL])
    assert ran(log) == ["index", "index"]


@pytest.mark.nightly
@pytest.mark.slow
def test_a_cell_is_measured_again_once_there_is_more_to_measure(log: Path) -> None:
    bench(log, FIRST).cells([CELL])
    bench(log, FIRST, SECOND).cells([CELL])
    assert ran(log) == ["index", "index", "review"]


@pytest.mark.slow
def test_a_stage_that_fails_is_noted_and_the_cell_measured_again(log: Path) -> None:
    broken = log.with_name("broken")
    broken.touch()
    [found] = bench(log, FIRST, SECOND).cells([CELL])
    assert found["stages"]["index"]["failed"] == "exit code 1: it is broken"
    assert found["stages"]["review"] == {"skipped": "`index` failed"}
    assert found["agreement"] is None
    broken.unlink()
    [found] = bench(log, FIRST, SECOND).cells([CELL])
    assert "failed" not in found["stages"]["index"]


@pytest.mark.nightly
@pytest.mark.slow
def test_an_index_with_another_answer_voids_its_cell(log: Path) -> None:
    def differing(world: Path, index: Path, seed: int) -> dict[str, Any]:
        raise Void("the index says otherwise")

    [found] = bench(log, FIRST, SECOND, agree=differing).cells([CELL])
    assert found["void"] == "the index says otherwise"
    assert ran(log) == ["index"]
    [found] = bench(log, FIRST, SECOND).cells([CELL])
    assert found["void"] is None


@pytest.mark.nightly
def test_answers_that_cannot_be_compared_are_noted(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agreement, "reason_not_to", lambda entities: "too many")
    [found] = bench(log, FIRST).cells([CELL])
    assert found["agreement"] == {"skipped": "too many"}


def test_a_large_world_is_compared_by_blocks(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "LARGEST", TINY.entities // 2)
    large = replace(bench(log, FIRST), agree_by_blocks=lambda *_: {"asked": 5, "allowed": 2})
    [found] = large.cells([CELL])
    assert found["agreement"] == {"asked": 5, "allowed": 2}


def test_a_kept_world_is_used_again(log: Path) -> None:
    kept = Bench([], log.parent / "kept", again=True, keep_worlds=True)
    [first] = kept.cells([CELL])
    work = log.parent / "kept" / "work" / CELL.name
    (work / "index").mkdir()
    (work / "world" / "note").touch()
    [second] = kept.cells([CELL])
    assert second["world"] == first["world"]
    assert [place.name for place in work.iterdir()] == ["world"]
    assert (work / "world" / "note").exists()


@pytest.mark.nightly
@pytest.mark.slow
def test_worlds_and_outputs_are_gone_after_a_cell_unless_they_are_kept(log: Path) -> None:
    bench(log, FIRST).cells([CELL])
    assert not (log.parent / "kept" / "work" / CELL.name).exists()
    kept = Bench([], log.parent / "other", keep_worlds=True)
    kept.cells([CELL])
    assert (log.parent / "other" / "work" / CELL.name / "world" / "manifest.json").exists()


def test_a_stage_that_needs_another_one_brings_it_along() -> None:
    assert [stage.name for stage in chosen(["snapshot"])] == ["index", "snapshot"]
    assert chosen([]) == STAGES
    assert "ingest" in EVERY
    assert EVERY["ingest"] not in STAGES


def test_every_stage_reads_what_an_earlier_one_wrote() -> None:
    before: set[str] = set()
    for stage in EVERY.values():
        assert set(stage.needs) <= before
        assert bool(stage.verb) is not bool(stage.module)
        before.add(stage.name)


def test_a_verb_is_run_as_the_command_line_runs_it() -> None:
    [verb, *_] = PIPELINE_VERBS
    stage = Stage("any", ("{world}", "--out", "{out}"), verb=verb, settings=True)
    words = stage.command({"world": "w", "out": "o"}, {"mode": "next"})
    assert words[1:5] == ["-m", "lakewarden.cli", "pipeline", verb]
    assert words[5:] == ["w", "--out", "o", "--setting=mode=next"]
    assert stage.missing() == ""


def test_what_a_job_prints_counts_where_it_leaves_no_report(log: Path) -> None:
    (log.parent / "telling.py").write_text("print('{\"seconds\": 2.5}')")
    found = stages.measured(Stage("any", (), module="telling"), {}, {}, log.parent / "nowhere")
    assert found["job_s"] == 2.5
    (log.parent / "telling.py").write_text("print('no figures')")
    found = stages.measured(Stage("any", (), module="telling"), {}, {}, log.parent / "nowhere")
    assert "job_s" not in found


def cells(*given: str) -> list[str]:
    return [cell.name for cell in command.cells(command.arguments(given))]


def test_sizes_and_seeds_make_the_cells() -> None:
    assert cells("--sizes", "1M,100k", "--seeds", "1") == [
        "grants-100000-1",
        "grants-1000000-1",
        "attributes-1000000-1",
    ]
    assert cells("--sizes", "10M") == ["grants-10000000-1"]
    assert len(cells()) == 4 * 3 + 3 + 1
    assert cells("--sizes", "500", "--worlds", "attributes", "--seeds", "1") == ["attributes-500-1"]


@pytest.mark.parametrize("given", [["--stages", "nothing"], ["--worlds", "moon"]])
def test_what_there_is_not_is_refused(
    given: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.arguments(given)
    assert stopped.value.code == 2
    assert "there are" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_prints_what_was_measured_and_fails_where_a_stage_did(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "chosen", lambda names: bench(log, FIRST).stages)
    monkeypatch.setattr("bench.pipeline.estate.Size.of", lambda *_: TINY)
    given = ["--sizes", "1000", "--seeds", "1", "--out", str(log.parent / "kept"), "--json"]
    monkeypatch.setattr(agreement, "reason_not_to", lambda entities: "too many")
    assert command.main(given) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["grants"]["1000"]["index"]["job_s"] == 2.0
    log.with_name("broken").touch()
    assert command.main([*given, "--again"]) == 1
