"""The page about unused access names what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

import lakewarden
from lakewarden.pipeline.unused import normal, placing, proposal, run
from lakewarden.pipeline.unused.finding import SCHEMAS
from lakewarden.pipeline.unused.reading import SUFFIXES, USAGE_COLUMNS
from lakewarden.pipeline.unused.touch import BAD_LINE

PAGE = Path(lakewarden.__file__).parents[2] / "docs" / "jobs.md"

NAMED = [
    *(normal.UNKNOWN_PRINCIPAL, normal.UNKNOWN_OPERATION, normal.UNKNOWN_ENTITY),
    *(normal.BAD_NAME, BAD_LINE, proposal.FIXED, proposal.UNSAYABLE, run.PROPOSAL),
    *SUFFIXES,
    *run.STAGES,
    *SCHEMAS,
    *(name for schema in (*SCHEMAS.values(), USAGE_COLUMNS) for name in schema.names),
    *(part.split()[0] for part in placing.QUARANTINE.split(", ")),
]


@pytest.mark.parametrize("word", dict.fromkeys(NAMED))
def test_the_page_names_it(word: str) -> None:
    section = PAGE.read_text("utf-8").partition("\n## unused\n")[2].partition("\n## ")[0]
    assert f"`{word}`" in section or f"{word}.toml" in section
