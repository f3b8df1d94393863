"""Reads the audit trail: of the whole server, or the rows about one realm."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lakewarden.kernel.errors import BadInput
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.audit import AuditRow, Head
from lakewarden.service.audit_check import Anchor, Report, examine
from lakewarden.service.audit_seal import UNSEALED, Seals
from lakewarden.service.control import SERVER, Denied
from lakewarden.service.effect import canonical
from lakewarden.service.page_size import MAX_PAGE, PAGE_ROWS
from lakewarden.service.ports import Reading
from lakewarden.service.state import State

_MOST_LOOKED_AT = 20_000
"""The most rows that one page searches for matches."""

_PIECE = 500
"""The number of rows per read when the trail is read backwards."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the trail; `event` has the non-empty members of `AuditEvent`."""

    seq: int
    revision: int
    digest: str
    event: dict[str, Any]
    seal: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Rows in order of their numbers; `after` is where the next page starts, None at the end."""

    entries: tuple[Entry, ...]
    after: int | None


@dataclass(frozen=True, slots=True)
class Filter:
    """Selects rows; empty and None fields do not restrict.

    `realm`: acts in it, or on it. `operation` and `target` are prefixes. `since` and `until` are
    seconds since the epoch. `text` may occur anywhere in the row, ignoring case.
    """

    realm: str | None = None
    actor: str = ""
    operation: str = ""
    outcome: str = ""
    target: str = ""
    request_id: str = ""
    since: float = -math.inf
    until: float = math.inf
    text: str = ""

    def matches(self, event: Mapping[str, Any]) -> bool:
        """Whether an event matches."""
        return (
            (self.realm is None or _concerns(event, self.realm))
            and self.actor in ("", event.get("actor"))
            and str(event.get("operation", "")).startswith(self.operation)
            and self.outcome in ("", event.get("outcome"))
            and str(event.get("target", "")).startswith(self.target)
            and self.request_id in ("", event.get("request_id"))
            and self.since <= event.get("time", 0.0) < self.until
            and (not self.text or self.text.casefold() in canonical(event).casefold())
        )


ALL: Final = Filter()


def read(  # noqa: PLR0913 — filter, position and caller
    reading: Reading,
    state: State,
    actor: Actor,
    now: float,
    *,
    filter: Filter = ALL,
    size: int = PAGE_ROWS,
    after: int | None = None,
    last: int | None = None,
    newest_first: bool = False,
) -> Part | Denied:
    """A page of the trail after the row `after`, or starting with the `last` rows.

    With `newest_first` it goes backwards, and the page ends before the row `after`. A page may be
    empty although more follow: the number of searched rows is limited. Raises `BadInput` for a size
    above `MAX_PAGE`.
    """
    realm = filter.realm
    target = SERVER if realm is None else control.realm(realm)
    refused = control.denied(state, actor, "audit.read", target, now)
    if refused is not None:
        return refused
    for number in (size, last or 1):
        if not 1 <= number <= MAX_PAGE:
            raise BadInput(f"expected 1 to {MAX_PAGE} rows, got {number}")
    head = reading.audit_head.seq
    if newest_first:
        return _backwards(reading, filter, size, head + 1 if after is None else after)
    start = max(0, head - last) if last is not None and after is None else after or 0
    entries: list[Entry] = []
    at = start
    for row in reading.audit(start, _MOST_LOOKED_AT):
        at = row.seq
        entry = _entry(row)
        if filter.matches(entry.event):
            entries.append(entry)
            if len(entries) == size:
                break
    return Part(tuple(entries), at if at < head else None)


def _backwards(reading: Reading, row_filter: Filter, size: int, before: int) -> Part:
    """The last rows before one, newest first; searched in batches."""
    entries: list[Entry] = []
    least = max(0, before - 1 - _MOST_LOOKED_AT)
    at = before
    while at > least + 1:
        start = max(least, at - 1 - _PIECE)
        for row in reversed(list(reading.audit(start, at - 1 - start))):
            at = row.seq
            entry = _entry(row)
            if row_filter.matches(entry.event):
                entries.append(entry)
                if len(entries) == size:
                    return Part(tuple(entries), at if at > 1 else None)
        at = start + 1
    return Part(tuple(entries), at if at > 1 else None)


def _entry(row: AuditRow) -> Entry:
    return Entry(row.seq, row.revision, row.digest, json.loads(row.body), row.seal)


def _concerns(event: Mapping[str, Any], realm: str) -> bool:
    return event.get("realm") == realm or event.get("target") == f"realm:{realm}"


def contains(reading: Reading, head: Head) -> bool:
    """Whether the trail has the row that was its last one once.

    If not, it is another store, or the store lost writes: its server failed over to a standby that
    did not have them.
    """
    rows = reading.audit(head.seq - 1, 1)
    return [(row.seq, row.digest) for row in rows] == [head]


def verify(
    reading: Reading,
    state: State,
    actor: Actor,
    now: float,
    seals: Seals = UNSEALED,
    anchors: Sequence[Anchor] | None = None,
) -> Report | Denied:
    """Checks the integrity of the trail by its chain, its seals and the anchors."""
    refused = control.denied(state, actor, "audit.verify", SERVER, now)
    if refused is not None:
        return refused
    return examine(reading.audit(), reading.audit_head, seals, anchors)
