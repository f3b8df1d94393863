"""`overlapping-domains`: policies by domain that give the same twice to the same."""

from __future__ import annotations

from collections.abc import Iterator

from pyroaring import BitMap

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, some, values_of
from lakewarden.analysis.lint.rules.homeless_entity import chooses

DOMAIN = "DOMAIN"


def _find(context: LintContext) -> Iterator[Found]:
    seen: dict[tuple[str, int], tuple[BitMap, str]] = {}
    over: dict[str, set[str]] = {}
    with_domain = [s for s in context.policies if values_of(s, DOMAIN)]
    for statement in with_domain:
        for privilege, grant in context.bearings.get(statement.id, ()):
            ids = context.ids(grant)
            for principal in grant.principals:
                so_far, last = seen.get((privilege, principal), (BitMap(), ""))
                if so_far.intersect(ids):
                    over.setdefault(statement.id, set()).add(last)
                so_far |= ids
                seen[privilege, principal] = (so_far, statement.id)
    for statement in with_domain:
        if statement.id in over:
            yield Found(
                at(statement),
                "gives the same privileges to the same, on domains that overlap with those of"
                f" {some(sorted(over[statement.id]))}",
                "make one policy of them; a domain covers the domains below it",
            )


RULE = Rule(
    id="overlapping-domains",
    title="Policies by domain that give the same to the same on overlapping domains",
    severity=Severity.WARNING,
    why="Whoever narrows one of them narrows nothing, and every check tries both.",
    mend="Consolidate them, or let ownership decide.",
    source="DataHub documentation, Policies Guide: anti-patterns, overlapping domain policies",
    find=_find,
    applies=chooses,
    misses="Policies for different groups with the same people. Of several only one is named.",
)
