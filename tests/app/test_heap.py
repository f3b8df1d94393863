"""A worker's freed memory returns to the system, regardless of earlier frees."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

MAPPED = """
import ctypes
from lakewarden.app.heap import return_freed_blocks


class Info(ctypes.Structure):
    _fields_ = [(f"field_{number}", ctypes.c_size_t) for number in range(10)]


libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Info
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = libc.free.argtypes = [ctypes.c_size_t]


def mapped(size):
    before = libc.mallinfo2().field_4
    block = libc.malloc(size)
    during = libc.mallinfo2().field_4
    libc.free(block)
    return during - before >= size and libc.mallinfo2().field_4 == before


print(return_freed_blocks(), *[mapped(mib << 20) for mib in (16, 2, 16, 4)])
"""
"""Whether blocks are mapped separately after larger ones were freed (field 4: bytes mapped)."""


def _said(**environment: str) -> list[str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    ran = subprocess.run(
        [sys.executable, "-c", MAPPED],
        env=own | environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return ran.stdout.split()


glibc = pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="another C library than glibc 2.33"
)


@glibc
def test_large_blocks_are_returned_after_larger_ones() -> None:
    assert _said() == ["True"] * 5


@glibc
def test_settings_of_the_environment_stay() -> None:
    assert _said(MALLOC_TRIM_THRESHOLD_="134217728")[0] == "False"
    assert _said(GLIBC_TUNABLES="glibc.malloc.mmap_max=7")[0] == "False"
