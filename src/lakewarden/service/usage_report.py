"""The written counts of a realm, summed by day, user, operation or entity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import USER
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.entities import parse_entity
from lakewarden.service.ports import Reading
from lakewarden.service.state import State

BY: Final = ("day", "user", "operation", "entity")
MAX_DAYS: Final = 366


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The number of acts with a key, and the day (`2026-11-21`) of the last one."""

    key: str
    acts: int
    last: str


def usage(  # noqa: PLR0913 — filter, and page
    reading: Reading,
    state: State,
    actor: Actor,
    realm: str,
    now: float,
    *,
    by: str = "day",
    days: int = 30,
    principal: str = "",
    entity: str = "",
    operation: str = "",
) -> Sequence[UsageRow] | Denied:
    """The counts of the last days: days in order, other keys with the most used first.

    Counts are of whole days in UTC and are written some seconds after the act. Raises `BadInput`
    for an unknown `by` and more than `MAX_DAYS`.
    """
    refused = control.denied_in(state, actor, "usage.read", realm, now)
    if refused is not None:
        return refused
    if by not in BY:
        raise BadInput(f"expected one of: {', '.join(BY)}", where="by")
    if not 1 <= days <= MAX_DAYS:
        raise BadInput(f"expected 1 to {MAX_DAYS} days, got {days}", where="days")
    realm_state = state.realm(realm)
    person = realm_state.system.principal(principal) if principal else None
    if person is not None and person.kind != USER:
        raise BadInput("expected a user", where="principal")
    target = parse_entity(realm_state, entity) if entity else None
    since = (datetime.fromtimestamp(now, UTC) - timedelta(days=days - 1)).date().isoformat()
    counts: Counter[str] = Counter()
    last: dict[str, str] = {}
    for day, user, act, on, count in reading.usage(realm, since):
        if person is not None and user != person.name:
            continue
        if (target is not None and on != target) or operation not in ("", act):
            continue
        keys = {"day": day, "user": user, "operation": act, "entity": str(on)}
        counts[keys[by]] += count
        last[keys[by]] = max(day, last.get(keys[by], ""))
    order = sorted(counts) if by == "day" else sorted(counts, key=lambda key: (-counts[key], key))
    return [UsageRow(key, counts[key], last[key]) for key in order]
