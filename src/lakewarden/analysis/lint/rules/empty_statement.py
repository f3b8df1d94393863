"""`empty-statement`: a statement for nobody, or about no privilege."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at


def _find(context: LintContext) -> Iterator[Found]:
    for statement in context.in_force:
        owners = statement.owners
        if not statement.principals and (owners is None or owners.types == frozenset()):
            yield Found(
                at(statement),
                "is for nobody: no user, group or role, and no owner of any ownership type",
                "name who it is for; owners of whatever type are meant by leaving the types out",
            )
        elif not statement.privileges:
            yield Found(at(statement), "names no privilege", "name one, or delete it")


RULE = Rule(
    id="empty-statement",
    title="A statement for nobody, or about no privilege",
    severity=Severity.WARNING,
    why=(
        "It is stored, it is shown, and it does nothing. In DataHub an empty list of ownership"
        " types is the usual way there: it does not mean owners of every type, but of none."
    ),
    mend="Name whom it is for and what it allows, or delete it.",
    source="DataHub, PolicyEngine (resourceOwnersTypes); Policies Guide, Actors",
    find=_find,
)
