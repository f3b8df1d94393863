"""Processes that are forked from one that has imported what they need, so that they start quickly.

A process of its own imports for a second and more. Each process of the test run has one fork
server, for whatever starts the first child: so what is imported beforehand is listed here.
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
    """Starts processes with what they need imported already."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload([*_PRELOADED])
    return found
