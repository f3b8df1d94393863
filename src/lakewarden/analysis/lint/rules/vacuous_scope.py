"""`vacuous-scope`: a statement about nothing that is stored."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, criteria_of
from lakewarden.analysis.lint.rules import dangling_entity
from lakewarden.kernel.statement import Matching, Statement

_TYPE = "TYPE"


def _find(context: LintContext) -> Iterator[Found]:
    for statement in context.in_force if context.tree.stored else ():
        bearings = context.bearings.get(statement.id, ())
        if not bearings or not _chooses(context, statement):
            continue
        if any(context.stored(bearing.grant) for bearing in bearings):
            continue
        # Of a name that is missing, and of no values at all, other rules speak.
        has_values = all(criterion.values for criterion in criteria_of(statement))
        if has_values and next(dangling_entity.missing(context, statement), None) is None:
            yield Found(
                at(statement),
                "covers nothing that is stored",
                "correct the pattern or the criteria, or delete it until there is something",
            )


def _chooses(context: LintContext, statement: Statement) -> bool:
    """Whether it chooses by more than the type: of a type there may be none yet."""
    if statement.id in context.shipped:
        return False
    types = context.model.types
    by_more = any(
        criterion.field != _TYPE or not types.keys() >= set(criterion.values)
        for criterion in criteria_of(statement)
    )
    return isinstance(statement.scope, Matching) or by_more


RULE = Rule(
    id="vacuous-scope",
    title="A statement whose pattern or criteria meet nothing that is stored",
    severity=Severity.WARNING,
    why=(
        "Either it was meant for something else, or for what is gone. Whatever comes to match it"
        " one day is open from its first moment, and nobody will remember why. In CDAP it shows"
        " the containers that it names already now."
    ),
    mend="Correct what it chooses by, or delete it.",
    source="CDAP authorization reference 5.1.2, wildcards; DataHub Policies Guide, Resources",
    find=_find,
    misses=(
        "Policies by type alone. Statements that name something that is not stored:"
        " `dangling-entity` finds those. One that grants in advance, before anything is created,"
        " is found and may be wanted."
    ),
)
