"""`urn-policies`: many policies by URN that one tag could replace."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, criteria_of, some, values_of
from lakewarden.analysis.lint.rules.homeless_entity import chooses
from lakewarden.kernel.statement import Condition, Statement

_URN = "URN"
MANY = 3
"""So many policies that differ only in their URNs are many."""

LONG = 20
"""So many URNs in one policy are many."""


def _find(context: LintContext) -> Iterator[Found]:
    alike: dict[object, list[Statement]] = {}
    for statement in context.policies:
        criteria = criteria_of(statement)
        rest = tuple(c for c in criteria if c.field != _URN)
        urns = values_of(statement, _URN)
        if len(criteria) - len(rest) != 1 or not urns:
            continue
        key = (
            context.privileges(statement),
            statement.principals,
            statement.owners,
            tuple(c for c in rest if c.condition is not Condition.EQUALS or c.field != "TYPE"),
            statement.constraint,
        )
        alike.setdefault(key, []).append(statement)
        if len(urns) >= LONG:
            yield Found(
                at(statement),
                f"lists {len(urns):,} URNs",
                "tag what is meant, and choose by the tag",
            )
    for policies in alike.values():
        if len(policies) >= MANY:
            ids = [policy.id for policy in policies]
            yield Found(
                at(policies[0]),
                f"and {len(policies) - 1} others differ only in their URNs: {some(ids)}",
                "tag what they name, and make one policy that chooses by the tag",
            )


RULE = Rule(
    id="urn-policies",
    title=f"{MANY} or more policies that differ only in their URNs, or one with {LONG} URNs",
    severity=Severity.WARNING,
    why="Each new table needs a new policy, and each dropped one leaves a policy behind.",
    mend="Tag the assets, and choose by the tag.",
    source="DataHub documentation, Policies Guide: anti-patterns, URN-specific policies",
    find=_find,
    applies=chooses,
)
