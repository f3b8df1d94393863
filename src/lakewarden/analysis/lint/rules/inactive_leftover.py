"""`inactive-leftover`: a statement that was switched off and kept."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, criteria_of
from lakewarden.kernel.statement import Anything, Effect, Where


def _find(context: LintContext) -> Iterator[Found]:
    for statement in context.statements:
        if statement.active or statement.id in context.shipped:
            continue
        scope = statement.scope
        is_wide = isinstance(scope, (Anything, Where)) and not criteria_of(statement)
        wide = is_wide and statement.owners is None and statement.effect is Effect.ALLOW
        yield Found(
            at(statement),
            "is not active" + (", and would cover everything if it were switched on" * wide),
            "delete it, or say in its title when it is to come back",
        )


RULE = Rule(
    id="inactive-leftover",
    title="A statement that was switched off, or never finished, and kept",
    severity=Severity.WARNING,
    why="One click or one bulk update brings it back, long after anybody knew what it did.",
    mend="Delete it; an export keeps it for whoever wants it back.",
    source="DataHub documentation, Policies Guide: troubleshooting; states INACTIVE and DRAFT",
    find=_find,
    misses="Statements that the system ships: switching those off is how they are replaced.",
)
