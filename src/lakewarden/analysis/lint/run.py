"""Asks rules about realms."""

from __future__ import annotations

from collections.abc import Iterable

from lakewarden.analysis.lint.estate import Estate
from lakewarden.analysis.lint.finding import Finding, Rule


def lint(realm: str, estate: Estate, rules: Iterable[Rule]) -> tuple[Finding, ...]:
    """What the rules find in a realm: the worst first, then by rule and place."""
    found = [
        Finding(
            realm=realm,
            rule=rule,
            severity=rule.severity if one.severity is None else one.severity,
            place=one.place,
            says=one.says,
            fix=one.fix,
        )
        for rule in rules
        if rule.applies(estate.model)
        for one in rule.find(estate)
    ]
    return ordered(found)


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings in the order in which they are told: the worst first, then by rule and place."""
    return tuple(sorted(findings, key=lambda f: (-f.severity, f.rule.id, f.place, f.says)))
