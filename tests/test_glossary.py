"""The glossary agrees with the code and with the models whose terms it lists."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from lakewarden import models

PAGE = Path(__file__).parents[1] / "docs" / "glossary.md"
COLUMNS = (
    *("Term", "Meaning", "In code", "Gravitino", "DataHub", "CDAP"),
    *("Ranger", "Unity Catalog", "OpenFGA", "Cedar"),
)
ROWS = [
    dict(zip(COLUMNS, (cell.strip() for cell in line.strip("|").split("|")), strict=True))
    for line in PAGE.read_text("utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| Term")
]
# The concepts that a reader of the kernel meets first; a new one must be added to the page.
CONCEPTS = {
    *("principal.Principal", "memberships.Memberships", "subject.Subject", "entity.Entity"),
    *("entity.Spelling", "model.EntityType", "model.Privilege", "model.Operation", "model.Model"),
    *("model.Reach", "setting.Setting", "statement.Statement", "statement.Effect"),
    *("statement.Criterion", "request.Request", "request.Decision", "request.Reason"),
    *("explain.Explanation", "classes.Partition", "matrix.Matrix", "snapshot.Snapshot"),
    *("relations.Facts", "rows.Row", "advice.Way", "tree.Layered", "scopes.Block"),
}
OUTSIDE = {"CDAP-UserId"}
"""Terms of a system that its model does not have."""


def words_of(model: str) -> set[str]:
    declared = models.load(model)
    return {*declared.types, *declared.privileges, *declared.operations, *declared.settings}


def code_of(row: dict[str, str]) -> str:
    return row["In code"].strip("`")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["Term"])
def test_a_term_is_one_line_and_there_in_the_code(row: dict[str, str]) -> None:
    assert row["Meaning"]
    module, _, name = code_of(row).rpartition(".")
    assert hasattr(import_module(f"lakewarden.{module}"), name)


@pytest.mark.parametrize(
    ("column", "model"), [("Gravitino", "gravitino"), ("DataHub", "datahub"), ("CDAP", "cdap")]
)
def test_the_words_of_a_system_are_those_of_its_model(column: str, model: str) -> None:
    named = {word for row in ROWS for word in re.findall("`([^`]+)`", row[column])} - OUTSIDE
    assert len(named) > 3
    assert named <= words_of(model)


def test_what_a_reader_of_the_kernel_meets_first_is_explained() -> None:
    named = {code_of(row).removeprefix("kernel.") for row in ROWS}
    assert named >= CONCEPTS


def test_every_term_is_there_once() -> None:
    terms = [row["Term"] for row in ROWS]
    assert len(terms) == len(set(terms))
