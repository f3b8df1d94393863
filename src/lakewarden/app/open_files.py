"""The number of files, including connections, that a process may have open."""

from __future__ import annotations

import resource
from contextlib import suppress
from typing import Final

OWN_FILES: Final = 128
"""Files beyond the limited connections: reserve connections, the store, figures, the log."""


def raise_limit(connections: int) -> None:
    """Raises the soft limit to what so many connections need, within the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + OWN_FILES
    if hard != resource.RLIM_INFINITY:
        needed = min(needed, hard)
    if soft == resource.RLIM_INFINITY or needed <= soft:
        return
    with suppress(OSError, ValueError):  # a sandbox may forbid it: then fewer are accepted
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def connections_within(limit: int) -> int:
    """The number of connections, up to `limit`, that the soft limit allows; at least one."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit if soft == resource.RLIM_INFINITY else max(1, min(limit, soft - OWN_FILES))
