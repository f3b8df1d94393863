"""`per-user-policy`: a policy for single users instead of a group."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, some
from lakewarden.kernel.principal import USER


def _find(context: LintContext) -> Iterator[Found]:
    severity = Severity.WARNING if context.model.fields else Severity.NOTE
    for statement in context.in_force:
        principals = statement.principals
        if principals and statement.owners is None and all(p.kind == USER for p in principals):
            yield Found(
                at(statement),
                f"is for {some(sorted(p.name for p in principals))} by name",
                "make a group for what they do, and name that",
                severity,
            )


RULE = Rule(
    id="per-user-policy",
    title="A statement for users by name, instead of for a group",
    severity=Severity.WARNING,
    why=(
        "It stays when they change their job, their successors lack it, and there is one more of"
        " it for each of them. In systems without criteria it is a note."
    ),
    mend="Prefer groups, synced from the identity provider.",
    source="DataHub documentation, Policies Guide: groups; anti-patterns, one policy per user",
    find=_find,
)
