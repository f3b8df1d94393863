"""Child processes that start quickly: forked from a process with the modules already imported.

A fresh process imports for more than a second. Each process of the test run has only one fork
server, and the first child fixes its imports: so all preloaded modules are listed here.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing.context import ForkServerContext
from typing import Final

_PRELOADED: Final = (
    "pytest",
    "tests.app.preloaded",
    "tests.reliability.acts",
    "tests.reliability.linearizable",
    "tests.reliability.whole",
)


def context() -> ForkServerContext:
    """A context that starts processes with the modules already imported."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload([*_PRELOADED])
    return found
