"""Passwords are hashed with Argon2id, a few at a time.

Each hash uses 64 MiB and some 100 ms, to make guessing slow. More than `AT_ONCE` at a time wait,
for a limited time, so a caller that sends many cannot use all memory and processor time.

SOURCE: RFC 9106, 4 (second recommended option, in one lane); security reference, R-54.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from secrets import token_urlsafe
from threading import BoundedSemaphore
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from lakewarden.kernel.errors import Unavailable
from lakewarden.service.password import prepared

AT_ONCE: Final = 2
PATIENCE_SECONDS: Final = 5.0


class Passwords:
    """See `Hashing`. One for all threads of a process."""

    def __init__(self, *, rounds: int = 3, memory_kib: int = 65_536) -> None:
        self._argon2 = PasswordHasher(rounds, memory_kib, 1)
        self._free = BoundedSemaphore(AT_ONCE)

    def hash(self, password: str) -> str:
        """See `Hashing.hash`."""
        with self._slot():
            return self._argon2.hash(prepared(password))

    def verify(self, hashed: str | None, password: str) -> bool:
        """See `Hashing.verify`."""
        against = self._decoy_hash if hashed is None else hashed
        with self._slot():
            is_same = self._is_same(against, password)
        return is_same and hashed is not None

    def _is_same(self, hashed: str, password: str) -> bool:
        try:
            return self._argon2.verify(hashed, prepared(password))
        except (VerificationError, InvalidHashError):
            return False

    @cached_property
    def _decoy_hash(self) -> str:
        """The hash of an unknown password, against which users without a password are verified."""
        return self._argon2.hash(token_urlsafe(32))

    @contextmanager
    def _slot(self) -> Iterator[None]:
        if not self._free.acquire(timeout=PATIENCE_SECONDS):
            raise Unavailable("too many passwords are being verified; try again later")
        try:
            yield
        finally:
            self._free.release()
