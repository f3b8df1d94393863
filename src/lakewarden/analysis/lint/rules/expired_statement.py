"""`expired-statement`: a statement whose time is over and that is still stored."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at


def _find(context: LintContext) -> Iterator[Found]:
    for statement in context.statements:
        end = statement.valid_until
        if end is None or not statement.active:
            continue
        if statement.valid_from is not None and statement.valid_from >= end:
            yield Found(
                at(statement),
                "ends before it begins, and never counts",
                "correct `valid_from` or `valid_until`",
            )
        elif end <= context.now:
            yield Found(
                at(statement),
                f"counts no more since {_date(end)}",
                "delete it; the audit trail keeps what it did",
            )


def _date(moment: float) -> str:
    try:
        return datetime.fromtimestamp(moment, UTC).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return f"second {moment:,.0f}"


RULE = Rule(
    id="expired-statement",
    title="A statement whose time is over, and that is still stored",
    severity=Severity.WARNING,
    why="It opens nothing now. With its date changed, or a clock set wrong, it opens again.",
    mend="Delete it.",
    source="lakewarden: validity windows",
    find=_find,
)
