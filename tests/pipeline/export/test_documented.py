"""Every table of an export, every view, and every column, is on the page about jobs."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

import lakewarden
from lakewarden.pipeline.export.people import table
from lakewarden.pipeline.export.run import STAGES
from lakewarden.pipeline.export.schemas import SCHEMAS, VIEWS, sql
from lakewarden.pipeline.job import names_of

PAGE = Path(lakewarden.__file__).parents[2] / "docs" / "jobs.md"
VIEWED = re.findall(r"CREATE OR REPLACE TEMPORARY VIEW (\w+)", sql()[VIEWS])
MADE_OF = ("crowd_people", "meeting", "allowed")
"""Helper views for the others."""


def section() -> str:
    return PAGE.read_text("utf-8").partition("\n## export\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_a_table_and_its_columns_are_documented(name: str) -> None:
    found = section().partition(f"`{name}`")
    assert found[1]
    for column in SCHEMAS[name].names:
        assert f"`{column}`" in found[2], column


def test_the_views_and_their_columns_are_documented() -> None:
    database = duckdb.connect()
    for name in SCHEMAS:
        database.register(name, table(name, ()))
    database.execute(sql()[VIEWS])
    for view in VIEWED:
        found = section().rpartition(f"`{view}`")
        assert found[1], view
        columns = [row[0] for row in database.execute(f"DESCRIBE {view}").fetchall()]
        for column in columns if view not in MADE_OF else ():
            assert f"`{column}`" in section(), column


def test_the_stages_are_documented() -> None:
    for stage in names_of(STAGES):
        assert f"| `{stage}` |" in section()


@pytest.mark.parametrize("name", sorted(sql()))
def test_files_can_be_cut_into_statements_at_their_semicolons(name: str) -> None:
    text = sql()[name]
    for line in text.splitlines():
        assert not (line.startswith("--") and ";" in line)
    assert all("CREATE OR REPLACE" in part for part in text.split(";") if part.strip())
