"""The policy advisor over the API: every rule, asked about one realm as it is or as it would be."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from msgspec import Meta, field

from lakewarden.analysis.lint import catalogue
from lakewarden.analysis.lint.catalogue import RULES
from lakewarden.analysis.lint.finding import Finding, Severity
from lakewarden.http.admin.bodies import PagedResponse, RequestBody, ResponseBody
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
from lakewarden.http.admin.field_types import FINGERPRINT, Moment
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.facts import IMPLIED_ID
from lakewarden.service import lint
from lakewarden.service.control import Denied
from lakewarden.service.lint import MAX_REASON, Dismissal
from lakewarden.service.lint_history import FirstSeen, first_seen, new_since
from lakewarden.service.policy import immutable_ids

_RULE: Final = Parameter("rule", "only findings of this rule")
_SEVERITY: Final = Parameter(
    "severity", "only findings of this severity", choices=[one.word for one in Severity]
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
    least=0,
    most=MAX_NUMBER,
)
_FILTERS: Final = (_RULE, _SEVERITY, _KIND, _NAME, _DISMISSED, _SINCE)
_FIELDS: Final = Parameter(
    "fields", "what else each finding has: the revision that brought it", choices=("first_seen",)
)


class DismissalRequest(RequestBody, kw_only=True):
    """Why a finding is left as it is, and until when."""

    reason: Annotated[str, Meta(min_length=1, max_length=MAX_REASON)]
    until: Moment


class DismissalResponse(ResponseBody, kw_only=True):
    """Why a finding is left as it is, who said so, and until when."""

    reason: str
    by: str
    until: Moment


class FixResponse(ResponseBody, kw_only=True):
    """A draft that mends a finding, as `preview` takes it."""

    remove: list[str] = field(default_factory=list)


class FirstSeenResponse(ResponseBody, kw_only=True):
    """The revision that brought a finding, and when, as far as the audit trail knows."""

    revision: int
    at: Moment | None = None


class FindingResponse(ResponseBody, kw_only=True):
    """What a rule found: where, what is wrong there, and what would mend it.

    `edit` is there where a draft mends it, `dismissed` where somebody left it for a time,
    `first_seen` where it is asked for and known.
    """

    rule: str
    severity: str
    kind: str
    name: str
    says: str
    fix: str
    fingerprint: str
    edit: FixResponse | None = None
    dismissed: DismissalResponse | None = None
    first_seen: FirstSeenResponse | None = None


class Findings(PagedResponse, kw_only=True):
    """What was found, the worst first; `total` counts the whole list, `rules` those asked."""

    findings: list[FindingResponse]
    rules: int


def linted(exchange: Exchange) -> HandlerResult:
    """What the policy advisor finds in a realm."""
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
        asked = [exchange.one(one.name) for one in _FILTERS]
        shown, page = cut_of(exchange, chosen, _place, name, *asked)
        seen: Mapping[str, FirstSeen] = {}
        if exchange.one("fields") and shown:
            seen = first_seen(reading, name, shown, rules, exchange.now)
    unchangeable = immutable_ids(exchange.state.realm(name).system)
    return Findings(
        total=len(chosen),
        page=page,
        rules=len(rules),
        findings=[
            finding_response(
                one, unchangeable, dismissed.get(one.fingerprint), seen.get(one.fingerprint)
            )
            for one in shown
        ],
    )


def _chosen(
    exchange: Exchange, found: Sequence[Finding], dismissed: frozenset[str]
) -> list[Finding]:
    severity, kind, name = (exchange.one(one.name) for one in (_SEVERITY, _KIND, _NAME))
    wanted = exchange.one("dismissed")
    return [
        one
        for one in found
        if severity in ("", one.severity.word)
        and kind in ("", one.place.kind)
        and name in ("", one.place.name)
        and wanted in ("", str(one.fingerprint in dismissed).lower())
    ]


def finding_response(
    one: Finding,
    unchangeable: frozenset[str],
    dismissed: Dismissal | None = None,
    seen: FirstSeen | None = None,
) -> FindingResponse:
    """The finding as the API shows it; statements with the ids `unchangeable` stay as they are."""
    place = one.place
    is_removed = (
        one.rule.is_mended_by_removal
        and place.kind == "statement"
        and place.name not in unchangeable
        and not place.name.startswith(IMPLIED_ID)
    )
    return FindingResponse(
        rule=one.rule.id,
        severity=one.severity.word,
        kind=place.kind,
        name=place.name,
        says=one.says,
        fix=one.fix,
        fingerprint=one.fingerprint,
        edit=FixResponse(remove=[place.name]) if is_removed else None,
        dismissed=None
        if dismissed is None
        else DismissalResponse(
            reason=dismissed.reason, by=dismissed.by, until=moment(dismissed.until)
        ),
        first_seen=None
        if seen is None
        else FirstSeenResponse(revision=seen.revision, at=moment_or_none(seen.at)),
    )


def _fingerprint(exchange: Exchange) -> str:
    text = exchange.params["fingerprint"]
    if re.fullmatch(FINGERPRINT, text) is None:
        raise BadInput("expected the `fingerprint` of a finding", where="fingerprint")
    return text


def dismiss(exchange: Exchange, body: DismissalRequest) -> HandlerResult:
    """Leaves a finding as it is for a time."""
    realm, fingerprint = exchange.params["realm"], _fingerprint(exchange)
    until = body.until.timestamp()
    return exchange.write(
        lambda transaction: lint.dismiss(transaction, realm, fingerprint, body.reason, until)
    )


def undismiss(exchange: Exchange) -> HandlerResult:
    """Ends a dismissal."""
    realm, fingerprint = exchange.params["realm"], _fingerprint(exchange)
    return exchange.write(lambda transaction: lint.undismiss(transaction, realm, fingerprint))


def _place(finding: Finding) -> str:
    """Where a finding stands in the order of them all."""
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
