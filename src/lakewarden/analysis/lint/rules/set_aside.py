"""`set-aside`: a row that was read and does not count."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext
from lakewarden.analysis.lint.place import Place


def _find(context: LintContext) -> Iterator[Found]:
    for row in context.set_aside:
        detail = f" ({row.detail})" if row.detail else ""
        yield Found(
            Place("row", row.place or row.row),
            f"was set aside: {row.reason}{detail}; as if it were not there: {row.table} {row.row}",
            "correct it where it comes from, and ingest again",
        )


RULE = Rule(
    id="set-aside",
    title="A row that was read, had no place, and does not count",
    severity=Severity.WARNING,
    why=(
        "Its tag, parent or policy is missing here. Where a policy excludes what is tagged, an"
        " entity whose tag was lost is covered."
    ),
    mend="Correct it at its source.",
    source="lakewarden pipeline ingest: quarantine",
    find=_find,
    misses="What a server holds: only a directory keeps what was set aside.",
)
