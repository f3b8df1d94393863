"""Work on targets, each in its own thread: one that hangs does not delay others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from lakewarden.service.push_target import PushTarget

MOST: Final = 4
"""The most targets that a process works on at once."""

MOST_AGAIN: Final = 2
"""The most of them whose last run failed; hanging targets always leave room for others."""


@dataclass(frozen=True, slots=True)
class _Running:
    thread: threading.Thread
    is_again: bool


class TargetThreads:
    """The threads of one process, named after their work. One thread starts them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._running: dict[tuple[str, str], _Running] = {}

    def start(
        self, target: PushTarget, work: Callable[[PushTarget], object], *, is_again: bool
    ) -> bool:
        """Does the work on the target, `is_again` after a failure; returns whether it started.

        It does not start if the target is already worked on, or too many are. The work raises
        nothing.
        """
        key = target.realm, target.name
        self._running = {at: one for at, one in self._running.items() if one.thread.is_alive()}
        again = sum(one.is_again for one in self._running.values())
        is_full = len(self._running) >= MOST or (is_again and again >= MOST_AGAIN)
        if key in self._running or is_full:
            return False
        thread = threading.Thread(
            target=work, args=(target,), name=f"{self._name} {target.name}", daemon=True
        )
        self._running[key] = _Running(thread, is_again)
        thread.start()
        return True

    def join(self, seconds: float) -> None:
        """Waits for all of them, at most `seconds` in total."""
        until = time.monotonic() + seconds
        for one in self._running.values():
            one.thread.join(max(0.0, until - time.monotonic()))
