"""The policy advisor over the API: every rule, asked about one realm."""

from __future__ import annotations

from lakewarden.analysis.lint.catalogue import RULES
from lakewarden.analysis.lint.finding import Finding, Severity
from lakewarden.http.admin.bodies import Given, Paged
from lakewarden.http.admin.endpoint import PAGED, Answered, Endpoint, cut_of
from lakewarden.http.exchange import Exchange
from lakewarden.service import lint
from lakewarden.service.control import Denied


class FindingGiven(Given, kw_only=True):
    """What a rule found: where, what is wrong there, and what would mend it."""

    rule: str
    severity: str
    kind: str
    name: str
    says: str
    fix: str


class Findings(Paged, kw_only=True):
    """What was found, the worst first; `total` counts the whole list."""

    findings: list[FindingGiven]


def linted(exchange: Exchange) -> Answered:
    """What the policy advisor finds in a realm."""
    name = exchange.params["realm"]
    rules = tuple(RULES.values())
    found = lint.linted(exchange.state, exchange.actor, name, exchange.now, rules)
    if isinstance(found, Denied):
        return found
    shown, page = cut_of(exchange, found, _place, name)
    return Findings(
        total=len(found),
        page=page,
        findings=[
            FindingGiven(
                rule=one.rule.id,
                severity=one.severity.word,
                kind=one.place.kind,
                name=one.place.name,
                says=one.says,
                fix=one.fix,
            )
            for one in shown
        ],
    )


def _place(finding: Finding) -> str:
    """Where a finding stands in the order of them all."""
    rank = str(max(Severity) - finding.severity)
    return "\0".join((rank, finding.rule.id, *finding.place, finding.says))


ENDPOINTS = (
    Endpoint(
        "GET",
        "/realms/{realm}/lint",
        "realm.lint",
        linted,
        "what is odd, useless or dangerous in a realm",
        gives=Findings,
        query=PAGED,
    ),
)
