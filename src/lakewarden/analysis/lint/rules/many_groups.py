"""`many-groups`: one policy that lists many groups."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, some
from lakewarden.kernel.principal import GROUP

MANY = 5
"""More groups than this in one statement are many."""


def _find(context: LintContext) -> Iterator[Found]:
    for statement in context.in_force:
        groups = sorted(p.name for p in statement.principals if p.kind == GROUP)
        if len(groups) > MANY:
            yield Found(
                at(statement),
                f"lists {len(groups)} groups: {some(groups)}",
                "make one group for this boundary, with those groups' members in it",
            )


RULE = Rule(
    id="many-groups",
    title=f"One statement that lists more than {MANY} groups",
    severity=Severity.WARNING,
    why="Whether a new team belongs to the list is decided anew each time, and often forgotten.",
    mend="One group for each boundary.",
    source="DataHub documentation, Policies Guide: groups, one group per policy boundary",
    find=_find,
)
