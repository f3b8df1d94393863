"""The memory of this process."""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
from contextlib import suppress
from pathlib import Path


def resident_mib() -> float:
    """Resident memory in MiB, after garbage collection and the return of free pages.

    Where the system does not report the current value: the peak so far.
    """
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    pages = Path("/proc/self/statm")
    if pages.exists():
        return int(pages.read_text().split()[1]) * resource.getpagesize() / 2**20
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
