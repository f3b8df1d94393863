"""Every table of a directory, and every column, is on the page about ingesting."""

from __future__ import annotations

from pathlib import Path

import pytest

import lakewarden
from lakewarden.pipeline.tables import COLUMNS

PAGE = Path(lakewarden.__file__).parents[2] / "docs" / "pipeline.md"


@pytest.mark.parametrize("table", sorted(COLUMNS))
def test_a_table_and_its_columns_are_documented(table: str) -> None:
    section = PAGE.read_text("utf-8").partition("\n## Directory format\n")[2].partition("\n## ")[0]
    found = section.partition(f"| `{table}` |")
    assert found[1]
    for column in COLUMNS[table]:
        assert f"`{column.name}`" in found[2], column.name
