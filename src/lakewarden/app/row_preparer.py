"""Computes rows of the access matrix ahead, in a thread that yields the processor to requests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from threading import Event
from typing import Final
from weakref import WeakSet

from lakewarden.app import log
from lakewarden.kernel.matrix import Matrix
from lakewarden.service import row_preparation
from lakewarden.service.state import State

_PAUSE_SECONDS: Final = 0.0005
"""The pause after computing a row: about as long as computing one takes."""
_STEPS: Final = 64
"""Also pauses after this many rows that already exist."""
_PASS_SECONDS: Final = 2.0
"""Between two passes over rows that a change dropped; many changes then cost one pass."""


def start(newest: Callable[[], State], stop: Event) -> threading.Thread:
    """Starts the thread, which computes the missing rows after each change, until `stop` is set."""
    preparing = threading.Thread(target=_prepare, args=(newest, stop), name="rows", daemon=True)
    preparing.start()
    return preparing


def _prepare(newest: Callable[[], State], stop: Event) -> None:
    # Weak references, so a state lives no longer than it is used.
    prepared: WeakSet[Matrix] = WeakSet()
    while not stop.is_set():
        matrices = WeakSet(realm.matrix for realm in newest().realms.values())
        try:
            _prepare_once(newest, prepared, stop)
        except Exception as error:  # noqa: BLE001 — the server works without it
            log.get().warning("rows not precomputed", exc_info=error)
        prepared = matrices
        stop.wait(_PASS_SECONDS)


def _prepare_once(newest: Callable[[], State], prepared: WeakSet[Matrix], stop: Event) -> None:
    for count, step in enumerate(row_preparation.prepare_rows(newest, prepared)):
        if (step.is_new or not count % _STEPS) and stop.wait(_PAUSE_SECONDS):
            return
