"""Detects a full disk in errors of libraries, which mention it far after the first line."""

from __future__ import annotations

import re
from typing import Final

from lakewarden.kernel.errors import MAKE_ROOM

_FULL: Final = re.compile("No space left on device|Disk quota exceeded|File too large")


def of_full_disk(text: str) -> str:
    """A message that the disk is full, and what to do, if the error says so; else empty.

    >>> of_full_disk("IO Error: Could not write file: No space left on device")
    'no space left on device; make room and run the command again'
    """
    found = _FULL.search(text)
    return "" if found is None else f"{found[0].lower()}; {MAKE_ROOM}"
