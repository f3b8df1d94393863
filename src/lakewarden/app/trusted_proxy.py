"""Proxies that may name the caller in a header.

This applies to dialects whose contract has such a header, and only to requests that come directly
from one of the configured networks; from anywhere else the header is ignored. Readable credentials
of the caller take precedence.
SOURCE: security reference, R-53.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lakewarden.app.client_address import Network, is_among
from lakewarden.authn.header import Credentials, Nothing, ProxyUser, Unreadable
from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import MAX_USER_CHARACTERS, check_text


@dataclass(frozen=True, slots=True)
class TrustedProxy:
    """The header name, in lower case, and the proxies that may send it."""

    header: str
    proxies: tuple[Network, ...]

    def credentials(
        self, presented: Credentials, headers: Mapping[str, str], peer: str
    ) -> Credentials:
        """The effective credentials: the user that a proxy names, or the credentials sent."""
        user = headers.get(self.header)
        if user is None or not is_among(peer, self.proxies):
            return presented
        if not isinstance(presented, (Nothing, Unreadable)):
            return presented
        if isinstance(presented, Unreadable) and presented.doubled:
            return presented
        return _read(user)


def _read(user: str) -> Credentials:
    try:
        check_text(user, "the user name")
    except BadInput as error:
        return Unreadable(str(error))
    if not user or len(user) > MAX_USER_CHARACTERS:
        return Unreadable("the user name is empty or too long")
    return ProxyUser(user)
