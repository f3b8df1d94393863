"""Removes rows that are no longer used: expired tokens and sessions, and old counts of use.

An expired token opens nothing, so its removal changes no decision; until then its user's name is
not free (`lakewarden.service.reserved_names`). Nothing else is removed: the audit trail and the
change feed stay.

Rows are removed in batches, so no write waits long, and each run removes a limited number; the next
run removes the rest. Several processes may run it concurrently.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final, NamedTuple

from lakewarden.service import token
from lakewarden.service.actor import SYSTEM
from lakewarden.service.control import SERVER
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import CONTROL
from lakewarden.service.write_transaction import WriteTransaction

REMOVED: Final = "token.remove_expired"
"""The operation in the audit trail for expired tokens that were removed."""

TOKENS: Final = 100
"""The number of tokens removed per write."""

USAGE_ROWS: Final = 5_000
"""The number of rows of counts removed per transaction."""

_PARTS: Final = 10
"""The most batches per run."""

_DAY: Final = 86_400.0


class Removed(NamedTuple):
    """The numbers of removed tokens and sessions, and of removed rows of counts."""

    tokens: int = 0
    usage_rows: int = 0


def remove_expired(service: DecisionService, *, token_days: int, usage_days: int) -> Removed:
    """Removes what ended, or was counted, more than so many days ago; 0 keeps it forever.

    Raises `Unavailable`; earlier removals remain.
    """
    now = service.clock()
    tokens = usage_rows = 0
    if token_days:
        before = now - token_days * _DAY
        tokens = _in_parts(lambda: _remove_tokens(service, before), TOKENS)
    if usage_days:
        # Counts are of whole days, and today is the first of these days.
        first = datetime.fromtimestamp(now, UTC) - timedelta(days=usage_days - 1)
        day = first.date().isoformat()
        usage_rows = _in_parts(lambda: service.store.drop_usage(day, USAGE_ROWS), USAGE_ROWS)
    return Removed(tokens, usage_rows)


def _in_parts(remove: Callable[[], int], whole: int) -> int:
    """Removes batches until one is incomplete; returns the number of rows."""
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
    reason = f"ended before {_moment(before)}"
    details = {"tokens": [one.id for one in gone]}
    transaction.audit(REMOVED, SERVER, "allow", reason, CONTROL, details)
    return len(gone)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
