"""The server itself: whether it answers, and its release.

SOURCE: cdap reference 4; cdapio/cdap, PingHandler and VersionHandler at v5.1.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.systems.cdap.http.bodies import ok, text_reply
from lakewarden.systems.cdap.settings import CdapSettings


def ping(exchange: Exchange) -> Reply:  # noqa: ARG001 — the same for everybody
    """Shows that the server answers."""
    return text_reply("OK.\n")


def version(exchange: Exchange) -> Reply:
    """The release that the server reports."""
    return ok({"version": exchange.services.of(CdapSettings).version})


_WHY: Final = "tells nothing of what is stored"

ROUTES: Final[Sequence[Route]] = (
    Route("GET", "/ping", "", ping, inline=True, public=True, why=_WHY),
    Route("GET", "/v3/ping", "", ping, inline=True, public=True, why=_WHY),
    Route("GET", "/v3/version", "", version, inline=True, why=_WHY),
)
