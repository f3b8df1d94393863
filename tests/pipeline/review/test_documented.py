"""Every table of a review, and every column, is on the page about jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

import lakewarden
from lakewarden.kernel.model import WAYS
from lakewarden.pipeline.job import names_of
from lakewarden.pipeline.review.run import STAGES
from lakewarden.pipeline.review.schemas import GROUPS, SCHEMAS

PAGE = Path(lakewarden.__file__).parents[2] / "docs" / "jobs.md"


def section() -> str:
    return PAGE.read_text("utf-8").partition("\n## review\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("table", sorted(SCHEMAS))
def test_a_table_and_its_columns_are_documented(table: str) -> None:
    rows = section().partition(f"`{table}`")[2] if table not in GROUPS else section()
    assert rows
    for column in SCHEMAS[table].names:
        for way in WAYS[1:]:  # the first one represents all
            column = column.replace(f"{way}_", f"{WAYS[0]}_")  # noqa: PLW2901 — the page's spelling
        assert f"`{column}`" in rows, column


def test_the_stages_are_documented() -> None:
    for stage in names_of(STAGES):
        assert f"| `{stage}` |" in section()
