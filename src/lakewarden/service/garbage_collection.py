"""Pauses the garbage collector while millions of rows are loaded.

Loaded rows are no garbage, yet the collector would traverse them repeatedly: a third of the time.
Rows that remain afterwards are frozen, so no request waits for another traversal.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

MANY: Final = 100_000
"""From this many new remaining objects on, they are frozen."""

_lock = threading.Lock()
_inside = 0
_was_enabled = False


@contextmanager
def collection_paused() -> Iterator[None]:
    """Disables the collector; it is enabled again when the last of all threads leaves."""
    global _inside, _was_enabled  # noqa: PLW0603 — the process has one collector
    with _lock:
        if not _inside:
            _was_enabled = gc.isenabled()
            gc.disable()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside and _was_enabled:
                if gc.get_count()[0] > MANY:
                    gc.freeze()
                gc.enable()
