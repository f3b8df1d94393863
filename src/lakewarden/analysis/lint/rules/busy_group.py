"""`busy-group`: a group that many statements name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, who
from lakewarden.kernel.principal import GROUP, Principal

MANY = 20
"""More statements than this about one group are many."""


def _find(context: LintContext) -> Iterator[Found]:
    counts: Counter[Principal] = Counter()
    for statement in context.in_force:
        counts.update(p for p in statement.principals if p.kind == GROUP)
    for principal, count in sorted(counts.items()):
        if count > MANY:
            yield Found(
                who(principal),
                f"is named by {count:,} statements",
                "consolidate them, or split the group by what its people do",
            )


RULE = Rule(
    id="busy-group",
    title=f"A group that more than {MANY} statements name",
    severity=Severity.NOTE,
    why="Nobody can say any more what being in it means.",
    mend="Consolidate the statements, or split the group.",
    source="DataHub documentation, Policies Guide: groups listed in many policies",
    find=_find,
)
