"""What the C heap of a process keeps of memory that was freed, under glibc."""

from __future__ import annotations

import ctypes
import os
from typing import Final

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8
"""The parameters of `mallopt`, as malloc.h numbers them."""
_BLOCK_BYTES: Final = 1 << 20
_WANTED: Final = (
    (_MMAP_THRESHOLD, _BLOCK_BYTES),
    (_TRIM_THRESHOLD, _BLOCK_BYTES),
    (_ARENA_MAX, 2),
)


def return_freed_blocks() -> bool:
    """Has blocks of 1 MiB and more mapped on their own and returned once they are freed.

    By itself glibc raises that size to up to 32 MiB, by the blocks that it sees freed. Each write
    frees large blocks between small ones that stay, so the heap of a worker grew for hours, and
    half of it was free. Blocks from 128 KiB on would cost writes twice the processor time; those
    from 1 MiB on cost a tenth.

    Whether it did: not with another C library, nor where the environment has settings of its own.
    """
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    if "glibc.malloc" in tunables or any(name.startswith("MALLOC_") for name in os.environ):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return all(mallopt(parameter, value) == 1 for parameter, value in _WANTED)
