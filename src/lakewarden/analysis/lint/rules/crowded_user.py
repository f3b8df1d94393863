"""`crowded-user`: a user in many groups."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.estate import Estate, some, who
from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.kernel.principal import GROUP, USER

MANY = 15
"""More groups than this around one user are many."""


def _find(estate: Estate) -> Iterator[Found]:
    acting = estate.acting
    is_named = {
        id
        for side in (estate.table.allow, estate.table.deny)
        for grouped in side.values()
        for id in grouped.by_principal
        if estate.principal(id).kind == GROUP
    }
    users = [id for id in acting.of if estate.principal(id).kind == USER]
    for user in sorted(users):
        groups = sorted(is_named & estate.acts_as(user))
        if len(groups) > MANY:
            names = (estate.principal(group).name for group in groups)
            yield Found(
                who(estate.principal(user)),
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
