"""`not-equals-only`: a policy that only says what it is not about."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, criteria_of
from lakewarden.analysis.lint.rules.homeless_entity import chooses
from lakewarden.kernel.statement import Condition


def _find(context: LintContext) -> Iterator[Found]:
    for statement in context.policies:
        criteria = criteria_of(statement)
        if statement.owners is not None and not statement.principals:
            continue
        narrowing = [c for c in criteria if c.field != "TYPE"]
        if narrowing and all(c.condition is Condition.NOT_EQUALS for c in narrowing):
            fields = ", ".join(sorted({c.field for c in narrowing}))
            count = len(_stored(context, statement.id))
            yield Found(
                at(statement),
                f"only says what it is not about ({fields}): it covers {count:,} entities, those"
                " that have none of it included",
                "say what it is about: add a domain, a container or an owner with EQUALS",
            )


def _stored(context: LintContext, id: str) -> frozenset[int]:
    bearings = context.bearings.get(id)
    return frozenset(context.stored(bearings[0].grant)) if bearings else frozenset()


RULE = Rule(
    id="not-equals-only",
    title="A policy whose only filter is NOT_EQUALS",
    severity=Severity.WARNING,
    why=(
        "It covers whatever carries no tag and lies in no domain, and in the original even what a"
        " failed look-up left empty: forgetting a tag opens."
    ),
    mend="Choose with EQUALS, and let NOT_EQUALS only take something away from that.",
    source="DataHub, PolicyMatchCriterion; DataHub Policies Guide, experimental constraints",
    find=_find,
    applies=chooses,
)
