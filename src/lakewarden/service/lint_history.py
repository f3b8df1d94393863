"""Findings compared with earlier revisions of a realm: which are new, and since when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from lakewarden.analysis.lint.finding import Finding, Rule
from lakewarden.analysis.lint.lint_context import LintContext
from lakewarden.analysis.lint.run import lint
from lakewarden.expressions.lookup import types_of
from lakewarden.kernel.errors import BadInput
from lakewarden.service.history import audit_events_of
from lakewarden.service.past_realm import PastRealm
from lakewarden.service.ports import Reading

MAX_STATES: Final = 32
"""The most earlier revisions that are compiled and linted for one `first_seen`."""


class FirstSeen(NamedTuple):
    """The revision that introduced a finding, and its time (seconds since the epoch) if known."""

    revision: int
    at: float | None


def new_since(
    reading: Reading,
    realm: str,
    findings: Iterable[Finding],
    revision: int,
    rules: Sequence[Rule],
    now: float,
) -> tuple[Finding, ...]:
    """The findings that the realm at `revision` did not have; both are judged at the time `now`.

    Raises `BadInput` for a revision that does not exist, and the errors of `PastRealm.read`.
    """
    if not 0 <= revision <= reading.revision:
        raise BadInput(f"expected a revision from 0 to {reading.revision}", where="since")
    past = PastRealm.read(reading, realm)
    before = _fingerprints(past, revision, rules, now)
    return tuple(finding for finding in findings if finding.fingerprint not in before)


def first_seen(
    reading: Reading, realm: str, findings: Iterable[Finding], rules: Sequence[Rule], now: float
) -> dict[str, FirstSeen]:
    """By fingerprint: the revision that has the finding while the one before does not.

    For a finding that disappeared and recurred, it may be either revision. A finding that is not
    located within `MAX_STATES` compiled revisions is omitted. Raises the errors of
    `PastRealm.read`.
    """
    fingerprints = frozenset(finding.fingerprint for finding in findings)
    past = PastRealm.read(reading, realm)
    revisions = past.revisions
    first = _bisect(
        fingerprints,
        len(revisions),
        lambda i: _fingerprints(past, revisions[i], rules, now) & fingerprints,
    )
    at = {name: revisions[index] for name, index in first.items()}
    acts = audit_events_of(reading, sorted(set(at.values())))
    return {
        name: FirstSeen(revision, acts[revision]["time"] if revision in acts else None)
        for name, revision in at.items()
    }


def _bisect(
    names: frozenset[str], length: int, present_at: Callable[[int], frozenset[str]]
) -> dict[str, int]:
    """By name, an index at which it is present, and absent just before.

    Every name is present at the last index. Each round halves the largest group of names, so the
    limit on states omits as few as possible.
    """
    first: dict[str, int] = {}
    groups = [(names, -1, length - 1)]
    states = 0
    while groups:
        groups.sort(key=lambda group: len(group[0]))
        group, absent, present = groups.pop()
        if present - absent == 1:
            first.update(dict.fromkeys(group, present))
        elif group and states < MAX_STATES:
            states += 1
            middle = (absent + present) // 2
            present_names = present_at(middle) & group
            groups += [(present_names, absent, middle), (group - present_names, middle, present)]
    return first


def _fingerprints(
    past: PastRealm, revision: int, rules: Sequence[Rule], now: float
) -> frozenset[str]:
    realm = past.at(revision, now)
    if realm is None:
        return frozenset()
    context = LintContext(realm.matrix.snapshot, lookups=types_of(realm.realm.lookups))
    findings = lint(past.name, context, rules)
    return frozenset(finding.fingerprint for finding in findings)
