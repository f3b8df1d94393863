"""Writes the tables of a version from checked rows, and compares the counts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.kernel.model import Model
from lakewarden.kernel.relations import TABLES
from lakewarden.pipeline.check_rules import REPEATED
from lakewarden.pipeline.directory_manifest import Content
from lakewarden.pipeline.ingest.report import Quality, Share
from lakewarden.pipeline.ingest.rows import Rows
from lakewarden.pipeline.ingest.source import Progress
from lakewarden.pipeline.ingest.version import DirectoryDraft
from lakewarden.pipeline.storage.parquet import count_values
from lakewarden.pipeline.tables import COLUMNS, QUARANTINE
from lakewarden.service.source_row import PLACEMENTS, STATEMENTS


class Checked(NamedTuple):
    """Checked rows, stored; how many of each table passed and failed, and the reasons."""

    rows: Rows
    passed: Mapping[str, int]
    failed: Mapping[str, int]
    reasons: Mapping[str, int]


class Owned(NamedTuple):
    """Checked rows with the owners after the rules; how many there are, were added and removed."""

    rows: Rows
    total: int
    added: int = 0
    removed: int = 0


def expect(label: str, actual: int, expected: int) -> None:
    """INVARIANT: no row is lost or added on the way."""
    if actual != expected:
        raise WardenError(f"rows do not add up: {label}: expected {expected}, found {actual}")


def write(
    checked: Checked, owned: Owned, directory_draft: DirectoryDraft, progress: Progress
) -> tuple[dict[str, Content], Content]:
    """Writes every table and the statements; returns their contents. Raises if a row is missing."""
    counts = {
        **checked.passed,
        "owners": owned.total,
        QUARANTINE: sum(checked.failed.values()),
    }
    tables: dict[str, Content] = {}
    for done, name in enumerate(COLUMNS, 1):
        tables[name] = owned.rows.write(name, counts.get(name, 0), directory_draft)
        progress("write", done, len(COLUMNS) + 1, f"{tables[name].rows} {name}")
    statements = directory_draft.write_statements(_statements(checked))
    _compare(checked, owned, tables, statements, directory_draft)
    return tables, statements


def _statements(checked: Checked) -> str:
    """The statements that passed, one JSON object per line, by id."""
    if not checked.passed.get(STATEMENTS):
        return ""
    statements = checked.rows.statements()
    for (id, _), (following, _) in pairwise(statements):
        if id == following:
            raise BadInput(f"statement id `{id}` is used twice")
    return "".join(f"{text}\n" for _, text in statements)


def _compare(
    checked: Checked,
    owned: Owned,
    tables: Mapping[str, Content],
    statements: Content,
    directory_draft: DirectoryDraft,
) -> None:
    """Compares the written rows with the counts of earlier stages."""
    passed = checked.passed
    for name in TABLES:
        grown = owned.added - owned.removed if name == "owners" else 0
        expect(f"{name} written", tables[name].rows, passed.get(name, 0) + grown)
    placed = count_values(directory_draft.folder / "entities", "parent_type")
    expect("places written", placed, passed.get(PLACEMENTS, 0))
    expect("statements written", statements.rows, passed.get(STATEMENTS, 0))
    expect("rows in quarantine", tables[QUARANTINE].rows, sum(checked.failed.values()))


def named_only(checked: Checked) -> dict[str, int]:
    """By type: the number of parents and targets that are not stored."""
    if not (checked.passed.get(PLACEMENTS) or checked.passed.get("relations")):
        return {}
    return checked.rows.named_only()


def quality(
    checked: Checked,
    owned: Owned,
    model: Model,
    named: Mapping[str, int],
    described: Mapping[str, tuple[int, int]],
) -> Quality:
    """The data quality; `named` is the result of `named_only`, `described` the source's shares."""
    owners = owned.rows.owned() if checked.passed.get("entities") else {}
    has_people = owned.total or checked.passed.get("memberships")
    dangling = {**named, **(owned.rows.strangers() if has_people else {})}
    return Quality(
        ownerless={
            type: share
            for type, share in owners.items()
            if type in model.types and model.types[type].owned
        },
        undescribed={t: Share(of - known, of) for t, (known, of) in sorted(described.items())},
        dangling=dict(sorted(dangling.items())),
        duplicates=checked.reasons.get(REPEATED, 0),
        unknown_types={t: share.of for t, share in owners.items() if t not in model.types},
    )
