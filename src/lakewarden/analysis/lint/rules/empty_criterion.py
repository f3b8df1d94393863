"""`empty-criterion`: a criterion without values, or one that contradicts itself."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, criteria_of
from lakewarden.analysis.lint.rules.homeless_entity import chooses
from lakewarden.kernel.statement import Condition


def _find(context: LintContext) -> Iterator[Found]:
    for statement in context.in_force:
        for criterion in (*criteria_of(statement), *(statement.constraint or ())):
            if any(criterion.values):
                continue
            is_not = criterion.condition is Condition.NOT_EQUALS
            yield Found(
                at(statement),
                f"compares {criterion.field} with nothing, which"
                f" {'holds of everything' if is_not else 'never holds'}",
                "give it values, or take the criterion out",
            )


RULE = Rule(
    id="empty-criterion",
    title="A criterion without values",
    severity=Severity.WARNING,
    why="EQUALS nothing never holds, so the policy is dead; NOT_EQUALS nothing always does.",
    mend="Give it values.",
    source="DataHub, PolicyEngine: conditions over empty sets",
    find=_find,
    applies=chooses,
)
