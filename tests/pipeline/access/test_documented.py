"""Every table of an access report, every column and every selector, is on the page about jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

import lakewarden
from lakewarden.pipeline.access.combinations import SELECTORS
from lakewarden.pipeline.access.run import STAGES
from lakewarden.pipeline.access.schemas import SCHEMAS

PAGE = Path(lakewarden.__file__).parents[2] / "docs" / "jobs.md"


def section() -> str:
    return PAGE.read_text("utf-8").partition("\n## access\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_a_table_and_its_columns_are_documented(name: str) -> None:
    found = section().partition(f"`{name}`")
    assert found[1]
    for column in SCHEMAS[name].names:
        assert f"`{column}`" in section(), column


def test_stages_and_selectors_are_documented() -> None:
    for word in (*(stage.name for stage in STAGES), *SELECTORS):
        assert f"`{word}`" in section(), word
