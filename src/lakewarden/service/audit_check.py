"""Verifies the audit trail by its chain, its seals, and external anchors.

| manipulation                                     | detected by                               |
|--------------------------------------------------|-------------------------------------------|
| a row changed, removed or moved                  | the chain                                 |
| the same, and the rows after it rechained        | the seals; anchors                        |
| rechained and sealed with another key            | the key is none of ours; anchors          |
| rows cut from the end, and the counter with them | anchors                                   |
| rows cut from the beginning                      | the chain, which begins at row 1; anchors |

An anchor is the number and digest of a row that was the last at some time, stored where someone
with write access to the database cannot change it: see `lakewarden.app.audit_anchor`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from lakewarden.kernel.errors import BadInput
from lakewarden.service.audit import AuditRow, Fault, Head, first_fault
from lakewarden.service.audit_seal import UNSEALED, Sealed, Seals, key_id

LOGGED: Final = "audit anchor"
"""The log event of an anchor."""

_ANEW: Final = "anybody with write access to the database can have rewritten any row"
_NO_ANCHORS: Final = "without anchors: rows can have been removed from the end"

_MEMBERS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "time": (int, float),
    "seq": int,
    "digest": str,
    "seal": str,
}


class Anchor(NamedTuple):
    """The last row at a time (seconds since the epoch), as recorded elsewhere."""

    time: float
    seq: int
    digest: str
    seal: str = ""

    def line(self) -> str:
        """The anchor as a line of JSON."""
        return json.dumps(self._asdict(), sort_keys=True)


def read_anchors(lines: Iterable[str], where: str) -> list[Anchor]:
    """The anchors in lines of JSON: a file of anchors, or our log, whose other lines are skipped.

    Raises `BadInput` for any other line.
    """
    anchors = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            anchor = _anchor(line, f"{where}, line {number}")
            anchors += [] if anchor is None else [anchor]
    return anchors


def _anchor(line: str, where: str) -> Anchor | None:
    try:
        body = json.loads(line)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise BadInput("expected a JSON object", where=where)
    if body.get("event", LOGGED) != LOGGED:
        return None
    for name, kind in _MEMBERS.items():
        if not isinstance(body.get(name), kind) or isinstance(body[name], bool):
            raise BadInput(f"expected `{name}` of an anchor", where=where)
    anchor = Anchor(*(body[name] for name in _MEMBERS))
    try:
        _at(anchor)
    except (OverflowError, ValueError, OSError):
        raise BadInput("expected `time` of an anchor", where=where) from None
    return anchor


class Report(NamedTuple):
    """The number of rows, the first fault, and possible undetected faults."""

    rows: int
    fault: Fault | None
    doubts: tuple[str, ...]


def examine(
    rows: Iterable[AuditRow],
    head: Head,
    seals: Seals = UNSEALED,
    anchors: Sequence[Anchor] | None = None,
) -> Report:
    """Checks every row once; the rows are ordered by number, from the first one."""
    watch = _SealCheck(seals, anchors or ())
    chain = first_fault(watch.checked_rows(rows), head)
    faults = [*watch.faults(), *([] if chain is None else [chain])]
    fault = min(faults, default=None)
    doubts = () if fault else tuple(watch.doubts(head, has_anchors=anchors is not None))
    return Report(head.seq, fault, doubts)


def compare(
    rows: Iterable[AuditRow], head: Head, anchors: Sequence[Anchor], doubts: Iterable[str]
) -> Report:
    """Whether the rows match the anchors; the trail itself was verified elsewhere.

    `doubts` are those of that verification; doubts about cut rows come from the anchors instead.
    """
    watch = _SealCheck(UNSEALED, anchors)
    for _ in watch.checked_rows(rows):
        pass
    fault = min(watch.faults(), default=None)
    remaining = (doubt for doubt in doubts if doubt != _NO_ANCHORS)
    return Report(head.seq, fault, () if fault else (*remaining, *watch.after_anchors(head)))


class _SealCheck:
    """Checks the seals of rows as they are read."""

    def __init__(self, seals: Seals, anchors: Sequence[Anchor]) -> None:
        self._seals = seals
        self._anchors: dict[int, list[Anchor]] = {}
        for anchor in anchors:
            self._anchors.setdefault(anchor.seq, []).append(anchor)
        self._newest = max((anchor.seq for anchor in anchors), default=0)
        self._found: list[Fault] = []
        self._last = 0
        self._vouched = 0
        self._loose: tuple[int, str] | None = None
        self._gaps: list[tuple[int, int]] = []

    def checked_rows(self, rows: Iterable[AuditRow]) -> Iterator[AuditRow]:
        """The same rows, each checked."""
        for row in rows:
            self._last = row.seq
            self._check_row(row)
            yield row

    def _check_row(self, row: AuditRow) -> None:
        for anchor in self._anchors.pop(row.seq, ()):
            if anchor.digest != row.digest:
                self._found.append(
                    Fault(row.seq, f"is not the row that was anchored {_at(anchor)}")
                )
        match self._seals.examine(row.digest, row.seal):
            case Sealed.GOOD:
                if self._loose is not None:
                    self._gaps.append((self._loose[0], row.seq - 1))
                self._vouched, self._loose = row.seq, None
            case Sealed.FORGED:
                reason = f"does not have the seal of key {key_id(row.seal)}: it was rewritten"
                self._found.append(Fault(row.seq, reason))
            case Sealed.UNKNOWN_KEY | Sealed.NOT:
                if self._loose is None or (row.seal and not self._loose[1]):
                    first = row.seq if self._loose is None else self._loose[0]
                    self._loose = (first, key_id(row.seal))

    def faults(self) -> Iterator[Fault]:
        """The faults, unordered."""
        yield from self._found
        for seq, anchors in self._anchors.items():
            after = seq if seq <= self._last else self._last + 1
            yield Fault(after, f"is missing; row {seq} was anchored {_at(anchors[0])}")
        if not self._seals or self._loose is None:
            return
        first, key = self._loose
        if key:
            yield Fault(first, f"is sealed with the unknown key {key}")
        elif self._vouched:
            yield Fault(first, "is not sealed, but earlier rows are")

    def doubts(self, head: Head, *, has_anchors: bool) -> Iterator[str]:
        """What a trail without a fault may still conceal."""
        if not self._seals:
            yield f"no key is configured: {_ANEW}"
        elif not self._vouched and head.seq:
            yield f"no row is sealed: {_ANEW}"
        for first, last in self._gaps:
            yield (
                f"rows {first} to {last} have no seal of a configured key: they are unchanged"
                f" since row {last + 1} was sealed"
            )
        if has_anchors:
            yield from self.after_anchors(head)
        else:
            yield _NO_ANCHORS

    def after_anchors(self, head: Head) -> Iterator[str]:
        """Doubts that the anchors do not rule out."""
        if self._newest < head.seq:
            yield (
                f"rows after {self._newest} were not anchored: the last rows can have been removed"
            )


def _at(anchor: Anchor) -> str:
    return datetime.fromtimestamp(anchor.time, UTC).isoformat(" ", "seconds").removesuffix("+00:00")
