"""How much freed memory the C heap of a process retains, under glibc."""

from __future__ import annotations

import ctypes
import os
from typing import Final

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8
"""The parameters of `mallopt`, numbered as in malloc.h."""
_BLOCK_BYTES: Final = 1 << 20
_WANTED: Final = (
    (_MMAP_THRESHOLD, _BLOCK_BYTES),
    (_TRIM_THRESHOLD, _BLOCK_BYTES),
    (_ARENA_MAX, 2),
)


def return_freed_blocks() -> bool:
    """Has blocks from 1 MiB on mapped separately, and unmapped once they are freed.

    By default glibc raises this threshold, up to 32 MiB, according to the blocks that it sees
    freed. Each write frees large blocks between small ones that stay, so the heap of a worker grew
    for hours, and half of it was free. A threshold of 128 KiB would double the processor time of
    writes; 1 MiB adds a tenth.

    Returns whether it did: not with another C library or if the environment sets its own values.
    """
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    if "glibc.malloc" in tunables or any(name.startswith("MALLOC_") for name in os.environ):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return all(mallopt(parameter, value) == 1 for parameter, value in _WANTED)
