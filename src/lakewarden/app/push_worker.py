"""Delivers changes to followed targets in threads: one finds due targets, others deliver.

A target that hangs blocks only its own thread. Each process of the server has such a worker; the
entry of a target is held by one of them at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from lakewarden.app import log
from lakewarden.app.target_threads import TargetThreads
from lakewarden.kernel.errors import WardenError
from lakewarden.service.push_delivery import Delivery
from lakewarden.service.push_target import PushTarget

LOOK_SECONDS: Final = 0.5
_STOP_SECONDS: Final = 5.0
"""After this time, stopping abandons a delivery: its target keeps nothing of it."""


def log_delivery(target: PushTarget, statements: int, error: str) -> None:
    """Logs a delivery."""
    name, realm = target.name, target.realm
    if error:
        log.get().warning("target push failed", target=name, realm=realm, why=error)
    elif statements:
        log.get().info("target pushed", target=name, realm=realm, statements=statements)


class PushWorker:
    """Delivers until it is stopped.

    `failed` receives errors that no target caused, `away` those of our own unavailable store.
    """

    def __init__(
        self,
        delivery: Delivery,
        failed: Callable[[Exception], None],
        away: Callable[[WardenError], None] = lambda _: None,
    ) -> None:
        self._delivery, self._failed, self._away = delivery, failed, away
        self._stop = threading.Event()
        self._threads = TargetThreads("push")
        self._looking = threading.Thread(target=self._run, name="push", daemon=True)

    def start(self) -> None:
        """Starts delivering."""
        self._looking.start()

    def stop(self) -> None:
        """Stops; waits for a delivery in progress, but not for long."""
        self._stop.set()
        until = time.monotonic() + _STOP_SECONDS
        self._looking.join(_STOP_SECONDS)
        self._threads.join(until - time.monotonic())

    def _run(self) -> None:
        while not self._stop.wait(LOOK_SECONDS):
            try:
                self._delivery.renew()
                self._start_due()
            except WardenError as error:
                self._away(error)
            except Exception as error:  # noqa: BLE001 — none of this may end the worker
                self._failed(error)

    def _start_due(self) -> None:
        for one in self._delivery.behind():
            self._threads.start(one.target, self._deliver, is_again=one.has_failed)

    def _deliver(self, target: PushTarget) -> None:
        try:
            self._delivery.deliver(target)
        except WardenError:
            return  # the store is unavailable; the entry remains until it is back
        except Exception as error:  # noqa: BLE001 — the target's status shows it too
            self._failed(error)
