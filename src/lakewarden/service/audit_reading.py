"""The audit trail, read: of the server as a whole, or what concerns one realm."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from lakewarden.kernel.errors import BadInput
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.audit_check import Anchor, Report, examine
from lakewarden.service.audit_seal import UNSEALED, Seals
from lakewarden.service.control import SERVER, Denied
from lakewarden.service.ports import Reading
from lakewarden.service.state import State

MAX_PAGE: Final = 1_000
_MOST_LOOKED_AT = 20_000
"""Rows that one page looks at, to find those of a realm."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the trail; `event` has the members of `AuditEvent` that were not empty."""

    seq: int
    revision: int
    digest: str
    event: dict[str, Any]
    seal: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Rows in the order of their numbers; `after` is where to go on, None at the end."""

    entries: tuple[Entry, ...]
    after: int | None


def read(  # noqa: PLR0913 — what is read, from where, for whom
    reading: Reading,
    state: State,
    actor: Actor,
    now: float,
    *,
    realm: str | None = None,
    size: int = 100,
    after: int | None = None,
    last: int | None = None,
) -> Part | Denied:
    """A page of the trail behind the row `after`, or from the `last` rows on.

    With `realm` only what was done in it, or to it. Raises `BadInput` for a size beyond
    `MAX_PAGE`.
    """
    target = SERVER if realm is None else control.realm(realm)
    refused = control.denied(state, actor, "audit.read", target, now)
    if refused is not None:
        return refused
    for number in (size, last or 1):
        if not 1 <= number <= MAX_PAGE:
            raise BadInput(f"expected 1 to {MAX_PAGE} rows, got {number}")
    head = reading.audit_head().seq
    start = max(0, head - last) if last is not None and after is None else after or 0
    entries: list[Entry] = []
    at = start
    for row in reading.audit(start, _MOST_LOOKED_AT):
        at = row.seq
        entry = Entry(row.seq, row.revision, row.digest, json.loads(row.body), row.seal)
        if realm is None or _concerns(entry, realm):
            entries.append(entry)
            if len(entries) == size:
                break
    return Part(tuple(entries), at if at < head else None)


def _concerns(entry: Entry, realm: str) -> bool:
    return entry.event.get("realm") == realm or entry.event.get("target") == f"realm:{realm}"


def verify(
    reading: Reading,
    state: State,
    actor: Actor,
    now: float,
    seals: Seals = UNSEALED,
    anchors: Sequence[Anchor] | None = None,
) -> Report | Denied:
    """Whether the trail is whole, as far as its chain, its seals and the anchors tell."""
    refused = control.denied(state, actor, "audit.verify", SERVER, now)
    if refused is not None:
        return refused
    return examine(reading.audit(), reading.audit_head(), seals, anchors)
