"""`duplicate-statement`: one statement stored twice under two ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at
from lakewarden.kernel.statement import Statement


def _find(context: LintContext) -> Iterator[Found]:
    first: dict[Statement, str] = {}
    for statement in context.in_force:
        privileges = context.privileges(statement)
        content = replace(statement, id="", title="", privileges=privileges)
        known = first.setdefault(content, statement.id)
        if known != statement.id and privileges:
            yield Found(
                at(statement),
                f"says word for word what `{known}` says",
                f"delete it; `{known}` stays",
            )


RULE = Rule(
    id="duplicate-statement",
    title="A statement that is stored twice under two ids",
    severity=Severity.WARNING,
    why="Whoever takes the privilege away by removing one of the two takes nothing away.",
    mend="Delete all but one.",
    source="DataHub documentation, Policies Guide: number of active policies",
    find=_find,
    misses="Statements that say the same in other words; see `shadowed-statement`.",
)
