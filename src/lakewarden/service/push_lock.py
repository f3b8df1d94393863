"""The lock of a target that has none itself, such as a Ranger admin, in our own store."""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from lakewarden.kernel.errors import Busy, WardenError
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.push_target import PushMark, PushTarget, require_mark

HELD_SECONDS: Final = 60.0
"""After so long without a sign of the push that has the lock another one takes it over."""

RENEW_SECONDS: Final = HELD_SECONDS / 3
"""So long after it was taken or renewed the lock is renewed."""

BUSY_TOO_LONG_SECONDS: Final = 300.0
"""So long the lock of a target may be somebody else's each time without an error.

Whoever may log in to a database can keep the lock of a target in it.
"""

_NEVER: Final = 0.0
"""A moment by which no other push has ended."""

_OVER: Final = 1.0
"""Until when a lock was held that is let go of: past by the clock of each machine."""


@dataclass(slots=True)
class StoreLock:
    """The lock of one target for one push, which has to `keep` it while it lasts."""

    service: DecisionService
    target: PushTarget
    mark: PushMark
    """That of the target as this push read it and changed it itself."""
    _number: int = field(default_factory=lambda: secrets.randbits(31))
    _taken_at: float | None = None

    def require_free(self) -> None:
        """Raises `Busy` while a push has it; it is not taken."""
        if self.service.store.is_noted(self._names, self.service.clock()):
            raise under_way(self.target.name)

    def take(self) -> None:
        """Takes it; raises `Busy` where another push has it."""
        self._hold(self.service.clock())

    def keep(self) -> None:
        """Holds it further, if it was taken and that is due; raises `Busy` where it was lost.

        It is lost once another push has taken it, though that is over by now: the target is not as
        it was read. Without another one it is not, however late this comes. Rows that are over are
        pruned, so what another push left of itself is its mark.
        """
        if self._taken_at is not None:
            passed = self.service.clock() - self._taken_at
            if not 0.0 <= passed < RENEW_SECONDS:
                self._hold(_NEVER)
                with self.service.reading() as reading:
                    require_mark(reading, self.target, self.mark)

    def release(self) -> None:
        """Lets the next push in; where the store is away, that is so after a while."""
        if self._taken_at is not None:
            with suppress(WardenError):
                self.service.store.hold(self._names, self._number, _NEVER, _OVER)
            self._taken_at = None

    def _hold(self, ended_by: float) -> None:
        """Holds it from now on, if nobody else has it or had it until after that moment."""
        now = self.service.clock()
        if not self.service.store.hold(self._names, self._number, ended_by, now + HELD_SECONDS):
            raise under_way(self.target.name)
        self._taken_at = now

    @property
    def _names(self) -> tuple[str, ...]:
        return "push", self.target.realm, self.target.name


def under_way(name: str, where: str = "") -> Busy:
    """That another push to a target is under way; `where` it is, if the target says so."""
    found = f"another push to the target `{name}` is under way {where}".rstrip()
    return Busy(f"{found}; try again when it is over")
