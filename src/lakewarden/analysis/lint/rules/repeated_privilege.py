"""`repeated-privilege`: a privilege that many policies give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext
from lakewarden.analysis.lint.place import Place
from lakewarden.analysis.lint.rules.homeless_entity import chooses

MANY = 10
"""More policies than this with one privilege are many."""


def _find(context: LintContext) -> Iterator[Found]:
    counts: Counter[str] = Counter()
    for statement in context.in_force:
        counts.update(context.privileges(statement))
    for name, count in sorted(counts.items()):
        if count > MANY:
            yield Found(
                Place("privilege", name),
                f"stands in {count:,} policies",
                "consolidate policies with the same privileges",
            )


RULE = Rule(
    id="repeated-privilege",
    title=f"Privileges that stand in more than {MANY} policies each",
    severity=Severity.NOTE,
    why="The original tries the policies of a privilege one after the other until one grants it.",
    mend="Consolidate policies.",
    source="DataHub documentation, Policies Guide: number of active policies",
    find=_find,
    applies=chooses,
)
