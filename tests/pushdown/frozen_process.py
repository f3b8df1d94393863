"""Suspends a process for a while, like on a host that hangs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def frozen(process: int) -> Iterator[None]:
    """Stops all its threads before the body runs, and resumes them after it."""
    os.kill(process, signal.SIGSTOP)
    try:
        while not _stopped(process):
            time.sleep(0.01)
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def _stopped(process: int) -> bool:
    """Whether every thread has stopped: the signal reaches threads on other cores later."""
    stats = [each.read_text() for each in Path(f"/proc/{process}/task").glob("*/stat")]
    return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)
