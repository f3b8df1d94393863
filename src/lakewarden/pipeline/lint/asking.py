"""Rules asked about a realm whose names are looked up only when somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lakewarden.analysis.lint.finding import Finding, Rule
from lakewarden.analysis.lint.lint_context import LintContext
from lakewarden.analysis.lint.run import lint, ordered
from lakewarden.pipeline.lint.names import Register


def findings_of(
    realm: str,
    context: LintContext,
    rules: Iterable[Rule],
    register: Register,
    look_up: Callable[[], None],
) -> tuple[Finding, ...]:
    """What the rules find: each is asked until every name that it asked for is known.

    `look_up` finds what the register has noted, all at once.
    """
    found: list[Finding] = []
    waiting = list(rules)
    while waiting:
        again = []
        for rule in waiting:
            misses = register.misses
            findings = lint(realm, context, [rule])
            if register.misses == misses:
                found += findings
            else:
                again.append(rule)
        look_up()
        waiting = again
    return ordered(found)
