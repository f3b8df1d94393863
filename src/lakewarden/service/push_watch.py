"""Drift on a schedule: looks at targets repeatedly, and records what changed there.

The findings of a look are written to the store if they differ from those of the last look, with an
audit row; an unchanged target costs no revision. A target that is unavailable is tried less often.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import Final

import msgspec

from lakewarden.kernel.errors import Busy, Unknown, WardenError
from lakewarden.service import push_target, push_target_writes
from lakewarden.service.control import Denied
from lakewarden.service.push import PushDrift, Pushing
from lakewarden.service.push_lock import BUSY_TOO_LONG_SECONDS
from lakewarden.service.push_target import PushTarget

MISSING: Final = "missing"
ADDED: Final = "added"
FOREIGN: Final = "foreign"
DENIED: Final = "denied"
KINDS: Final = (MISSING, ADDED, FOREIGN, DENIED)
"""The counted kinds: ours that is missing, added to ours, grants by others, and those of them that
grant what the realm denies."""

_DOUBLINGS: Final = 5
_LONGEST_SECONDS: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class DriftCheck:
    """The result of one look at a target: the drift, or why there is none.

    During a push it is `busy`, which becomes an `error` if it takes too long.
    """

    target: PushTarget
    drift: PushDrift | None = None
    error: str = ""
    busy: str = ""
    is_new: bool = False
    """Whether it differs from the result of the last look."""

    @property
    def digest(self) -> str:
        """Equal for equal findings; empty if there are none."""
        if self.drift is None or not any(self.counts.values()):
            return ""
        table = self.drift.table()
        found = [table["differences"], table["foreign"]]
        return sha256(msgspec.json.encode(found)).hexdigest()[:16]

    @property
    def counts(self) -> Mapping[str, int]:
        """The numbers of findings, by kind."""
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
    """Looks at the targets with these names, or at all, at an interval."""

    pushing: Pushing
    every_seconds: float
    names: Collection[str] = ()
    _schedules: dict[str, _Schedule] = field(default_factory=dict)

    def due(self, now: float) -> list[PushTarget]:
        """The targets that are due, by name. Raises `Unknown` for a name that no target has."""
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
        """Whether the last look at the target failed."""
        return self._schedule(target.name).failures > 0

    def seconds_until_due(self, now: float) -> float:
        """The time until something is due; at most the interval at which new targets are seen."""
        # Looks in other threads may still be at a removed target.
        schedules = list(self._schedules.values())
        due = min((one.due for one in schedules), default=now + self.every_seconds)
        return min(max(due - now, 0.0), self.every_seconds)

    def check(self, target: PushTarget, now: float) -> DriftCheck:
        """Looks at a target; several threads may look at different targets."""
        schedule = self._schedule(target.name)
        try:
            found = self.pushing.drift(target.realm, target.name)
            check = (
                DriftCheck(target, error="denied")
                if isinstance(found, Denied)
                else DriftCheck(target, found)
            )
            if check.drift is not None:
                check = self._recorded(check)
            if schedule.failures and not check.error:
                check = replace(check, is_new=True)
        except Busy as error:
            return self._busy(target, str(error), now)
        except WardenError as error:
            check = DriftCheck(target, error=str(error), is_new=not schedule.failures)
        schedule.failures = schedule.failures + 1 if check.error else 0
        schedule.busy_since = None
        doublings = min(max(schedule.failures - 1, 0), _DOUBLINGS)
        longest = max(self.every_seconds, _LONGEST_SECONDS)
        schedule.due = now + min(self.every_seconds * 2**doublings, longest)
        return check

    def _busy(self, target: PushTarget, why: str, now: float) -> DriftCheck:
        """A push ends soon, but anyone who can log in to a database can hold its target's lock."""
        schedule = self._schedule(target.name)
        schedule.due = now + self.every_seconds
        if schedule.busy_since is None:
            schedule.busy_since = now
        if now - schedule.busy_since < BUSY_TOO_LONG_SECONDS:
            return DriftCheck(target, busy=why)
        schedule.failures += 1
        return DriftCheck(target, error=why, is_new=schedule.failures == 1)

    def _schedule(self, name: str) -> _Schedule:
        return self._schedules.setdefault(name, _Schedule())

    def _recorded(self, check: DriftCheck) -> DriftCheck:
        """The look, after it was written to the store if its findings differ."""
        digest = check.digest
        with self.pushing.service.reading() as reading:
            noted = push_target.drift_notes(reading, (check.target.realm,)).get(check.target.name)
        if digest == (noted.digest if noted else ""):
            return check
        note = partial(
            push_target_writes.note_drift, of=check.target, counts=check.counts, digest=digest
        )
        denied = self.pushing.write(note)
        error = "denied" if isinstance(denied, Denied) else ""
        return DriftCheck(check.target, check.drift, error, is_new=True)
