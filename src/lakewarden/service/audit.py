"""The audit trail: who did what, decided how, at which revision; each row chained to the last.

A row's digest covers the row before it, so a row that was changed, removed or put elsewhere is
found. The digest of the last row is kept apart from the rows (`Head`), so that rows missing at
the end are found as well. Whoever can write the database can do all that anew; what tells then
are seals (`lakewarden.service.audit_seal`) and anchors (`lakewarden.service.audit_check`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from lakewarden.service.audit_seal import UNSEALED, Seals
from lakewarden.service.effect import canonical

START = "0" * 64
"""The digest that stands before the first row."""

TITLES: Final[Mapping[str, str]] = {
    "audit.seal": "seal the audit trail",
    "server.start": "start the server",
    "session.create": "log in",
    "session.end": "log out",
    "token.remove_expired": "remove expired tokens",
}
"""What the acts are called that are no operations of a model."""


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One act.

    `time` is in seconds since the epoch, UTC; `outcome` is `allow`, `deny` or `error`;
    `details` hold what changed, never a secret.
    """

    time: float
    actor: str
    operation: str
    target: str
    outcome: str
    reason: str
    realm: str = ""
    wire: str = ""
    request_id: str = ""
    details: Mapping[str, object] = field(default_factory=dict)


class AuditRow(NamedTuple):
    """An event in its place: `body` is the canonical JSON of the event and its revision."""

    seq: int
    revision: int
    body: str
    digest: str
    seal: str = ""


class Head(NamedTuple):
    """The number and digest of the last row; number 0 before the first."""

    seq: int = 0
    digest: str = START


class Fault(NamedTuple):
    """What is wrong with the trail, and at which row."""

    seq: int
    reason: str


def follow(
    head: Head, revision: int, events: Iterable[AuditEvent], seals: Seals = UNSEALED
) -> list[AuditRow]:
    """The rows of the events, chained to `head`; sealed if there is a key."""
    rows: list[AuditRow] = []
    for event in events:
        seq = head.seq + 1
        body = canonical(_fields(event))
        digest = _digest(head.digest, seq, revision, body)
        rows.append(AuditRow(seq, revision, body, digest, seals.seal(digest)))
        head = Head(seq, digest)
    return rows


def sealed_from_here(head: Head, before: str, seals: Seals, now: float) -> AuditEvent:
    """That from here on rows are sealed with the first key; `before` is the key of the last row.

    Its seal covers all rows before it, as they are now.
    """
    return AuditEvent(
        time=now,
        actor="system",
        operation="audit.seal",
        target="server:lakewarden",
        outcome="allow",
        reason="another key" if before else "earlier rows were not sealed",
        details={"rows": head.seq, "digest": head.digest, "key": seals.first, "before": before},
    )


def _fields(event: AuditEvent) -> dict[str, object]:
    named = {name: getattr(event, name) for name in AuditEvent.__dataclass_fields__}
    return {name: value for name, value in named.items() if value not in ("", {})}


def _digest(before: str, seq: int, revision: int, body: str) -> str:
    text = f"{before}\n{seq}\n{revision}\n{body}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def first_fault(rows: Iterable[AuditRow], head: Head) -> Fault | None:
    """The first row that is not what was written; None for a whole trail.

    `rows` come in the order of their numbers, from the first one on.
    """
    at = Head()
    for row in rows:
        if row.seq != at.seq + 1:
            return Fault(at.seq + 1, f"is missing; the next row is number {row.seq}")
        if row.digest != _digest(at.digest, row.seq, row.revision, row.body):
            return Fault(row.seq, "was changed, or the previous row was")
        at = Head(row.seq, row.digest)
    if at != head:
        return Fault(at.seq + 1, f"is missing; the trail had {head.seq} rows")
    return None
