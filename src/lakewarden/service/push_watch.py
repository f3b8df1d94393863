"""Drift on a schedule: targets are looked at again and again, and what changed there is recorded.

What a look finds is written to the store when it differs from what the last one found, with an
audit row; a target that is as it was costs no revision. A target that is away is tried less often.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import Final

import msgspec

from lakewarden.kernel.errors import Busy, Unknown, WardenError
from lakewarden.service import push_target
from lakewarden.service.control import Denied
from lakewarden.service.push import PushDrift, Pushing
from lakewarden.service.push_lock import BUSY_TOO_LONG_SECONDS
from lakewarden.service.push_target import PushTarget

MISSING: Final = "missing"
ADDED: Final = "added"
FOREIGN: Final = "foreign"
DENIED: Final = "denied"
KINDS: Final = (MISSING, ADDED, FOREIGN, DENIED)
"""What is counted: ours that is not there, added to ours, grants of others, and those of them by
which somebody holds what the realm denies."""

_DOUBLINGS: Final = 5
_LONGEST_SECONDS: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at a target found: the drift, or why there is none.

    While it is pushed to it is `busy`, which is an `error` if it takes too long.
    """

    target: PushTarget
    drift: PushDrift | None = None
    error: str = ""
    busy: str = ""
    is_new: bool = False
    """Whether it differs from what the last look found."""

    @property
    def digest(self) -> str:
        """The same for the same findings; empty where there are none."""
        if self.drift is None or not any(self.counts.values()):
            return ""
        table = self.drift.table()
        found = [table["differences"], table["foreign"]]
        return sha256(msgspec.json.encode(found)).hexdigest()[:16]

    @property
    def counts(self) -> Mapping[str, int]:
        """The numbers of what was found, by kind."""
        if self.drift is None:
            return {}
        kinds = [one.kind for one in self.drift.differences]
        return {
            MISSING: kinds.count(MISSING),
            ADDED: kinds.count(ADDED),
            FOREIGN: len(self.drift.foreign),
            DENIED: sum(bool(one.denied) for one in self.drift.foreign),
        }


@dataclass(slots=True)
class _Schedule:
    due: float = 0.0
    failures: int = 0
    busy_since: float | None = None


@dataclass(slots=True)
class PushWatch:
    """Looks at the targets of these names, or at all, every so many seconds."""

    pushing: Pushing
    every_seconds: float
    names: Collection[str] = ()
    _schedules: dict[str, _Schedule] = field(default_factory=dict)

    def due(self, now: float) -> list[PushTarget]:
        """The targets to look at, by name. Raises `Unknown` for a name that no target has."""
        self.pushing.service.catch_up()
        targets = {one.name: one for one in self.pushing.targets()}
        for name in self.names:
            if name not in targets:
                raise Unknown("target", name)
        named = sorted(self.names or targets)
        for gone in self._schedules.keys() - targets.keys():
            del self._schedules[gone]
        return [targets[name] for name in named if self._schedule(name).due <= now]

    def has_failed(self, target: PushTarget) -> bool:
        """Whether the last look at the target did."""
        return self._schedule(target.name).failures > 0

    def seconds_until_due(self, now: float) -> float:
        """How long nothing is due; at most as long as it takes for a new target to be seen."""
        # Looks in other threads may still be at one that is gone.
        schedules = list(self._schedules.values())
        due = min((one.due for one in schedules), default=now + self.every_seconds)
        return min(max(due - now, 0.0), self.every_seconds)

    def look(self, target: PushTarget, now: float) -> Look:
        """Looks at a target; several threads may, each at another one."""
        schedule = self._schedule(target.name)
        try:
            found = self.pushing.drift(target.realm, target.name)
            look = (
                Look(target, error="denied") if isinstance(found, Denied) else Look(target, found)
            )
            if look.drift is not None:
                look = self._recorded(look)
            if schedule.failures and not look.error:
                look = replace(look, is_new=True)
        except Busy as error:
            return self._busy(target, str(error), now)
        except WardenError as error:
            look = Look(target, error=str(error), is_new=not schedule.failures)
        schedule.failures = schedule.failures + 1 if look.error else 0
        schedule.busy_since = None
        doublings = min(max(schedule.failures - 1, 0), _DOUBLINGS)
        longest = max(self.every_seconds, _LONGEST_SECONDS)
        schedule.due = now + min(self.every_seconds * 2**doublings, longest)
        return look

    def _busy(self, target: PushTarget, why: str, now: float) -> Look:
        """A push is over soon; but whoever may log in to a database can keep the lock of one."""
        schedule = self._schedule(target.name)
        schedule.due = now + self.every_seconds
        if schedule.busy_since is None:
            schedule.busy_since = now
        if now - schedule.busy_since < BUSY_TOO_LONG_SECONDS:
            return Look(target, busy=why)
        schedule.failures += 1
        return Look(target, error=why, is_new=schedule.failures == 1)

    def _schedule(self, name: str) -> _Schedule:
        return self._schedules.setdefault(name, _Schedule())

    def _recorded(self, look: Look) -> Look:
        """The look, after it was written to the store where it found something else."""
        digest = look.digest
        with self.pushing.service.reading() as reading:
            noted = push_target.drift_notes(reading, (look.target.realm,)).get(look.target.name)
        if digest == (noted.digest if noted else ""):
            return look
        note = partial(push_target.note_drift, of=look.target, counts=look.counts, digest=digest)
        denied = self.pushing.write(note)
        error = "denied" if isinstance(denied, Denied) else ""
        return Look(look.target, look.drift, error, is_new=True)
