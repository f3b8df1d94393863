"""`no-resources`: a metadata policy that names no resources, and so covers all."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, criteria_of, some
from lakewarden.analysis.lint.rules.homeless_entity import chooses
from lakewarden.kernel.statement import Anything, Where


def _find(context: LintContext) -> Iterator[Found]:
    for statement in context.in_force:
        scope = statement.scope
        is_open = isinstance(scope, (Anything, Where)) and not criteria_of(statement)
        metadata = sorted(
            name for name in context.privileges(statement) if context.model.privileges[name].on
        )
        if is_open and metadata and statement.principals and statement.id not in context.shipped:
            yield Found(
                at(statement),
                f"names no resources: {some(metadata)} on everything there is and will be",
                "name types, domains, owners or tags",
            )


RULE = Rule(
    id="no-resources",
    title="A metadata policy without resources",
    severity=Severity.WARNING,
    why="An absent list of resources is not an empty one: it matches everything.",
    mend="Say which resources are meant; broad policies at least by type.",
    source="DataHub, DataHubResourceFilter: absent matches everything; Policies Guide, pattern A",
    find=_find,
    applies=chooses,
    misses="Policies for owners, who are limited to what they own.",
)
