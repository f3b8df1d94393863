"""`idle-deny`: a DENY that takes nothing away from anybody."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import Bearing, LintContext, at, words
from lakewarden.analysis.lint.privilege_meaning import not_denied
from lakewarden.analysis.lint.rules.beaten_allow import denies
from lakewarden.kernel.statement import Effect


def _find(context: LintContext) -> Iterator[Found]:
    counts_alone = not_denied(context.model)
    idle: dict[str, set[str]] = {}
    working: set[str] = set()
    for statement, bearing in context.bears(Effect.DENY):
        # Of who is held by nobody another rule speaks.
        held = any(context.users_of(principal) for principal in bearing.grant.principals)
        if not held or bearing.privilege in counts_alone or _takes(context, bearing):
            working.add(statement.id)
        else:
            idle.setdefault(statement.id, set()).add(bearing.privilege)
    for statement in context.in_force:
        if statement.id in idle and statement.id not in working:
            yield Found(
                at(statement),
                f"denies {words(idle[statement.id])} to whom nothing there allows it anyway",
                "delete it, or give it to those from whom it is to be kept",
            )


def _takes(context: LintContext, bearing: Bearing) -> bool:
    """Whether anybody who is denied the privilege is allowed it on any of the same."""
    denied = bearing.grant.principals
    return any(
        grant.owners is not None
        or any(context.go_together(one, other) for one in denied for other in grant.principals)
        for grant in context.overlapping(
            Effect.ALLOW, bearing.privilege, context.ids(bearing.grant)
        )
    )


RULE = Rule(
    id="idle-deny",
    title="A DENY that takes nothing away from anybody",
    severity=Severity.WARNING,
    why=(
        "What is not allowed is denied already. The DENY makes readers believe that the others"
        " could get in, and it will surprise whoever grants the privilege later."
    ),
    mend="Delete it. Where it is a guard rail, put it on a role that everybody concerned holds.",
    source="Apache Gravitino 1.1.0, access control page: privileges are denied by default",
    find=_find,
    applies=denies,
    misses="A DENY of which one privilege works and another does not.",
)
