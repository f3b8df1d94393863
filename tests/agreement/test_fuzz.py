"""The endless comparison finds a planted fault, shrinks it, and reports it."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from lakewarden.service.scenario_file import read
from tests.agreement import control, fuzz, harness
from tests.agreement.test_scenarios import load
from tests.oracle.oracle import Oracle

DENIED, CHANGED = 2, 13
"""First seeds of the searched worlds: their first world shows the fault."""


def fault(words: str) -> control.Fault:
    return next(fault for fault in control.FAULTS if words in fault.says)


@pytest.mark.nightly
def test_on_a_healthy_kernel_it_ends_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.main(["--worlds", "3", "--seed", "1", "--system", "gravitino"]) == 0
    assert "0 disagreement(s)" in capsys.readouterr().out


def test_a_find_is_made_small_printed_and_saved(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(fuzz, "_TESTS", tmp_path)
    with fault("a DENY is ignored").plant():
        first = ((seed, fuzz.first("gravitino", seed)) for seed in count(DENIED))
        seed = next(seed for seed, found in first if found is not None and not found.steps)
        assert fuzz.main(["--worlds", "1", "--seed", str(seed), "--system", "gravitino"]) == 1
    said = capsys.readouterr().out
    assert "1 disagreement(s)" in said
    (saved,) = (tmp_path / "scenarios" / "regressions").iterdir()
    assert str(saved) in said
    scenario = read(saved, load)
    assert len(scenario.facts.statements) <= 5
    assert len(scenario.facts.entities) <= 5
    assert [s.effect.value for s in scenario.facts.statements].count("deny") == 1


def test_a_find_after_changes_tells_what_happened() -> None:
    planted = fault("rows are kept that no longer hold")
    with planted.plant():
        worlds = ((seed, fuzz.first("gravitino", seed)) for seed in count(CHANGED))
        seed, found = next((seed, found) for seed, found in worlds if found and found.steps)
        facts, request, steps = fuzz.shrunk("gravitino", seed, found)
        assert len(steps) <= len(found.steps)
        assert len(facts.statements) <= 4
    system = harness.system("gravitino")
    assert Oracle(facts, system.model, system.spelling).check(request) in (True, False)
    assert str(found).count("\n  after ") == len(found.steps)


def test_a_world_comes_again_with_its_seed() -> None:
    assert fuzz.drawn("everything", 12) == fuzz.drawn("everything", 12)


@pytest.mark.nightly
@pytest.mark.parametrize("planted", control.FAULTS, ids=lambda fault: fault.says)
def test_every_planted_fault_is_found_within_a_minute(planted: control.Fault) -> None:
    _, found = control.look_for(planted, seed=1, seconds=60)
    assert found is not None


def test_without_a_fault_nothing_is_found() -> None:
    assert control.look_for(control.NONE, seed=1, seconds=60, most=2)[1] is None


@pytest.mark.nightly
def test_a_survivor_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    harmless = control.Fault("nothing at all", control.NONE.plant, ("gravitino",))
    quick = fault("a privilege that follows from others")
    monkeypatch.setattr(control, "FAULTS", (harmless, quick))
    assert control.main(["--worlds", "2"]) == 1
    said = capsys.readouterr().out
    assert "2 faults planted; nothing at all" in said
    monkeypatch.setattr(control, "FAULTS", (quick,))
    assert control.main(["--worlds", "2"]) == 0
    assert "none survived" in capsys.readouterr().out
