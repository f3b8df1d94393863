"""How many files, connections included, a process may have open."""

from __future__ import annotations

import resource
from contextlib import suppress
from typing import Final

OWN_FILES: Final = 128
"""Files beside connections within their bound: those in reserve, the store's, figures, the log."""


def raise_limit(connections: int) -> None:
    """Raises the soft limit as far as so many connections need and the hard one allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + OWN_FILES
    if hard != resource.RLIM_INFINITY:
        needed = min(needed, hard)
    if soft == resource.RLIM_INFINITY or needed <= soft:
        return
    with suppress(OSError, ValueError):  # a sandbox may forbid it: then fewer are taken
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def connections_within(limit: int) -> int:
    """So many of the connections as the soft limit has room for; at least one."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit if soft == resource.RLIM_INFINITY else max(1, min(limit, soft - OWN_FILES))
