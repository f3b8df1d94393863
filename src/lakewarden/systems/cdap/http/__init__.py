"""CDAP's REST API, over the decision service.

Each module owns one kind of object and lists its routes with the operations that guard them. Only
`authorization` decides whether a handler may act. Both generations of CDAP's rules are served; the
model of a realm decides which one it follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import wraps
from typing import Final

from lakewarden.http.exchange import Exchange, Handler, Reply, Route
from lakewarden.systems.cdap.http import (
    applications,
    artifacts,
    batches,
    dataset_types,
    datasets,
    deploying,
    history,
    lineage,
    logs,
    metadata,
    metric_queries,
    metrics,
    namespaces,
    preferences,
    privileges,
    programs,
    roles,
    schedules,
    searching,
    secure_keys,
    server,
    stream_events,
    stream_views,
    streams,
    system_services,
)
from lakewarden.systems.cdap.http.bodies import JSON_TYPES
from lakewarden.systems.cdap.http.errors import (
    Failure,
    failure_of,
    not_enabled,
    reply_of,
    unauthorized,
)
from lakewarden.systems.cdap.settings import CdapSettings as Settings

_MODULES: Final = (
    server,
    privileges,
    roles,
    namespaces,
    preferences,
    secure_keys,
    artifacts,
    deploying,
    applications,
    programs,
    history,
    batches,
    schedules,
    streams,
    stream_events,
    stream_views,
    datasets,
    dataset_types,
    metadata,
    searching,
    lineage,
    logs,
    metrics,
    metric_queries,
    system_services,
)

_AUTHORIZATION: Final = (privileges, roles)
"""The modules that are only available while authorization is on."""


class Cdap:
    """The dialect: its routes and its error responses."""

    name = "cdap"
    models: tuple[str, ...] = ("cdap", "cdap_parent_write")
    anonymous: str | None = None

    def __init__(self, settings: Settings | None = None) -> None:
        self._token_urls = (settings or Settings()).security.announce_urls

    def routes(self) -> Sequence[Route]:
        """All routes; unless they say otherwise, their bodies are JSON."""
        return tuple(
            replace(
                route,
                accepts=route.accepts or JSON_TYPES,
                handler=_switched(route.handler) if module in _AUTHORIZATION else route.handler,
            )
            for module in _MODULES
            for route in module.ROUTES
        )

    def failed(self, exchange: Exchange | None, error: Exception) -> Reply:
        """The reply for an error."""
        return reply_of(failure_of(error))

    def unauthenticated(self, why: str) -> Reply:
        """401, for missing or wrong credentials."""
        return unauthorized(why, self._token_urls)

    def missing(self, method: str, path: str, allowed: Sequence[str]) -> Reply:
        """404 for a path that does not exist, 405 for a method that the path does not support."""
        if allowed:
            text = f"{method} is not served here; expected one of: {', '.join(allowed)}"
            return reply_of(Failure(405, text))
        return reply_of(Failure(404, "there is nothing at this path"))


def _switched(handler: Handler) -> Handler:
    """The handler; it answers 501 if a switch is off.

    SOURCE: cdap reference 4.2.
    """

    @wraps(handler)
    def serve(exchange: Exchange) -> Reply:
        options = exchange.services.of(Settings)
        if not options.security.enabled:
            raise not_enabled("authentication", "security.enabled")
        if not options.security.authorization.enabled:
            raise not_enabled("authorization", "security.authorization.enabled")
        return handler(exchange)

    return serve
