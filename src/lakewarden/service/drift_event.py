"""Events of drift: the findings of a watch in a target, sent to a webhook.

An event is sent when a look finds something different from the last event; the store records it
once it was accepted. If nobody accepted it, the next look of any process sends its findings. An
event may arrive twice: the `id` is the same for the same findings, and different for others. An
event whose response was lost may have arrived: the store records the attempt, so the next event is
sent even if the findings are as before, or nothing is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from lakewarden.kernel.errors import Unavailable
from lakewarden.service import push_target, push_target_writes
from lakewarden.service.control import Denied
from lakewarden.service.push import Pushing
from lakewarden.service.push_target import PushTarget, SentEvent
from lakewarden.service.push_watch import DriftCheck

DRIFT: Final = "push.drift"
RESOLVED: Final = "push.resolved"

_NOTHING: Final = "resolved"
"""Replaces the digest of the findings when there are none."""

MOST: Final = 20
"""The most findings of each kind in an event; `counts` contains the total numbers."""

Send = Callable[[Mapping[str, Any], str], None]
"""Sends an event, signed with a secret unless that is empty.

Raises `Unavailable` if it was not accepted.
"""


@dataclass(slots=True)
class DriftEvents:
    """Sends events for the looks of one process.

    After an event was not accepted, none is sent for `pause_seconds`, so an unavailable receiver
    does not delay the looks at other targets.
    """

    pushing: Pushing
    send: Send
    pause_seconds: float
    _away_until: float = field(default=float("-inf"))

    def announce(self, check: DriftCheck, now: float) -> str:
        """Sends the event of a look, if any; returns the reason of a failure, else ""."""
        if check.drift is None or check.error:
            return ""
        target = check.target
        with self.pushing.service.reading() as reading:
            before = push_target.sent_event(reading, target)
        if check.digest == before.digest and not before.tried:
            return ""
        if now < self._away_until:
            return "the webhook is away"
        number = before.number + 1
        try:
            secret = self._secret(target)
        except Unavailable as error:
            return str(error)
        try:
            self.send(event_of(check, number, now), secret)
        except Unavailable as error:
            self._away_until = now + self.pause_seconds
            if not before.tried:
                self._note(target, replace(before, tried=check.digest or _NOTHING))
            return str(error)
        return self._note(target, SentEvent(check.digest, number))

    def _secret(self, target: PushTarget) -> str:
        with self.pushing.service.reading() as reading:
            return push_target.webhook_secret(reading, self.pushing.sealing, target)

    def _note(self, target: PushTarget, sent: SentEvent) -> str:
        denied = self.pushing.write(lambda work: push_target_writes.note_event(work, target, sent))
        return "denied" if isinstance(denied, Denied) else ""


def event_of(check: DriftCheck, number: int, now: float) -> dict[str, Any]:
    """The event of a look, with its number for the target, as JSON values."""
    target = check.target
    table = check.drift.table() if check.drift is not None else {}
    found = {key: list(table.get(key, ())) for key in ("differences", "foreign")}
    return {
        "event": DRIFT if check.digest else RESOLVED,
        "id": f"{target.realm}/{target.name}/{number}/{check.digest or _NOTHING}",
        "time": now,
        "realm": target.realm,
        "target": target.name,
        "kind": target.kind,
        "catalog": target.place,
        "counts": dict(check.counts),
        **{key: rows[:MOST] for key, rows in found.items()},
        "truncated": any(len(rows) > MOST for rows in found.values()),
    }
