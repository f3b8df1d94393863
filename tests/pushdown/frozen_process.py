"""A process that does nothing for a while, as on a host that hangs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def frozen(process: int) -> Iterator[None]:
    """All its threads are stopped before the body runs, and go on after it."""
    os.kill(process, signal.SIGSTOP)
    try:
        while not _stopped(process):
            time.sleep(0.01)
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def _stopped(process: int) -> bool:
    """Whether each thread is: the signal reaches one that runs on another core later."""
    stats = [each.read_text() for each in Path(f"/proc/{process}/task").glob("*/stat")]
    return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)
