"""The lock, in our own store, of a target without its own lock, such as a Ranger admin."""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from lakewarden.kernel.errors import Busy, WardenError
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.push_target import PushMark, PushTarget, require_mark

HELD_SECONDS: Final = 60.0
"""After this time without a sign of the push that holds the lock, another one takes it over."""

RENEW_SECONDS: Final = HELD_SECONDS / 3
"""The lock is renewed this long after it was taken or renewed."""

BUSY_TOO_LONG_SECONDS: Final = 300.0
"""How long the lock of a target may be held by others at each try before it is an error.

Anyone who may log in to a database can hold the lock of a target in it.
"""

_NEVER: Final = 0.0
"""A time before which no other push has ended."""

_OVER: Final = 1.0
"""The end time of a released lock: in the past on the clock of every machine."""


@dataclass(slots=True)
class StoreLock:
    """The lock of one target for one push, which must call `renew` while it lasts."""

    service: DecisionService
    target: PushTarget
    mark: PushMark
    """The mark of the target, as this push read it and changed it itself."""
    _number: int = field(default_factory=lambda: secrets.randbits(31))
    _taken_at: float | None = None

    def require_free(self) -> None:
        """Raises `Busy` while a push holds the lock; does not take it."""
        if self.service.store.has_note(self._names, self.service.clock()):
            raise under_way(self.target.name)

    def acquire(self) -> None:
        """Takes the lock; raises `Busy` if another push holds it."""
        self._acquire_lease(self.service.clock())

    def renew(self) -> None:
        """Renews the lock, if it was taken and renewal is due; raises `Busy` if it was lost.

        It is lost once another push has taken it, even if that push is over by now: the target has
        changed since it was read. Without another push it is not lost, however late the renewal is.
        Expired rows are pruned, so the mark is what reveals another push.
        """
        if self._taken_at is not None:
            passed = self.service.clock() - self._taken_at
            if not 0.0 <= passed < RENEW_SECONDS:
                self._acquire_lease(_NEVER)
                with self.service.reading() as reading:
                    require_mark(reading, self.target, self.mark)

    def release(self) -> None:
        """Releases the lock; if the store is unavailable, the lock expires."""
        if self._taken_at is not None:
            with suppress(WardenError):
                self.service.store.acquire_lease(self._names, self._number, _NEVER, _OVER)
            self._taken_at = None

    def _acquire_lease(self, ended_by: float) -> None:
        """Holds it from now on, if nobody else holds it or held it until after that time."""
        now = self.service.clock()
        if not self.service.store.acquire_lease(
            self._names, self._number, ended_by, now + HELD_SECONDS
        ):
            raise under_way(self.target.name)
        self._taken_at = now

    @property
    def _names(self) -> tuple[str, ...]:
        return "push", self.target.realm, self.target.name


def under_way(name: str, where: str = "") -> Busy:
    """The error that another push to a target is in progress; `where`, if the target tells."""
    found = f"another push to the target `{name}` is under way {where}".rstrip()
    return Busy(f"{found}; try again when it has finished")
