"""`view-by-type`: everything of a type is shown, where other policies restrict the view of it."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, criteria_of, some, values_of
from lakewarden.analysis.lint.rules.domain_boundary import shows
from lakewarden.kernel.statement import Condition, Statement

_TYPE = "TYPE"


def _find(context: LintContext) -> Iterator[Found]:
    if not is_restricted(context):
        return
    for statement in context.policies:
        named = context.privileges(statement)
        seeing = sorted(named & context.meaning.seeing)
        types = context.meaning.assets & set(values_of(statement, _TYPE))
        if not seeing or not types or _narrows(statement) or statement.owners is not None:
            continue
        beside = named & context.meaning.changing
        purpose = ", in a policy that is about editing" if beside else ""
        yield Found(
            at(statement),
            f"shows every {some(sorted(types))}{purpose}, where other policies restrict the view",
            f"take {', '.join(seeing)} out, and let other policies show what is edited there",
        )


def is_restricted(context: LintContext) -> bool:
    """Whether some policy in force shows assets by anything but their type."""
    seeing = context.meaning.seeing
    return any(_narrows(s) and context.privileges(s) & seeing for s in context.policies)


def _narrows(statement: Statement) -> bool:
    return any(
        criterion.field != _TYPE and criterion.condition is not Condition.NOT_EQUALS
        for criterion in criteria_of(statement)
    )


RULE = Rule(
    id="view-by-type",
    title="All assets of a type shown to somebody, where other policies restrict the view",
    severity=Severity.WARNING,
    why=(
        "Policies only ever add. One that shows all datasets makes every policy that shows some of"
        " them pointless for the same people; often it was written for something else."
    ),
    mend="Keep seeing apart from editing, and choose by owner, domain or tag.",
    source="DataHub documentation, Policies Guide: view-based access control, recommended patterns",
    find=_find,
    applies=shows,
    misses="Platform teams that are meant to see everything (pattern A): ignore it for those.",
)
