"""The periodic tasks of a server process: metrics, usage counts, retries of failed writes, cleanup.

They go on after errors: a worker whose parent process is gone must still notice it, and end.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from lakewarden.app import log, metrics
from lakewarden.app.kernel_errors import KernelErrors
from lakewarden.app.open_store import OpenStore
from lakewarden.app.request_pipeline import Parts
from lakewarden.app.write_watch import TRY_SECONDS, WriteWatch
from lakewarden.config.settings import Retention
from lakewarden.kernel.errors import Unavailable, WardenError
from lakewarden.service.housekeeping import remove_expired
from lakewarden.store.sqlite_file import FileReplaced

_SECONDS: Final = 1.0
_USAGE_SECONDS: Final = 10.0
_HOUSEKEEPING_SECONDS: Final = 3_600.0


class PeriodicTasks:
    """The tasks of one process, which ends when its `parent` process is gone.

    `opened` is the store, once it is open; tasks that need it wait until then.
    """

    def __init__(
        self, parts: Parts, writes: WriteWatch, retention: Retention, parent: int | None
    ) -> None:
        self.opened: OpenStore | None = None
        self._parts = parts
        self._writes = writes
        self._retention = retention
        self._parent = parent

    async def run(self) -> None:
        """Runs the tasks once a second, or less often, until it is cancelled."""
        errors = KernelErrors()
        since_usage = since_tried = 0.0
        # The first cleanup comes within ten minutes, at a different time in each worker.
        since_kept = _HOUSEKEEPING_SECONDS - 60.0 - os.getpid() % 540
        while True:
            await asyncio.sleep(_SECONDS)
            since_usage += _SECONDS
            since_tried += _SECONDS
            since_kept += _SECONDS
            if self._parent is not None and os.getppid() != self._parent:
                log.get().error("the parent process has ended")
                signal.raise_signal(signal.SIGTERM)
            try:
                errors.count_new(self._parts.service.state)
                metrics.write()
                self._publish_plugin_polls()
                await self.in_thread(self.raise_revision)
                if since_tried >= TRY_SECONDS:
                    since_tried = 0.0
                    await self.in_thread(self.retry_write)
                self.check_write_health()
                if since_usage >= _USAGE_SECONDS:
                    since_usage = 0.0
                    await self.in_thread(self.write_usage)
                if since_kept >= _HOUSEKEEPING_SECONDS:
                    since_kept = 0.0
                    await self.in_thread(self._remove_expired)
            except Exception as error:  # noqa: BLE001 — none of this may end the tasks
                log.get().error("unexpected error while watching", exc_info=error)

    async def in_thread(self, work: Callable[[], None]) -> None:
        """Runs the work in a worker thread; an unavailable store is no error here."""
        with suppress(WardenError):
            await asyncio.get_running_loop().run_in_executor(self._parts.workers, work)

    def raise_revision(self) -> None:
        """Raises the shared revision for writers that do not: an older release, a restored file."""
        if self.opened is None or self.opened.shared_revision is None:
            return
        try:
            revision = self.opened.store.revision()
        except FileReplaced as error:
            self._answer_nothing(error)
            return
        self.opened.shared_revision.raise_to(revision)
        if self._parts.is_open:
            self._parts.service.catch_up()  # a restored database may have the same revision

    def _answer_nothing(self, error: FileReplaced) -> None:
        """Answers nothing from now on: what this process knows is of another database."""
        if self._parts.is_open:
            log.get().error("database file replaced", why=str(error))
        self._parts.is_open, self._parts.is_away = False, True

    def check_write_health(self) -> None:
        """Logs whether writes fail, if that changed."""
        if self.opened is not None:
            self._writes.check(self.opened.store)

    def retry_write(self) -> None:
        """Retries a write if the last one failed."""
        if self.opened is not None:
            self._writes.retry(self.opened.store)

    def write_usage(self) -> None:
        """Writes usage counts to the store, if it is available."""
        usage = self._parts.services.usage
        if self.opened is None:
            return
        with suppress(Unavailable):
            usage.write(self.opened.store)
        if usage.lost:
            lost, usage.lost = usage.lost, 0
            log.get().warning("usage not counted", acts=lost)

    def _remove_expired(self) -> None:
        """Removes rows whose retention has expired, if the store is available."""
        if self.opened is None:
            return
        token_days, usage_days = self._retention.token_days, self._retention.usage_days
        with suppress(Unavailable):
            removed = remove_expired(
                self._parts.service, token_days=token_days, usage_days=usage_days
            )
            if any(removed):
                log.get().info(
                    "old rows removed", tokens=removed.tokens, usage_rows=removed.usage_rows
                )

    def _publish_plugin_polls(self) -> None:
        """Copies the plugin polls of this process to the metrics of all processes."""
        for plugin, newest in self._parts.services.plugin_polls.latest_polls().items():
            metrics.plugin_polled(plugin, newest)
