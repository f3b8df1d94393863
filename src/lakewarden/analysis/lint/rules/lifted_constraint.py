"""`lifted-constraint`: a constraint that another grant to the same lifts."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, some
from lakewarden.analysis.lint.rules.homeless_entity import chooses
from lakewarden.kernel.statement import Effect


def _find(context: LintContext) -> Iterator[Found]:
    for statement, (privilege, grant) in context.bears(Effect.ALLOW):
        stored = context.stored(grant)
        if grant.constraint is None or not stored or not grant.principals:
            continue
        others = {privilege, *context.meaning.stand_ins(privilege)}
        lifting = {
            other.statement.id
            for name in others
            for principal in grant.principals
            for other in context.table.allows(name).of(context.acts_as(principal))
            if other.constraint is None and not context.ids(other).isdisjoint(stored)
        }
        if lifting:
            yield Found(
                at(statement),
                f"limits {privilege} to some sub-resources, and {some(sorted(lifting))} gives it"
                " to the same without limit",
                "take the privilege, and EDIT_ENTITY, out of the other policy",
            )


RULE = Rule(
    id="lifted-constraint",
    title="A constraint that an unconstrained grant to the same lifts",
    severity=Severity.WARNING,
    why=(
        "One policy alone has to allow the whole change. One without a constraint always does, and"
        " so does EDIT_ENTITY, which stands for every narrower edit."
    ),
    mend="Give the privilege once, with its constraint.",
    source="DataHub, PrivilegeConstraintsValidator; Policies Guide, Experimental",
    find=_find,
    applies=chooses,
    misses="Grants to other groups of the same people; grants to owners.",
)
