"""Proxies that may name the caller, in a header of their own.

For dialects whose contract has such a header, and only for requests that come straight from one
of the configured networks; from anywhere else the header is ignored. Readable credentials
of the caller come first.
SOURCE: security reference, R-53.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lakewarden.app.client_address import Network, is_among
from lakewarden.authn.header import Credentials, Nothing, Unreadable, Vouched
from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import MAX_USER_CHARACTERS, check_text


@dataclass(frozen=True, slots=True)
class TrustedProxy:
    """The header, in lower case, and the proxies that may send it."""

    header: str
    proxies: tuple[Network, ...]

    def credentials(
        self, presented: Credentials, headers: Mapping[str, str], peer: str
    ) -> Credentials:
        """What counts: the user that a proxy names, or what was sent."""
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
    return Vouched(user)
