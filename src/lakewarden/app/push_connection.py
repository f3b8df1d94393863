"""Connections to the targets of a push; the client of a database is loaded on first use."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from lakewarden.kernel.errors import not_installed
from lakewarden.service.push_target import RANGER

if TYPE_CHECKING:
    from lakewarden.service.push import Reads, TargetSession
    from lakewarden.service.push_lock import StoreLock
    from lakewarden.service.push_target import PushTarget


def connect_target(
    target: PushTarget, url: str, store: str, reading: Reads, lock: StoreLock
) -> AbstractContextManager[TargetSession[Any]]:
    """A session with a target; `reading` reads the store of the realm, `store` is its id.

    The `lock` serves targets without a lock of their own.

    Raises `Unavailable`, also if the client of the database is missing.
    """
    try:
        if target.kind == RANGER:
            from lakewarden.pushdown.ranger.session import session as ranger_session

            return ranger_session(target, url, store, reading, lock)
        from lakewarden.pushdown.push import session
    except ImportError as error:
        raise not_installed(str(error.name), "sql") from None
    return session(target, url, store)
