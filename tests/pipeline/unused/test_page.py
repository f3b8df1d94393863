"""The page about unused access names only existing things."""

from __future__ import annotations

from pathlib import Path

import pytest

import lakewarden
from lakewarden.pipeline.job import names_of
from lakewarden.pipeline.unused import block_assignment, normalized_access, proposal, run
from lakewarden.pipeline.unused.access_record import BAD_LINE
from lakewarden.pipeline.unused.finding import SCHEMAS
from lakewarden.pipeline.unused.log_formats import SUFFIXES, USAGE_COLUMNS

PAGE = Path(lakewarden.__file__).parents[2] / "docs" / "jobs.md"

NAMED = [
    *(
        normalized_access.UNKNOWN_PRINCIPAL,
        normalized_access.UNKNOWN_OPERATION,
        normalized_access.UNKNOWN_ENTITY,
    ),
    *(normalized_access.BAD_NAME, BAD_LINE, proposal.FIXED, proposal.UNSAYABLE, run.PROPOSAL),
    *SUFFIXES,
    *names_of(run.STAGES),
    *SCHEMAS,
    *(name for schema in (*SCHEMAS.values(), USAGE_COLUMNS) for name in schema.names),
    *(part.split()[0] for part in block_assignment.QUARANTINE.split(", ")),
]


@pytest.mark.parametrize("word", dict.fromkeys(NAMED))
def test_the_page_names_it(word: str) -> None:
    section = PAGE.read_text("utf-8").partition("\n## unused\n")[2].partition("\n## ")[0]
    assert f"`{word}`" in section or f"{word}.toml" in section
