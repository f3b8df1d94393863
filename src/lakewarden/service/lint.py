"""Lint of a stored realm, and dismissals of findings.

A dismissal hides nothing: it is shown with its finding, and states a reason and an end. It applies
to one state of the finding: if the rule reports a different finding for the same subject, it no
longer counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from lakewarden.analysis.lint.finding import Finding, Rule
from lakewarden.analysis.lint.lint_context import LintContext
from lakewarden.analysis.lint.run import lint
from lakewarden.expressions.lookup import LookupTable, types_of
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.implied import IMPLIED_ID
from lakewarden.kernel.matrix import Matrix
from lakewarden.names.canonical import check_text
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.effect import DocumentChanged
from lakewarden.service.ports import Reading
from lakewarden.service.state import RealmState, State
from lakewarden.service.write_transaction import WriteTransaction

MAX_REASON: Final = 1_000
MAX_DAYS: Final = 366


@dataclass(frozen=True, slots=True)
class Dismissal:
    """A dismissal: reason, author and end (seconds since the epoch)."""

    reason: str
    by: str
    until: float


def linted(
    state: State,
    actor: Actor,
    realm: str,
    now: float,
    rules: Sequence[Rule],
    tried: Callable[[RealmState], LintContext] | None = None,
) -> tuple[Finding, ...] | Denied:
    """The findings in a realm, with the draft `tried` if given, for callers who may read it.

    Raises `Unknown`, and the errors of `tried`.
    """
    refused = control.denied_in(state, actor, "realm.lint", realm, now)
    if refused is not None:
        return refused
    realm_state = state.realm(realm)
    context = lint_context(realm_state) if tried is None else tried(realm_state)
    return lint(realm, context, rules)


def lint_context(
    realm_state: RealmState,
    matrix: Matrix | None = None,
    lookups: Mapping[str, LookupTable] = MappingProxyType({}),
) -> LintContext:
    """The rules' context for the realm, or for another `matrix`, with additional lookup tables."""
    snapshot = (realm_state.matrix if matrix is None else matrix).snapshot
    return LintContext(snapshot, lookups=types_of({**realm_state.realm.lookups, **lookups}))


def dismissals(
    reading: Reading, realm: str, findings: Iterable[Finding], now: float
) -> dict[str, Dismissal]:
    """The dismissals that are in force for these findings, by fingerprint."""
    about = {_dismissal_subject(finding.fingerprint): finding.fingerprint for finding in findings}
    dismissed: dict[str, Dismissal] = {}
    for id, body in reading.documents(realm, list(about)).items():
        until = body.get("until")
        if isinstance(until, (int, float)) and now < until:
            dismissal = Dismissal(
                str(body.get("reason", "")), str(body.get("by", "")), float(until)
            )
            dismissed[about[str(id)]] = dismissal
    return dismissed


def dismiss(
    transaction: WriteTransaction, realm: str, fingerprint: str, reason: str, until: float
) -> Denied | None:
    """Dismisses a finding until a time. Raises `BadInput` without a reason or an end."""
    refused = control.authorize_in_realm(transaction, "realm.alter", realm, finding=fingerprint)
    if refused is not None:
        return refused
    transaction.realm(realm)
    check_text(reason, "the reason")
    if not reason.strip() or len(reason) > MAX_REASON:
        raise BadInput(f"expected a reason of 1 to {MAX_REASON} characters", where="body.reason")
    latest = transaction.now + MAX_DAYS * 86_400
    if not math.isfinite(until) or not transaction.now < until <= latest:
        raise BadInput(f"expected a future time, within {MAX_DAYS} days", where="body.until")
    body = {"reason": reason, "by": transaction.actor.recorded, "until": until}
    transaction.change(realm, DocumentChanged(_dismissal_subject(fingerprint), body))
    return None


def undismiss(transaction: WriteTransaction, realm: str, fingerprint: str) -> Denied | None:
    """Ends a dismissal, if it exists."""
    refused = control.authorize_in_realm(transaction, "realm.alter", realm, finding=fingerprint)
    if refused is not None:
        return refused
    transaction.realm(realm)
    transaction.change(realm, DocumentChanged(_dismissal_subject(fingerprint), None))
    return None


def _dismissal_subject(fingerprint: str) -> str:
    """The subject of a dismissal's document. No statement's id begins like this."""
    return f"{IMPLIED_ID}dismissed:{fingerprint}"
