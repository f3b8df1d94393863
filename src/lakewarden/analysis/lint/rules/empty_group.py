"""`empty-group`: privileges that wait for the first member of a group."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, some, who
from lakewarden.kernel.principal import GROUP, ROLE


def _find(context: LintContext) -> Iterator[Found]:
    memberships = context.memberships
    named: dict[int, list[str]] = {}
    for statement in context.in_force:
        for principal in statement.principals:
            if principal.kind in (GROUP, ROLE):
                named.setdefault(memberships.ids[principal], []).append(statement.id)
    for id in sorted(named):
        principal = context.principal(id)
        members = memberships.members.get(id, frozenset())
        if context.users_of(id) or (principal.kind == ROLE and not members):
            continue
        if principal.kind == ROLE:
            groups = (context.principal(one).name for one in sorted(members))
            says = f"is held only by {some(groups)}, where nobody is a member"
        else:
            says = f"has no members, and is named by {some(named[id])}"
        yield Found(
            who(principal),
            says,
            "take its privileges away until somebody is in it, or find out who should be",
        )


RULE = Rule(
    id="empty-group",
    title="A group without members that has privileges, or a role that only such groups hold",
    severity=Severity.WARNING,
    why=(
        "The first one to be entered into the group, often by an identity provider far away, gets"
        " all of it without anybody looking."
    ),
    mend="Remove the statements or the group; sync memberships from the identity provider.",
    source="DataHub documentation, Policies Guide: groups, sync from your IdP when possible",
    find=_find,
    misses="Groups whose members only the identity provider knows look empty here.",
)
