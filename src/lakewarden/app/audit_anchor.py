"""Anchors: the end of the audit trail, recorded where database users cannot change it.

A thread of each process reads the end of the trail at an interval, or after every write, and sends
it on if it moved: to an append-only file, to a URL, to our log. It sends anchors
(`lakewarden.service.audit_check`), one JSON object each. An anchor that cannot be sent is retried
at the next look; the newest anchor covers all earlier ones.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lakewarden.app.json_post import post_json
from lakewarden.config.settings import Audit
from lakewarden.kernel.errors import Unavailable, WardenError
from lakewarden.service.audit_check import Anchor
from lakewarden.service.ports import Clock, Store

Send = Callable[[Anchor], None]
"""Sends an anchor; raises `Unavailable`."""


def to_file(path: Path) -> Send:
    """Appends a line to a file that only its owner can read, and flushes it to disk."""

    def send(anchor: Anchor) -> None:
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(file, "ab", buffering=0) as out:
                out.write(f"{anchor.line()}\n".encode())
                os.fsync(out.fileno())
        except OSError as error:
            raise Unavailable(f"`{path}` cannot be written: {error.strerror}") from None

    return send


def to_url(url: str) -> Send:
    """Posts the anchor to a URL; does not follow redirects."""
    return lambda anchor: post_json(url, anchor.line().encode(), "anchor")


def sends(audit: Audit, log: Callable[[Mapping[str, Any]], None]) -> list[Send]:
    """All destinations that the settings name."""
    targets: list[Send] = []
    if audit.anchor_file is not None:
        targets.append(to_file(audit.anchor_file))
    if audit.anchor_url:
        targets.append(to_url(audit.anchor_url))
    if audit.anchor_log:
        targets.append(lambda anchor: log(anchor._asdict()))
    return targets


class Anchoring:
    """Sends anchors to all of `sends` until it is stopped."""

    def __init__(
        self, store: Store, clock: Clock, sends: Sequence[Send], failed: Callable[[Exception], None]
    ) -> None:
        self._store = store
        self._clock = clock
        self._sends = sends
        self._failed = failed
        self._sent = [0] * len(sends)
        self._due = threading.Event()
        self._stopped = False
        self._thread: threading.Thread | None = None

    def start(self, seconds: float) -> None:
        """Looks every `seconds`; if 0, whenever `wake` is called."""

        def run() -> None:
            while not self._stopped:
                self._due.wait(seconds or None)
                self._due.clear()
                try:
                    self.send_missing()
                except Exception as error:  # noqa: BLE001 — the next look may succeed
                    self._failed(error)

        self._thread = threading.Thread(target=run, name="audit anchors", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Triggers a look now."""
        self._due.set()

    def stop(self) -> None:
        """Looks one last time, and ends."""
        self._stopped = True
        self.wake()
        if self._thread is not None:
            self._thread.join()
        self.send_missing()

    def send_missing(self) -> None:
        """Sends the end of the trail to every target that does not have it."""
        try:
            with self._store.reading() as reading:
                head = reading.audit_head
                last = next(iter(reading.audit(head.seq - 1, 1)), None) if head.seq else None
        except WardenError as error:
            self._failed(error)
            return
        if last is None:
            return
        anchor = Anchor(self._clock(), last.seq, last.digest, last.seal)
        for index, send in enumerate(self._sends):
            if self._sent[index] != last.seq:
                try:
                    send(anchor)
                except Unavailable as error:
                    self._failed(error)
                else:
                    self._sent[index] = last.seq
