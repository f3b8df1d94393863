"""`typed-owner`: a policy for owners of a type that nobody is."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, some
from lakewarden.analysis.lint.rules.homeless_entity import chooses


def _find(context: LintContext) -> Iterator[Found]:
    if not context.snapshot.owned_by:
        return
    used = set(context.coded.ownerships) - {""}
    for statement in context.in_force:
        types = None if statement.owners is None else statement.owners.types
        unused = sorted((types or frozenset()) - used)
        if unused:
            yield Found(
                at(statement),
                f"is for owners of the types {some(unused)}, and nobody owns anything that way",
                "name the ownership types that are in use"
                + (f": {some(sorted(used))}" if used else ", or none for owners of any type"),
            )


RULE = Rule(
    id="typed-owner",
    title="A policy for owners of a type that nobody is",
    severity=Severity.WARNING,
    why=(
        "Owners are compared by the URN of their ownership type. An owner without such a URN, as"
        " older exports have them, is matched only by policies for owners of any type."
    ),
    mend="Name the types that are in use, or none.",
    source="DataHub, PolicyEngine: resourceOwnersTypes (PR #7499)",
    find=_find,
    applies=chooses,
)
