"""Every scenario file, asked of the oracle and of the compiled kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakewarden.testing.scenarios import Target, find, read, run
from lakewarden.testing.targets import KernelTarget
from tests.agreement.targets import OracleTarget

SCENARIOS = Path(__file__).parents[1] / "scenarios"
FILES = find(SCENARIOS)


@pytest.mark.parametrize("target", [OracleTarget(), KernelTarget()], ids=["oracle", "kernel"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SCENARIOS)))
def test_the_target_answers_as_the_scenario_says(path: Path, target: Target) -> None:
    assert [str(failure) for failure in run(read(path), target)] == []


def test_there_are_scenarios_for_every_shipped_system() -> None:
    told = {path.relative_to(SCENARIOS).parts[0] for path in FILES}
    assert told >= {"cdap", "cdap_parent_write", "datahub", "gravitino"}
