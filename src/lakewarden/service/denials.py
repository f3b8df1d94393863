"""Denied reads: the first of each kind is audited at once, the others are counted.

Denied writes are audited one by one. Callers could cause any number of denied reads, so for each
kind (realm, user, operation) there is at most one row a minute, with the number of reads that it
represents. SOURCE: security reference, section 2 (Vault) and R-50.

A denial that an engine shows is a decision with an id, under which it is found in the trail
(`service.decisions`). There is at most one row a minute for each user, operation and target, and at
most `MOST_DECISIONS` for one user: further decisions have no id.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

EVERY: Final = 60.0
"""Seconds between two rows of one kind."""

MOST: Final = 10_000
"""The most kinds that are remembered; a forgotten kind is written at once when it recurs."""

MOST_DECISIONS: Final = 60
"""The most decisions of one user in a realm that are written within `EVERY` seconds."""

DECISION: Final = "decision"
"""The key of the decision's id in an audit row's details."""

Kind = tuple[str, str, str]
"""Realm, user and operation."""


@dataclass(frozen=True, slots=True)
class DeniedDecision:
    """A denied principal and operation of the model; `entity` is `type:name`, or empty.

    `groups` are those that an engine sent.
    """

    realm: str
    principal: str
    operation: str
    entity: str
    groups: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of the decision: the same for the same question.

        >>> DeniedDecision("lake", "user:ana", "table.load", "table:lake.a").id
        'df3d71493b47c5e4b'
        """
        parts = (self.realm, self.principal, self.operation, self.entity, *self.groups)
        text = "\0".join(parts).encode("utf-8", "surrogatepass")
        return f"d{hashlib.sha256(text).hexdigest()[:16]}"

    @property
    def details(self) -> Mapping[str, object]:
        """The details of an audit row in addition to its own fields."""
        named = {DECISION: self.id, "principal": self.principal}
        return {**named, "groups": list(self.groups)} if self.groups else named


@dataclass(slots=True)
class _DenialCount:
    written: float
    since: int = 0


class Denials:
    """Counts the denied reads of one process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: OrderedDict[Kind, _DenialCount] = OrderedDict()
        self._decisions: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    def count(self, realm: str, user: str, operation: str, now: float) -> int:
        """Counts a denied read. Returns the number of reads to audit now; 0: write no row."""
        kind = (realm, user, operation)
        with self._lock:
            count = self._seen.pop(kind, None)
            if count is None:
                count = _DenialCount(now - EVERY)
            self._seen[kind] = count
            if len(self._seen) > MOST:
                self._seen.popitem(last=False)
            count.since += 1
            if now - count.written < EVERY:
                return 0
            stands_for, count.since, count.written = count.since, 0, now
            return stands_for

    def count_decision(self, decision: DeniedDecision, now: float) -> int | None:
        """Counts a denied decision. Returns like `count`; None: not recorded, so it has no id."""
        kind = (decision.realm, decision.principal, decision.id)
        with self._lock:
            known = self._seen.get(kind)
            is_new = known is None or now - known.written >= EVERY
            if is_new and not self._is_below_limit(decision.realm, decision.principal, now):
                return None
        return self.count(*kind, now)

    def is_due(self, decision: DeniedDecision, now: float) -> bool:
        """Whether the next count of the decision will be written."""
        with self._lock:
            known = self._seen.get((decision.realm, decision.principal, decision.id))
        return known is None or now - known.written >= EVERY

    def _is_below_limit(self, realm: str, principal: str, now: float) -> bool:
        """Whether another decision of the principal may be written now."""
        begun, number = self._decisions.pop((realm, principal), (now, 0))
        if now - begun >= EVERY:
            begun, number = now, 0
        self._decisions[realm, principal] = (begun, min(number + 1, MOST_DECISIONS + 1))
        if len(self._decisions) > MOST:
            self._decisions.popitem(last=False)
        return number < MOST_DECISIONS
