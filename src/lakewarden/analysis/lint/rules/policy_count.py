"""`policy-count`: more policies in force than anybody can read."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext
from lakewarden.analysis.lint.place import Place
from lakewarden.analysis.lint.rules.homeless_entity import chooses

MANY = 100
"""More policies than this are many."""


def _find(context: LintContext) -> Iterator[Found]:
    count = len(context.in_force)
    if count > MANY:
        yield Found(
            Place("realm", context.model.name),
            f"{count:,} policies are in force",
            "begin with what the other rules find: duplicates, shadowed and overlapping ones",
        )


RULE = Rule(
    id="policy-count",
    title=f"More than {MANY} policies in force",
    severity=Severity.NOTE,
    why="The first thing to count when the original gets slow, and the first that nobody reads.",
    mend="Reduce overlapping and redundant policies.",
    source="DataHub documentation, Policies Guide: troubleshooting, count active policies",
    find=_find,
    applies=chooses,
)
