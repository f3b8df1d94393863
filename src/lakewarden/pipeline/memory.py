"""Memory use of a job, including the processes it started: Spark's Java, Python workers."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_PAUSE: Final = 0.5
_KIB: Final = 1024


_LIMITS: Final = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
"""Where a container finds its memory limit; a number, or a word for no limit."""


def machine_bytes() -> int:
    """The memory of this machine, or of this container."""
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for place in _LIMITS:
        with suppress(OSError, ValueError):
            most = min(most, int(place.read_text("ascii")))
    return most


class Peak:
    """The peak seen so far. `bytes` counts shared memory once per process; 0: unknown."""

    def __init__(self) -> None:
        self.bytes = 0

    def measure(self) -> None:
        """Measures what this process and all its descendants use right now."""
        self.bytes = max(self.bytes, sum(map(_resident, _below(os.getpid()))))


@contextmanager
def peak() -> Iterator[Peak]:
    """Measures every half second while the block runs. Without /proc, nothing is measured."""
    measured, over = Peak(), threading.Event()

    def watch() -> None:
        while not over.wait(_PAUSE):
            measured.measure()

    watching = threading.Thread(target=watch, name="memory", daemon=True)
    watching.start()
    try:
        yield measured
    finally:
        over.set()
        watching.join()
        measured.measure()


def _below(root: int) -> list[int]:
    """The process and all its descendants."""
    members: dict[int, list[int]] = {}
    for folder in _PROC.glob("[0-9]*"):
        parent = _field(folder / "status", "PPid:")
        if parent is not None:
            members.setdefault(parent, []).append(int(folder.name))
    descendants = [root]
    for process in descendants:
        descendants += members.get(process, ())
    return descendants


def _resident(process: int) -> int:
    return (_field(_PROC / str(process) / "status", "VmRSS:") or 0) * _KIB


def _field(file: Path, name: str) -> int | None:
    try:
        for line in file.read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1])
    except (OSError, ValueError):  # the process has ended
        pass
    return None
