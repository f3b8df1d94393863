"""Looks of a watch at several targets at once; one thread receives the results."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import Final

from lakewarden.app.push_figures import count
from lakewarden.app.target_threads import TargetThreads
from lakewarden.service.push_target import PushTarget
from lakewarden.service.push_watch import DriftCheck, PushWatch

_WAIT_SECONDS: Final = 1.0


class DriftChecks:
    """Looks at the due targets and counts the looks, until it is dropped."""

    def __init__(self, watching: PushWatch) -> None:
        self._watching = watching
        self._threads = TargetThreads("push watch")
        self._found: SimpleQueue[DriftCheck | Exception] = SimpleQueue()
        self._awaited = 0

    def begin(self) -> bool:
        """Starts looks at due targets, up to the thread limit; returns whether any is due.

        Raises `Unknown` for a name that no target has.
        """
        due = self._watching.due(self._watching.pushing.service.clock())
        for target in due:
            is_again = self._watching.has_failed(target)
            self._awaited += self._threads.start(target, self._check, is_again=is_again)
        return bool(due)

    def finished(self, seconds: float = 0.0) -> Iterator[DriftCheck]:
        """The finished looks; waits at most `seconds` for those in progress.

        Raises the error of a look, such as `Unavailable` if our own store is unavailable.
        """
        until = time.monotonic() + seconds
        while self._awaited:
            try:
                found = self._found.get(timeout=max(0.0, until - time.monotonic()))
            except Empty:
                return
            self._awaited -= 1
            if isinstance(found, Exception):
                raise found
            yield found

    def some(self) -> Iterator[DriftCheck]:
        """Starts due looks, and yields looks that end soon, including earlier ones."""
        self.begin()
        yield from self.finished(_WAIT_SECONDS)

    def all_due(self, stop: threading.Event) -> Iterator[DriftCheck]:
        """A look at each due target, until `stop` is set."""
        while not stop.is_set() and (self.begin() or self._awaited):
            yield from self.finished(_WAIT_SECONDS)

    def join(self, seconds: float) -> None:
        """Waits at most `seconds` for the looks in progress."""
        self._threads.join(seconds)

    def _check(self, target: PushTarget) -> None:
        try:
            now = self._watching.pushing.service.clock()
            check = self._watching.check(target, now)
            count(check, now)
        except Exception as error:  # noqa: BLE001 — `finished` raises it
            self._found.put(error)
        else:
            self._found.put(check)
