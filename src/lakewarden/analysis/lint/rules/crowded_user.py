"""`crowded-user`: a user in many groups."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, some, who
from lakewarden.kernel.principal import GROUP, USER

MANY = 15
"""More groups than this around one user are many."""


def _find(context: LintContext) -> Iterator[Found]:
    memberships = context.memberships
    is_named = {
        id
        for side in (context.table.allow, context.table.deny)
        for grouped in side.values()
        for id in grouped.by_principal
        if context.principal(id).kind == GROUP
    }
    users = [id for id in memberships.of if context.principal(id).kind == USER]
    for user in sorted(users):
        groups = sorted(is_named & context.acts_as(user))
        if len(groups) > MANY:
            names = (context.principal(group).name for group in groups)
            yield Found(
                who(context.principal(user)),
                f"is in {len(groups)} groups that have privileges: {some(names)}",
                "take the user out of those of earlier jobs",
            )


RULE = Rule(
    id="crowded-user",
    title=f"A user in more than {MANY} groups with privileges",
    severity=Severity.NOTE,
    why="Groups pile up with every change of jobs, and each costs the original time per check.",
    mend="Limit overlapping groups; let the identity provider take people out again.",
    source="DataHub documentation, Policies Guide: review group membership",
    find=_find,
)
