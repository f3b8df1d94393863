"""Every scenario file, evaluated by the oracle and by the compiled kernel, in every way.

Besides scenarios of the shipped systems, there are some of the made-up one: disagreements that
random worlds once found, shrunk and readable.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from lakewarden.kernel.principal import USER
from lakewarden.service.scenario_file import find, read
from lakewarden.service.scenario_target import KernelTarget, request_of
from lakewarden.service.scenarios import Scenario, question, run
from lakewarden.service.system import System, load_system
from lakewarden.testing.worlds import World
from tests.agreement import everything, harness
from tests.agreement.targets import OracleTarget

TESTS = Path(__file__).parents[1]
FILES = [*find(TESTS / "scenarios"), *find(TESTS / "agreement" / "regressions")]

every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))


def load(name: str, settings: Mapping[str, str]) -> System:
    """Any system, the made-up one included."""
    return everything.system() if name == "everything" else load_system(name, settings)


@every_file
def test_oracle_and_kernel_answer_as_the_scenario_says(path: Path) -> None:
    scenario = read(path, load)
    for target in (OracleTarget(), KernelTarget()):
        assert [str(failure) for failure in run(scenario, target)] == [], target


@pytest.mark.nightly
@every_file
def test_the_scenario_s_world_is_answered_alike_in_every_way(path: Path) -> None:
    scenario = read(path, load)
    for now in {case.now for case in scenario.cases}:
        world = asked(scenario, now)
        for way in harness.WAYS:
            assert [str(found) for found in way(world)] == []


def asked(scenario: Scenario, now: float) -> harness.CompiledWorld:
    """The scenario's world with the requests of its cases at a time, without duplicates."""
    requests = [
        request_of(question(case, user))
        for case in scenario.cases
        if case.now == now
        for user in (*case.allow, *case.deny, *(case.lists or ()))
        if user.kind == USER
    ]
    once = [r for number, r in enumerate(requests) if r not in requests[:number]]
    return harness.compiled_world(World(scenario.system, scenario.facts), once, now=now)


def test_there_are_scenarios_for_every_shipped_system() -> None:
    told = {path.relative_to(TESTS).parts[1] for path in FILES}
    assert told >= {"cdap", "cdap_parent_write", "datahub", "gravitino"}
