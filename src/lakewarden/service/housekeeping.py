"""Rows that nothing asks for any more: expired tokens and sessions, and old counts of use.

What an expired token opened it opened no more from its end on, so that removing it changes no
decision; until then its user's name is not free (`lakewarden.service.reserved_names`). Nothing
else is removed: the audit trail and the change feed stay.

Removed is a part at a time, so that no write waits long, and only so much in one go; the rest is
for the next one. Several processes may do it side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final, NamedTuple

from lakewarden.service import token
from lakewarden.service.actor import SYSTEM
from lakewarden.service.audit import AuditEvent
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import CONTROL
from lakewarden.service.write_transaction import WriteTransaction

REMOVED: Final = "token.remove_expired"
"""The operation that the audit trail has for expired tokens that were removed."""

TOKENS: Final = 100
"""So many tokens go in one write."""

USAGE_ROWS: Final = 5_000
"""So many rows of counts go in one transaction."""

_PARTS: Final = 10
"""So many parts go at most in one go."""

_DAY: Final = 86_400.0


class Removed(NamedTuple):
    """How many tokens and sessions, and how many rows of counts, were removed."""

    tokens: int = 0
    usage_rows: int = 0


def keep_house(service: DecisionService, *, token_days: int, usage_days: int) -> Removed:
    """Removes what ended, or was counted, more than so many days ago; 0 keeps it for good.

    Raises `Unavailable`; what was removed before stays so.
    """
    now = service.clock()
    tokens = usage_rows = 0
    if token_days:
        before = now - token_days * _DAY
        tokens = _in_parts(lambda: _remove_tokens(service, before), TOKENS)
    if usage_days:
        # Counts are of whole days, and today is the first of so many.
        first = datetime.fromtimestamp(now, UTC) - timedelta(days=usage_days - 1)
        day = first.date().isoformat()
        usage_rows = _in_parts(lambda: service.store.drop_usage(day, USAGE_ROWS), USAGE_ROWS)
    return Removed(tokens, usage_rows)


def _in_parts(remove: Callable[[], int], whole: int) -> int:
    """Removes parts until one is not whole; how many rows they were."""
    total = 0
    for _ in range(_PARTS):
        removed = remove()
        total += removed
        if removed < whole:
            break
    return total


def _remove_tokens(service: DecisionService, before: float) -> int:
    if next(token.expired(service.state, before), None) is None:
        return 0
    return service.write(SYSTEM, lambda transaction: _removed_tokens(transaction, before))


def _removed_tokens(transaction: WriteTransaction, before: float) -> int:
    gone = list(islice(token.expired(transaction.state, before), TOKENS))
    if not gone:
        return 0
    token.remove(transaction, gone)
    transaction.record(
        AuditEvent(
            time=transaction.now,
            actor=SYSTEM.recorded,
            operation=REMOVED,
            target="server:lakewarden",
            outcome="allow",
            reason=f"ended before {_moment(before)}",
            realm=CONTROL,
            details={"tokens": [one.id for one in gone]},
        )
    )
    return len(gone)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
