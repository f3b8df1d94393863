"""Runs rules on realms."""

from __future__ import annotations

from collections.abc import Iterable

from lakewarden.analysis.lint.finding import Finding, Rule
from lakewarden.analysis.lint.lint_context import LintContext


def lint(realm: str, context: LintContext, rules: Iterable[Rule]) -> tuple[Finding, ...]:
    """The findings of the rules in a realm: the worst first, then by rule and place."""
    findings = [
        Finding(
            realm=realm,
            rule=rule,
            severity=rule.severity if violation.severity is None else violation.severity,
            place=violation.place,
            says=violation.says,
            fix=violation.fix,
        )
        for rule in rules
        if rule.applies(context.model)
        for violation in rule.find(context)
    ]
    return ordered(findings)


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings in the order of reports: the worst first, then by rule and place."""
    return tuple(sorted(findings, key=lambda f: (-f.severity, f.rule.id, f.place, f.says)))
