"""Limits on password attempts.

| counted                        | at most | within      | why                                |
|--------------------------------|---------|-------------|------------------------------------|
| for a user, from an address    | 10      | 5 minutes   | guessing one password              |
| for a user, from everywhere    | 50      | 5 minutes   | the same from many machines        |
| from an address, for everybody | 50      | 5 minutes   | one password tried on many users   |

Attempts are counted in the store before the password is verified, so concurrent attempts or several
servers do not raise the limit; a successful one is uncounted. A refused attempt does not count, and
extends no waiting time. A user who logged in from an address before is not blocked there by
attempts from elsewhere: so nobody can lock out another user permanently. All addresses of one IPv6
network of 64 bits count as one: a customer with one of them has them all.

Source: security reference, R-54.
"""

from __future__ import annotations

from typing import Final

from lakewarden.service.client_site import site
from lakewarden.service.credential import Count
from lakewarden.service.ports import Store

SECONDS: Final = 5 * 60.0
FROM_ADDRESS: Final = 10
FOR_USER: Final = 50
FOR_ADDRESS: Final = 50

KNOWN: Final = 30 * 86_400.0
"""How long an address is known after a user's login from it, in seconds."""


class Throttle:
    """Counts the attempts for one user of a realm, from one address."""

    def __init__(self, store: Store, realm: str, user: str, address: str) -> None:
        self._store = store
        address = site(address)
        self._own = Count(("try", realm, user, address), FROM_ADDRESS, SECONDS)
        self._of_user = Count(("user", realm, user), FOR_USER, SECONDS)
        self._of_address = Count(("address", address), FOR_ADDRESS, SECONDS)
        self._known = ("known", realm, user, address)
        self._counted: list[Count] = []

    def begin(self, now: float) -> float | None:
        """Counts an attempt, or returns the seconds until the next one is allowed."""
        counts = [self._own, self._of_address]
        if not self._store.has_note(self._known, now):
            counts.append(self._of_user)
        until = self._store.count_attempt(counts, now)
        if until is not None:
            return max(1.0, until - now)
        self._counted = counts
        return None

    def succeed(self, now: float) -> None:
        """Uncounts the attempt: it was no guess."""
        others = [count for count in self._counted if count is not self._own]
        self._store.uncount_attempts(others, [self._own])
        self._store.note(self._known, now + KNOWN)


class AddressThrottle:
    """Counts attempts from one address with a secret that must match: no user is named."""

    def __init__(self, store: Store, address: str) -> None:
        self._store = store
        self._count = Count(("address", site(address)), FOR_ADDRESS, SECONDS)

    def begin(self, now: float) -> float | None:
        """Like `Throttle.begin`."""
        until = self._store.count_attempt([self._count], now)
        return None if until is None else max(1.0, until - now)

    def succeed(self) -> None:
        """Like `Throttle.succeed`."""
        self._store.uncount_attempts([self._count])


def forget(store: Store, realm: str, user: str) -> None:
    """Lets a user with a new password try again."""
    store.uncount_attempts([], [Count(("user", realm, user), FOR_USER, SECONDS)])
