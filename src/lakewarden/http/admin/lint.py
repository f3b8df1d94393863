"""The policy advisor over the API: all rules, for one realm as it is or with a draft."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from lakewarden.analysis.lint import catalogue
from lakewarden.analysis.lint.catalogue import RULES
from lakewarden.analysis.lint.finding import Finding, Severity
from lakewarden.http.admin.bodies.lint import (
    DismissalRequest,
    DismissalResponse,
    FindingResponse,
    Findings,
    FirstSeenResponse,
    FixResponse,
)
from lakewarden.http.admin.endpoint import (
    MAX_NUMBER,
    PAGED,
    Endpoint,
    HandlerResult,
    Parameter,
    cut_of,
    moment,
    moment_or_none,
    number,
)
from lakewarden.http.admin.field_types import FINGERPRINT
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.implied import is_reserved
from lakewarden.service import lint
from lakewarden.service.control import Denied
from lakewarden.service.lint import Dismissal
from lakewarden.service.lint_history import FirstSeen, first_seen, new_since

_RULE: Final = Parameter("rule", "only findings of this rule")
_SEVERITY: Final = Parameter(
    "severity", "only findings of this severity", choices=[severity.label for severity in Severity]
)
_KIND: Final = Parameter("kind", "only findings about this kind of object, such as statement")
_NAME: Final = Parameter("name", "only findings about the object with this name")
_DISMISSED: Final = Parameter(
    "dismissed", "only findings that are dismissed, or are not", choices=("true", "false")
)
_SINCE: Final = Parameter(
    "since",
    "only findings that this revision of the store did not have",
    "integer",
    minimum=0,
    maximum=MAX_NUMBER,
)
_FILTERS: Final = (_RULE, _SEVERITY, _KIND, _NAME, _DISMISSED, _SINCE)
_FIELDS: Final = Parameter(
    "fields", "what else each finding has: the revision that brought it", choices=("first_seen",)
)


def linted(exchange: Exchange) -> HandlerResult:
    """The findings in a realm."""
    name, id = exchange.params["realm"], exchange.one("rule")
    rules = (catalogue.rule(id),) if id else tuple(RULES.values())
    findings = lint.linted(exchange.state, exchange.actor, name, exchange.now, rules)
    if isinstance(findings, Denied):
        return findings
    with exchange.service.reading() as reading:
        if "since" in exchange.query:
            since = number(exchange, "since", 0)
            findings = new_since(reading, name, findings, since, rules, exchange.now)
        dismissed = lint.dismissals(reading, name, findings, exchange.now)
        chosen = _chosen(exchange, findings, frozenset(dismissed))
        filters = [exchange.one(parameter.name) for parameter in _FILTERS]
        on_page, page = cut_of(exchange, chosen, _sort_key, name, *filters)
        first_seen_at: Mapping[str, FirstSeen] = {}
        if exchange.one("fields") and on_page:
            first_seen_at = first_seen(reading, name, on_page, rules, exchange.now)
    unchangeable = exchange.state.realm(name).system.model.immutable_ids
    return Findings(
        total=len(chosen),
        page=page,
        rules=len(rules),
        findings=[
            finding_response(
                finding,
                unchangeable,
                dismissed.get(finding.fingerprint),
                first_seen_at.get(finding.fingerprint),
            )
            for finding in on_page
        ],
    )


def _chosen(
    exchange: Exchange, findings: Sequence[Finding], dismissed: frozenset[str]
) -> list[Finding]:
    severity, kind, name = (exchange.one(parameter.name) for parameter in (_SEVERITY, _KIND, _NAME))
    is_dismissed = exchange.one("dismissed")
    return [
        finding
        for finding in findings
        if severity in ("", finding.severity.label)
        and kind in ("", finding.place.kind)
        and name in ("", finding.place.name)
        and is_dismissed in ("", str(finding.fingerprint in dismissed).lower())
    ]


def finding_response(
    finding: Finding,
    unchangeable: frozenset[str],
    dismissed: Dismissal | None = None,
    first: FirstSeen | None = None,
) -> FindingResponse:
    """The finding as the API shows it; statements with the ids `unchangeable` stay as they are."""
    place = finding.place
    is_removed = (
        finding.rule.is_mended_by_removal
        and place.kind == "statement"
        and place.name not in unchangeable
        and not is_reserved(place.name)
    )
    return FindingResponse(
        rule=finding.rule.id,
        severity=finding.severity.label,
        kind=place.kind,
        name=place.name,
        says=finding.says,
        fix=finding.fix,
        fingerprint=finding.fingerprint,
        edit=FixResponse(remove=[place.name]) if is_removed else None,
        dismissed=None
        if dismissed is None
        else DismissalResponse(
            reason=dismissed.reason, by=dismissed.by, until=moment(dismissed.until)
        ),
        first_seen=None
        if first is None
        else FirstSeenResponse(revision=first.revision, at=moment_or_none(first.at)),
    )


def _fingerprint(exchange: Exchange) -> str:
    text = exchange.params["fingerprint"]
    if re.fullmatch(FINGERPRINT, text) is None:
        raise BadInput("expected the `fingerprint` of a finding", where="fingerprint")
    return text


def dismiss(exchange: Exchange, body: DismissalRequest) -> HandlerResult:
    """Dismisses a finding until a time."""
    realm, fingerprint = exchange.params["realm"], _fingerprint(exchange)
    until = body.until.timestamp()
    return exchange.write(
        lambda transaction: lint.dismiss(transaction, realm, fingerprint, body.reason, until)
    )


def undismiss(exchange: Exchange) -> HandlerResult:
    """Ends a dismissal."""
    realm, fingerprint = exchange.params["realm"], _fingerprint(exchange)
    return exchange.write(lambda transaction: lint.undismiss(transaction, realm, fingerprint))


def _sort_key(finding: Finding) -> str:
    """A sort key in the order of findings."""
    rank = str(max(Severity) - finding.severity)
    return "\0".join((rank, finding.rule.id, *finding.place, finding.says))


_LINT = "/realms/{realm}/lint"

ENDPOINTS = (
    Endpoint(
        "GET",
        _LINT,
        "realm.lint",
        linted,
        "list the lint findings of a realm",
        response=Findings,
        query=(*_FILTERS, _FIELDS, *PAGED),
    ),
    Endpoint(
        "PUT",
        _LINT + "/dismissals/{fingerprint}",
        "realm.alter",
        dismiss,
        "dismiss a finding until a given time",
        request=DismissalRequest,
    ),
    Endpoint(
        "DELETE",
        _LINT + "/dismissals/{fingerprint}",
        "realm.alter",
        undismiss,
        "end a dismissal",
    ),
)
