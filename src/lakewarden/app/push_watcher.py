"""`lakewarden push watch` in the server: one process watches; if it ends, another takes over."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from lakewarden.app import log
from lakewarden.app.drift_checks import DriftChecks
from lakewarden.app.webhook import Webhook
from lakewarden.config.settings import Push
from lakewarden.kernel.errors import WardenError
from lakewarden.service.drift_event import DriftEvents
from lakewarden.service.push import Pushing
from lakewarden.service.push_watch import ADDED, DENIED, FOREIGN, MISSING, DriftCheck, PushWatch

TICK_SECONDS: Final = 5.0
HELD_SECONDS: Final = 60.0
"""After this time without a sign of the watching process, another one takes over."""

_HELD: Final = ("push watch",)
_STOP_SECONDS: Final = 5.0


def drift_events(
    push: Push, pushing: Pushing, interval: float, stop: threading.Event
) -> DriftEvents | None:
    """The sender of drift events; None without a webhook."""
    if push.webhook_url is None or not push.webhook_url.get_secret_value():
        return None
    webhook = Webhook(push.webhook_url.get_secret_value(), push.webhook_token_file, stop.wait)
    return DriftEvents(pushing, webhook, interval)


class PushWatcher:
    """Watches all targets while this process holds the watch, until it is stopped.

    `failed` receives errors that no target caused.
    """

    def __init__(self, pushing: Pushing, push: Push, failed: Callable[[Exception], None]) -> None:
        self._pushing, self._failed = pushing, failed
        self._stop = threading.Event()
        self._checks = DriftChecks(PushWatch(pushing, push.watch_seconds))
        self._events = drift_events(push, pushing, push.watch_seconds, self._stop)
        self._number = secrets.randbits(31)
        self._thread = threading.Thread(target=self._run, name="push watch", daemon=True)

    def start(self) -> None:
        """Starts watching."""
        self._thread.start()

    def stop(self) -> None:
        """Stops, and releases the watch; waits for a look in progress, but not for long."""
        self._stop.set()
        until = time.monotonic() + _STOP_SECONDS
        if self._thread.is_alive():
            self._thread.join(_STOP_SECONDS)
        self._checks.join(until - time.monotonic())
        with suppress(WardenError):
            self._acquire_lease(0.0)

    def run_checks(self, seconds: float = 0.0) -> None:
        """Looks at the due targets, if no other process watches, and reports what was found so far.

        It waits at most so many seconds for looks in progress.
        """
        if self._acquire_lease(HELD_SECONDS):
            self._checks.begin()
        for check in self._checks.finished(seconds):
            self._report(check)
            if self._stop.is_set():
                return
            self._acquire_lease(HELD_SECONDS)

    def _report(self, check: DriftCheck) -> None:
        log_drift_check(check)
        now = self._pushing.service.clock()
        problem = self._events.announce(check, now) if self._events else ""
        if problem:
            log.get().warning("drift not posted", target=check.target.name, why=problem)

    def _run(self) -> None:
        while not self._stop.wait(TICK_SECONDS):
            try:
                self.run_checks()
            except WardenError:
                continue  # the store is unavailable
            except Exception as error:  # noqa: BLE001 — none of this may end the watch
                self._failed(error)

    def _acquire_lease(self, seconds: float) -> bool:
        service = self._pushing.service
        now = service.clock()
        return service.store.acquire_lease(_HELD, self._number, now, now + seconds)


def log_drift_check(check: DriftCheck) -> None:
    """Logs new findings."""
    name, realm, found = check.target.name, check.target.realm, check.counts
    if not check.is_new:
        return
    if check.error:
        log.get().warning("target not looked at", target=name, realm=realm, why=check.error)
    elif any(found.values()):
        log.get().warning(
            "drift",
            target=name,
            realm=realm,
            missing=found[MISSING],
            added=found[ADDED],
            foreign=found[FOREIGN],
            denied=found[DENIED],
        )
    else:
        log.get().info("no drift", target=name, realm=realm)
