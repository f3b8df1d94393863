"""The registers of source rows: each row is declared, shown by a scenario, and documented.

A register lists the rows of one source document in our words, and has the name of the model that
implements it.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lakewarden import models
from lakewarden.kernel.expression import Holds, Node, NotDenied, children
from lakewarden.kernel.model import Model

ROOT = Path(__file__).parents[2]
REGISTERS = sorted((ROOT / "tests/register").glob("*.toml"))
SCENARIOS = sorted((ROOT / "tests/scenarios").rglob("*.toml"))
PAGES = ROOT / "docs/models"

SIZES = {
    "cdap": [9, 65],  # general sentences, rows of the later reference
    "cdap_parent_write": [10, 69],  # core rules, rows of the design page
    "datahub": [37, 47, 29, 12],  # platform, common, of one entity type; derived rules
    "gravitino": [94, 29],  # required conditions, privileges
}
"""The number of rows in each table of a source, in any order."""


def toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


def rows(register: Path) -> list[dict[str, Any]]:
    return list(toml(register)["row"])


ROWS = [(register.stem, row) for register in REGISTERS for row in rows(register)]


@cache
def variants(name: str) -> tuple[Model, ...]:
    """The model under its defaults and under each value of each setting."""
    text = models.text(name)
    declared = tomllib.loads(text).get("settings", {})
    chosen = [
        {setting: value} for setting in declared for value in declared[setting].get("values", ())
    ]
    return tuple(models.load(name, settings) for settings in ({}, *chosen))


@cache
def showing() -> dict[str, list[tuple[dict[str, Any], frozenset[str]]]]:
    """By row: the cases that name it, each with the privileges in its file."""
    found: dict[str, list[tuple[dict[str, Any], frozenset[str]]]] = {}
    for path in SCENARIOS:
        scenario = toml(path)
        granted = frozenset(
            word
            for statement in scenario.get("world", {}).get("statement", [])
            for word in listed(statement.get("privileges", []))
        )
        for case in scenario.get("case", []):
            for row in listed(case.get("rows", [])):
                found.setdefault(row, []).append((case, granted))
    return found


def listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def nodes(rule: Node) -> Iterator[Node]:
    yield rule
    for child in children(rule):
        yield from nodes(child)


def gating(model: Model) -> set[str]:
    """The privileges that a rule names, and those that imply one of them."""
    named = {
        node.privilege
        for operation in model.operations.values()
        for rule in operation.rules.values()
        for node in nodes(rule)
        if isinstance(node, (Holds, NotDenied))
    }
    return named | {word for name in named for word in model.privileges[name].implied_by}


def row_id(value: object) -> str:
    return str(value["id"]) if isinstance(value, dict) else str(value)


@pytest.mark.parametrize("register", REGISTERS, ids=lambda path: path.stem)
def test_a_register_is_called_like_its_model_and_names_its_source(register: Path) -> None:
    assert register.stem in models.names()
    assert toml(register)["source"]


@pytest.mark.parametrize("register", REGISTERS, ids=lambda path: path.stem)
def test_a_register_has_as_many_rows_as_its_source(register: Path) -> None:
    ids = [row["id"] for row in rows(register)]
    assert len(ids) == len(set(ids))
    sizes = Counter(Counter(id.rpartition("-")[0] for id in ids).values())
    assert Counter(SIZES[register.stem]) <= sizes


@pytest.mark.parametrize("register", REGISTERS, ids=lambda path: path.stem)
def test_the_rows_of_a_table_are_numbered_from_one(register: Path) -> None:
    numbers: dict[str, list[int]] = {}
    for row in rows(register):
        table, _, number = row["id"].rpartition("-")
        numbers.setdefault(table, []).append(int(number))
    for found in numbers.values():
        assert found == list(range(1, len(found) + 1))


@pytest.mark.parametrize(("name", "row"), ROWS, ids=row_id)
def test_a_row_names_operations_or_privileges_of_its_model(name: str, row: dict[str, Any]) -> None:
    assert set(row) <= {"id", "says", "operations", "privileges"}
    assert row["says"]
    model = models.load(name)
    for operation in row.get("operations", []):
        model.operation(operation)
    for privilege in row.get("privileges", []):
        model.privilege(privilege)
    assert row.get("operations") or row.get("privileges")


@pytest.mark.parametrize(("name", "row"), ROWS, ids=row_id)
def test_a_row_is_shown_by_a_scenario_that_asks_what_it_is_about(
    name: str, row: dict[str, Any]
) -> None:
    cases = showing().get(row["id"], [])
    assert cases, "no case names the row"
    operations, privileges = set(row.get("operations", [])), set(row.get("privileges", []))
    assert any(
        case.get("operation") in operations
        or case.get("privilege") in privileges
        or granted & privileges
        for case, granted in cases
    )


def test_scenarios_name_only_rows_that_there_are() -> None:
    assert set(showing()) <= {row["id"] for _, row in ROWS}


@pytest.mark.parametrize("name", models.names())
def test_a_privilege_gates_an_operation_or_says_why_it_does_not(name: str) -> None:
    gates = set[str]().union(*map(gating, variants(name)))
    for model in variants(name):
        for privilege in model.privileges.values():
            assert privilege.name in gates or privilege.asked, privilege.name
            assert not (privilege.name in gates and privilege.asked), privilege.name


@pytest.mark.parametrize("name", models.names())
def test_every_operation_and_privilege_is_on_the_page_of_its_model(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text("utf-8")
    for model in variants(name):
        words = [*model.operations, *model.privileges, *model.spelled]
        assert [word for word in words if f"`{word}`" not in page] == []
