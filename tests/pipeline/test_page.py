"""The page about ingestion names only existing things."""

from __future__ import annotations

from pathlib import Path

import pytest

import lakewarden
from lakewarden.kernel.principal import GROUP, ROLE
from lakewarden.kernel.relations import REMOVED, TABLES
from lakewarden.pipeline import check_rules
from lakewarden.pipeline.tables import QUARANTINE
from lakewarden.service import source_row
from lakewarden.systems.datahub.aspects import meaning
from lakewarden.systems.datahub.aspects.change import CHANGES
from lakewarden.systems.datahub.ingest import ownership
from lakewarden.systems.datahub.ingest.file import SUFFIXES

PAGE = Path(lakewarden.__file__).parents[2] / "docs" / "pipeline.md"

REASONS = {
    *(
        source_row.BAD_NAME,
        source_row.BAD_STATEMENT,
        check_rules.REPEATED,
        check_rules.TWO_PARENTS,
        check_rules.CYCLE,
    ),
    *(
        check_rules.TOO_DEEP,
        check_rules.DANGLING_PARENT,
        check_rules.NOT_STORED,
        check_rules.DANGLING_TARGET,
    ),
    check_rules.INCOMPLETE,
}
NAMED = [
    *(f"| `{reason}` |" for reason in sorted(REASONS)),
    *(f"`{name}`" for name in sorted(meaning.READERS)),
    *(f"`{word}`" for word in CHANGES),
    *(f"`{suffix}`" for suffix in SUFFIXES),
    *(f"`{table}.csv`" for table in TABLES),
    *(ownership.OVERWRITE, ownership.PATCH, QUARANTINE, REMOVED),
    f"more than {check_rules.MAX_LEVELS} levels",
]


@pytest.mark.parametrize("text", NAMED)
def test_the_page_names_it(text: str) -> None:
    assert text in PAGE.read_text("utf-8")


def test_no_reason_is_missing() -> None:
    declared = {
        value
        for module in (check_rules, source_row)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, str)
    }
    others = {
        source_row.PLACEMENTS,
        source_row.STATEMENTS,
        source_row.DELETED,
        source_row.NOTES,
        source_row.ERRORS,
    }
    assert declared - others - {GROUP, ROLE} == REASONS
