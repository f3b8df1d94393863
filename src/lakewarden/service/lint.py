"""The policy advisor, asked about a stored realm."""

from __future__ import annotations

from collections.abc import Sequence

from lakewarden.analysis.lint.finding import Finding, Rule
from lakewarden.analysis.lint.lint_context import LintContext
from lakewarden.analysis.lint.run import lint
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.state import State


def linted(
    state: State, actor: Actor, realm: str, now: float, rules: Sequence[Rule]
) -> tuple[Finding, ...] | Denied:
    """What the rules find in a realm, for whoever may read it. Raises `Unknown`."""
    refused = control.denied_in(state, actor, "realm.lint", realm, now)
    if refused is not None:
        return refused
    return lint(realm, LintContext(state.realm(realm).matrix.snapshot), rules)
