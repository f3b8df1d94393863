"""Engines on this machine that send no credentials, if the settings allow it.

Any account on the machine can do this, and so can any process that forwards requests to it.
Therefore a forwarded request does not count as local, and neither does a request under another name
of the server, which a web page could have chosen.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Final

from lakewarden.authn.header import Credentials, Local, Nothing
from lakewarden.config.settings import LOOPBACK_HOSTS

_FORWARDED: Final = frozenset(
    {
        *("forwarded", "via", "x-real-ip"),
        *("x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"),
    }
)


def credentials(
    presented: Credentials, user: str | None, peer: str, headers: Mapping[str, str]
) -> Credentials:
    """The credentials of an engine's request; without any, the configured user if it is local."""
    if user is None or not isinstance(presented, Nothing) or not _is_local(peer, headers):
        return presented
    return Local(user)


def _is_local(peer: str, headers: Mapping[str, str]) -> bool:
    """Whether a request comes from this machine, addressed by one of its own names.

    >>> _is_local("127.0.0.1", {"host": "localhost:8787"})
    True
    >>> _is_local("127.0.0.1", {"host": "localhost", "x-forwarded-for": "1.1.1.1"})
    False
    """
    try:
        if not ipaddress.ip_address(peer).is_loopback:
            return False
    except ValueError:
        return False
    host = headers.get("host", "")
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return name.lower() in LOOPBACK_HOSTS and _FORWARDED.isdisjoint(headers)
