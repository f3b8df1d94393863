"""What libraries say of a full disk, far behind the first line of their errors."""

from __future__ import annotations

import re
from typing import Final

from lakewarden.kernel.errors import MAKE_ROOM

_FULL: Final = re.compile("No space left on device|Disk quota exceeded|File too large")


def of_full_disk(text: str) -> str:
    """That a disk is full, and what to do, if an error says so; else nothing.

    >>> of_full_disk("IO Error: Could not write file: No space left on device")
    'no space left on device; make room and run the command again'
    """
    found = _FULL.search(text)
    return "" if found is None else f"{found[0].lower()}; {MAKE_ROOM}"
