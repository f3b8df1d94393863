"""Endpoints of the server itself: version, configuration, health, current user, lineage.

SOURCE: gravitino reference 3.1, 3.5, 4.3 and 5.1.
"""

from __future__ import annotations

from typing import Final

import msgspec

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.systems.gravitino.http.authorization import allow
from lakewarden.systems.gravitino.http.bodies import ok
from lakewarden.systems.gravitino.settings import GravitinoSettings

COMPILED: Final = "01/01/2026 00:00:00"
"""The compile date in the answer: nothing is compiled, but clients expect a text."""

COMMIT: Final = "0" * 40
"""The commit of the answer, likewise."""

AUTHENTICATORS: Final = {"simple": "simple", "oidc": "oauth", "token": "oauth"}
"""Gravitino's names for our authentication methods."""


def version(exchange: Exchange) -> Reply:
    """The release whose API is served; clients of later releases refuse to connect."""
    release = exchange.services.of(GravitinoSettings).version
    return ok(version={"version": release, "compileDate": COMPILED, "gitCommit": COMMIT})


def configs(exchange: Exchange) -> Reply:
    """The settings that Gravitino's console reads: a plain object, without a code."""
    services = exchange.services
    values = {
        "gravitino.authorization.enable": str(services.of(GravitinoSettings).enable).lower(),
        "gravitino.authenticators": [AUTHENTICATORS.get(services.auth, services.auth)],
    }
    return Reply(200, msgspec.json.encode(values))


def health(_exchange: Exchange) -> Reply:
    """Whether the server is healthy; a response is the proof."""
    return ok(status="UP")


def me(exchange: Exchange) -> Reply:
    """The name of the authenticated caller."""
    allow(exchange, "server.me")
    actor = exchange.actor
    groups = list(actor.groups) or None
    return ok(principal=actor.user, name=actor.user, groups=groups)


def lineage(exchange: Exchange) -> Reply:
    """Accepts a lineage event, and stores nothing of it."""
    allow(exchange, "lineage.send")
    exchange.json()
    return Reply(201, b"")


ROUTES: Final = (
    Route("GET", "/api/version", "server.version", version, inline=True, public=True),
    Route("GET", "/configs", "server.configs", configs, inline=True, public=True),
    Route("GET", "/api/health", "server.health", health, inline=True, public=True),
    Route("GET", "/api/health/live", "server.health", health, inline=True, public=True),
    Route("GET", "/api/health/ready", "server.health", health, inline=True, public=True),
    Route("GET", "/api/authn/me", "server.me", me),
    Route("POST", "/api/lineage", "lineage.send", lineage),
)
