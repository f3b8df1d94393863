"""Rate limits: a token bucket for each caller and kind of request.

A bucket is one number: the time at which it would be full again. A request moves that time forward
by its cost; while the time lies further ahead than the depth of the bucket, the caller waits. (The
generic cell rate algorithm, the same as a token bucket.)

Each process counts separately.

Source: ITU-T I.371, annex A; RFC 6585, 4 (429).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lakewarden.config.rate_limits import RateLimits
from lakewarden.http.exchange import BULK, LOGINS, READS, WRITES, Refused

CLASSES: Final = (READS, WRITES, LOGINS, BULK)

MOST_CALLERS: Final = 65_536
"""The most callers remembered per class; the fullest buckets are forgotten first."""


class RateLimited(Refused):
    """Too many requests; `seconds` until the next one is answered."""

    def __init__(self, kind: str, seconds: float) -> None:
        super().__init__(429, f"too many requests of the class `{kind}`")
        self.kind = kind
        self.seconds = seconds


class Buckets:
    """The buckets of one class: `rate` requests per second, `burst` at once."""

    def __init__(self, rate: float, burst: int) -> None:
        self._cost = 1.0 / rate
        self._depth = self._cost * (burst - 1)
        self._full_at: dict[str, float] = {}
        self._now = 0.0

    def wait(self, caller: str, now: float) -> float:
        """Takes a token from the caller's bucket: 0; or the seconds until there is one."""
        # A delayed request may be counted after requests that began later.
        now = self._now = max(now, self._now)
        full_at = self._full_at.get(caller, 0.0)
        if full_at > now:
            if full_at - now > self._depth:
                return full_at - now - self._depth
        else:
            full_at = now
            if len(self._full_at) >= MOST_CALLERS:
                self._evict(now)
        self._full_at[caller] = full_at + self._cost
        return 0.0

    def _evict(self, now: float) -> None:
        """Forgets full buckets, then the half that will be full first."""
        pending = {caller: at for caller, at in self._full_at.items() if at > now}
        if len(pending) > MOST_CALLERS // 2:
            emptiest = sorted(pending, key=pending.__getitem__)[-MOST_CALLERS // 2 :]
            pending = {caller: pending[caller] for caller in emptiest}
        self._full_at = pending


class RateLimiter:
    """The buckets of all classes. Belongs to one event loop."""

    def __init__(self, limits: RateLimits) -> None:
        rates = {name: getattr(limits, name) for name in CLASSES}
        self._buckets: Mapping[str, Buckets] = {
            name: Buckets(rate, max(1, round(rate * limits.burst_seconds)))
            for name, rate in rates.items()
            if rate
        }

    def check(self, kind: str, caller: str, now: float) -> None:
        """Counts a request of the class; raises `RateLimited`. `now` is in seconds."""
        buckets = self._buckets.get(kind)
        if buckets is None:
            return
        seconds = buckets.wait(caller, now)
        if seconds > 0.0:
            raise RateLimited(kind, seconds)
