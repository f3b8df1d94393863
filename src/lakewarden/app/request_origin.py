"""Checks the host name of a request and the page that sent it, before all other checks.

A web page can make its own name resolve to this machine (DNS rebinding). The browser then treats
the server as the page's own, and only `Host` reveals it. A page can also send some requests to a
foreign server without a preflight; then `Origin` and `Sec-Fetch-Site` reveal it. Programs send
neither, and are not affected.

Source: RFC 9110, 7.4 (421); RFC 9112, 3.2; security reference, R-57; `docs/security.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from lakewarden.app.client_address import is_address
from lakewarden.authn.origin import is_same_origin
from lakewarden.http.exchange import Refused

ANY: Final = "*"
"""In `allowed_hosts`: any name."""

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_HOST: Final = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{0,5})?")
_TOLD_CHARACTERS: Final = 80


class RequestOrigin:
    """Checks `Host`, `Origin` and `Sec-Fetch-Site`.

    `hosts` are names, each for any port unless it names one; empty: every name is accepted. With
    `addresses` every numeric address is accepted too: no name service controls those.
    """

    def __init__(
        self, hosts: Iterable[str] = (), public_url: str = "", *, addresses: bool = False
    ) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)
        self._public_url = public_url
        self._addresses = addresses

    def check(self, method: str, headers: Mapping[str, str]) -> None:
        """Raises `Refused`: 400 for a malformed `Host`, 421 for a foreign one, 403 for a page."""
        self.check_host(headers.get("host"))
        if method not in _SAFE and not is_same_origin(headers, self._public_url):
            raise Refused(403, "changes are not accepted from pages of other sites")

    def check_host(self, host: str | None) -> None:
        """Refuses a name that is not ours. A request without one is from an HTTP/1.0 program."""
        if host is None:
            return
        match = _HOST.fullmatch(host)
        if match is None:
            raise Refused(400, "the header `Host` is malformed")
        if not self._hosts or ANY in self._hosts:
            return
        name = match["name"].lower()
        if name in self._hosts or host.lower() in self._hosts:
            return
        if self._addresses and is_address(name.strip("[]")):
            return
        raise Refused(
            421,
            f"the host `{host[:_TOLD_CHARACTERS]}` is not accepted; the setting"
            " `allowed_hosts` lists the accepted host names",
        )
