"""Every row and sentence of both sources, over HTTP: some caller is allowed, some is denied.

The cases are those of the scenario files. Most are checked by their operation's own request
(`test_scenarios`), some by a request that requires more, and those without a CDAP path over AuthZEN
(`carried`). The registers of the rows are `tests/register/cdap*.toml`.
SOURCE: CDAP design page, 69 rows and ten core rules; CDAP authorization reference, nine general
sentences, the rows of its tables and of its table on deploying.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from lakewarden import models
from lakewarden.kernel.expression import Anyone
from lakewarden.service.scenarios import Case, Scenario, run
from tests.systems.cdap.http.carried import CARRIED, Carriers, is_carried, is_over_authzen
from tests.systems.cdap.http.test_scenarios import FILES, is_askable, read

REGISTERS: Final = Path(__file__).parents[3] / "register"


class Row(NamedTuple):
    """A row of a register, for the model with the register's name."""

    model: str
    id: str
    operations: tuple[str, ...]


def rows() -> Iterator[Row]:
    for model in ("cdap", "cdap_parent_write"):
        found = tomllib.loads((REGISTERS / f"{model}.toml").read_text("utf-8"))["row"]
        for row in found:
            yield Row(model, row["id"], tuple(row["operations"]))


ROWS: Final = list(rows())

WITHOUT_PATH: Final = {"CDL-ROW-27"}
"""Programs write data of datasets, and check that over AuthZEN."""


def is_carried_or_over_authzen(scenario: Scenario, case: Case) -> bool:
    """Whether the case is checked here, not in `test_scenarios`."""
    if is_askable(scenario, case):
        return False
    return is_carried(scenario, case) or is_over_authzen(case)


def carried(path: Path) -> Scenario:
    """The scenario with the cases that are checked here."""
    scenario = read(path)
    cases = (case for case in scenario.cases if is_carried_or_over_authzen(scenario, case))
    return replace(scenario, cases=tuple(cases))


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if carried(path).cases],
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
def test_what_comes_along_with_a_request_is_answered_as_the_scenario_says(
    path: Path, tmp_path: Path
) -> None:
    scenario = carried(path)
    with Carriers(tmp_path, scenario) as target:
        failures = run(scenario, target)
    assert [str(failure) for failure in failures] == []


class Shown(NamedTuple):
    """A response over HTTP that shows a row; `own`: from a path of CDAP."""

    row: str
    operation: str
    is_yes: bool
    own: bool


@cache
def shown() -> frozenset[Shown]:
    """All responses over HTTP that scenario cases expect for rows of these registers."""
    return frozenset(
        Shown(row, case.operation or "", answer, own)
        for path in FILES
        for scenario in (read(path),)
        for case in scenario.cases
        for own in (is_askable(scenario, case) or is_carried(scenario, case),)
        if own or is_over_authzen(case)
        for row in case.rows
        for answer in _answers(case)
    )


def _answers(case: Case) -> set[bool]:
    """The expected answers of a case; for a list, whether users get different lists."""
    if case.lists is None:
        return {answer for answer, users in ((True, case.allow), (False, case.deny)) if users}
    everything = frozenset[object]().union(*case.lists.values())
    less = any(found < everything for found in case.lists.values())
    return {answer for answer, there in ((True, everything), (False, less)) if there}


def test_the_rows_are_all_that_the_sources_have() -> None:
    tables = [row.id.rpartition("-")[0] for row in ROWS]
    assert {table: tables.count(table) for table in tables} == {
        "CDP-ROW": 69,
        "CDP-CORE": 10,
        "CDL-SENT": 9,
        "CDL-ROW": 65,
    }


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_row_lets_somebody_through_over_http_and_refuses_somebody(row: Row) -> None:
    answers = {one.is_yes for one in shown() if one.row == row.id}
    assert answers == {True, False}


def test_cdap_s_own_paths_show_all_rows_but_the_one_of_what_only_programs_do() -> None:
    own = {(one.row, one.is_yes) for one in shown() if one.own}
    without = {row.id for row in ROWS if not {(row.id, True), (row.id, False)} <= own}
    assert without == WITHOUT_PATH


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_operation_of_a_row_is_asked_over_http(row: Row) -> None:
    found = {(one.operation, one.is_yes) for one in shown() if one.row == row.id}
    asked = {(operation, True) for operation in row.operations}
    asked |= {(name, False) for name in row.operations if not _is_for_all(row.model, name)}
    assert asked - found == set()


def _is_for_all(model: str, operation: str) -> bool:
    """Whether nobody is ever denied the operation: another one decides what it shows."""
    return any(isinstance(rule, Anyone) for rule in _rules(model, operation))


def _rules(model: str, operation: str) -> Iterable[object]:
    return models.load(model).operation(operation).rules.values()


def test_each_operation_that_is_carried_is_carried_in_a_scenario() -> None:
    found = {
        case.operation
        for path in FILES
        for scenario in (carried(path),)
        for case in scenario.cases
        if is_carried(scenario, case)
    }
    assert found == set(CARRIED)
