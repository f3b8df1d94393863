"""The audit trail: acts with actor, decision and revision; each row is chained to the previous one.

A row's digest covers the row before it, so changed, removed and moved rows are detected. The digest
of the last row is stored apart from the rows (`Head`), so missing rows at the end are detected too.
An attacker who can write to the database can recreate all of these; then seals
(`lakewarden.service.audit_seal`) and anchors (`lakewarden.service.audit_check`) reveal it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from lakewarden.service.audit_seal import UNSEALED, Seals
from lakewarden.service.effect import canonical

START = "0" * 64
"""The digest before the first row."""

TITLES: Final[Mapping[str, str]] = {
    "audit.seal": "seal the audit trail",
    "server.start": "start the server",
    "session.create": "log in",
    "session.end": "log out",
    "token.remove_expired": "remove expired tokens",
}
"""The names of acts that are no operations of a model."""


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One act.

    `time` is in seconds since the epoch, UTC; `outcome` is `allow`, `deny` or `error`; `details`
    contain the changes, never a secret.
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
    """An event in the trail: `body` is the canonical JSON of the event and its revision."""

    seq: int
    revision: int
    body: str
    digest: str
    seal: str = ""


class Head(NamedTuple):
    """The number and digest of the last row; number 0 if there is none."""

    seq: int = 0
    digest: str = START


class Fault(NamedTuple):
    """A fault of the trail, and its row."""

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
    """The event that from here on rows are sealed with the first key; `before` is the previous key.

    Its seal covers all rows before it, in their present form.
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
    """The first row that was altered; None for an intact trail.

    `rows` are ordered by number, starting at the first one.
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
