"""Pauses the garbage collector while millions of rows are loaded.

What is taken in is no garbage, yet the collector would walk it over and over: a third of the
time. What is kept of it afterwards is frozen, so that no request waits for one more walk.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

MANY: Final = 100_000
"""From so many objects on that came and stayed, they are frozen."""

_lock = threading.Lock()
_inside = 0
_was_enabled = False


@contextmanager
def collection_paused() -> Iterator[None]:
    """Without the collector; it comes back when the last of all threads is through."""
    global _inside, _was_enabled  # noqa: PLW0603 — the collector is one for the process
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
