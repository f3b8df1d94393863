"""Watches whether writes fail, logs each change once, and retries until they succeed.

A process detects a full disk by a failed write. Then no process of the server is ready, and each
retries a write from time to time, so they become ready again without a restart once there is space.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from lakewarden.app import log
from lakewarden.app.readiness import Readiness
from lakewarden.kernel.errors import Unavailable
from lakewarden.service.ports import Store
from lakewarden.service.write_health import Unwritable

TRY_SECONDS: Final = 5.0


class WriteWatch:
    """Watches the write health of this process and the others; logs each change once."""

    def __init__(self, readiness: Readiness | None) -> None:
        self._readiness = readiness
        self._told = ""

    def fails(self, store: Store) -> bool:
        """Whether writes are known to fail; does not query the store."""
        shared = self._readiness is not None and self._readiness.writes_fail()
        return bool(store.write_health.fault) or shared

    def check(self, store: Store) -> None:
        """Logs a change since the last look."""
        fault = store.write_health.fault
        if fault and not self._told:
            log.get().error("writes fail", why=fault)
        elif self._told and not fault:
            log.get().info("writes succeed again")
        if fault and self._readiness is not None:
            self._readiness.note_writes(fail=True)
        self._told = fault

    def retry(self, store: Store) -> None:
        """Retries a write if the last one failed. May block."""
        if not self.fails(store):
            return
        with suppress(Unwritable, Unavailable):
            store.try_to_write()
            if self._readiness is not None:
                self._readiness.note_writes(fail=False)
