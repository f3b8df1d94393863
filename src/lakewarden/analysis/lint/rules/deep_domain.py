"""`deep-domain`: a policy by a domain at the top of a deep tree."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, values_of
from lakewarden.analysis.lint.rules.homeless_entity import chooses
from lakewarden.analysis.lint.rules.overlapping_domains import DOMAIN
from lakewarden.kernel.entity import Entity

DEEP = 3
"""So many levels of domains below one another are still shallow."""


def _find(context: LintContext) -> Iterator[Found]:
    levels: dict[str, int] = {}
    for statement in context.policies:
        for name in values_of(statement, DOMAIN):
            if name not in levels:
                levels[name] = _levels(context, name)
            if levels[name] > DEEP:
                yield Found(
                    at(statement),
                    f"chooses by `{name}`, at the top of {levels[name]} levels of domains",
                    f"flatten the domains to {DEEP} levels, or choose by owner",
                )


def _levels(context: LintContext, name: str) -> int:
    """How many levels of domains there are from this one down."""
    types = context.model.fields[DOMAIN].itself
    ids = [context.tree.find(Entity(type, name)) for type in types]
    deepest = 0
    for id in ids:
        if id is None:
            continue
        inside = context.tree.subtree(id)
        for type in types:
            for one in inside & context.snapshot.of_type(type):
                above = 1
                for other in context.tree.ancestors(one):
                    if one == id:
                        break
                    above += 1
                    if other == id:
                        break
                deepest = max(deepest, above)
    return deepest


RULE = Rule(
    id="deep-domain",
    title=f"A policy by a domain with more than {DEEP} levels of domains",
    severity=Severity.WARNING,
    why=(
        "Each check of the original walks the whole chain, and nobody can say from the top what"
        " somebody may hang in at the bottom."
    ),
    mend="Keep domain trees shallow.",
    source="DataHub documentation, Policies Guide: keep domain hierarchies shallow",
    find=_find,
    applies=chooses,
)
