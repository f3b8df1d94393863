"""Each checklist item has a test, and each conflict one that shows its decision.

The name of a test states its subject: `test_07_…` item 7, `test_k07_…` conflict K7.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CHECKLIST = sorted((HERE / "checklist").glob("test_*.py"))
CONFLICTS = sorted((HERE / "conflicts").glob("test_*.py"))


def named(paths: list[Path]) -> Iterator[str]:
    """The names of all test functions in the files."""
    for path in paths:
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield node.name


@pytest.mark.parametrize(
    ("paths", "pattern", "count"),
    [(CHECKLIST, r"test_(\d\d)_\w+", 28), (CONFLICTS, r"test_k(\d\d)_\w+", 25)],
    ids=["checklist", "conflicts"],
)
def test_every_number_is_in_the_name_of_a_test_and_every_test_has_one(
    paths: list[Path], pattern: str, count: int
) -> None:
    matches = [re.fullmatch(pattern, name) for name in named(paths)]
    assert None not in matches
    assert {int(match[1]) for match in matches if match} == set(range(1, count + 1))
