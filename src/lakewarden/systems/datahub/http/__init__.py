"""DataHub's APIs, over the decision service.

Rest.li (`aspect_calls`, `entities`), the newer interface (`openapi`, `logical`) and GraphQL, each
also below `/api/gms`, the prefix for clients that are configured with a frontend.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.systems.datahub.http import (
    aspect_calls,
    entities,
    frontend,
    logical,
    openapi,
    openapi_v2,
    relationships,
    scrolling,
    server,
    system_calls,
    timeline,
    timeseries,
    usage_stats,
)
from lakewarden.systems.datahub.http.errors import Failure, error_body, failure_of
from lakewarden.systems.datahub.http.graphql.routes import routes as graphql_routes
from lakewarden.systems.datahub.http.session import with_account_check
from lakewarden.systems.datahub.settings import DataHubSettings as Settings

BELOW: Final = "/api/gms"
"""The prefix under which a frontend serves all routes a second time."""

GUESSED: Final = "/api"
"""Where a client with an address below `BELOW` expects the frontend's own calls."""

_MODULES: Final = (
    *(server, aspect_calls, entities, openapi, scrolling, logical, timeseries, usage_stats),
    *(relationships, timeline, openapi_v2, system_calls, frontend),
)

_OF_SERVER: Final = ("/health",)
"""Paths that the server answers by itself, for all dialects."""


class DataHub:
    """The dialect: its routes and its error replies."""

    name = "datahub"
    models: tuple[str, ...] = ("datahub",)
    anonymous: str | None = None

    def __init__(self, settings: Settings | None = None) -> None:
        """The routes do not depend on the settings."""

    def routes(self) -> Sequence[Route]:
        """All routes, each of them twice."""
        return tuple(_routes())

    def failed(self, exchange: Exchange | None, error: Exception) -> Reply:
        """The reply to an error."""
        return _reply(failure_of(error))

    def unauthenticated(self, why: str) -> Reply:
        """401, for missing or wrong credentials."""
        return _reply(Failure(401, why))

    def missing(self, method: str, path: str, allowed: Sequence[str]) -> Reply:
        """404 for a path that does not exist, 405 for a method that the path does not support."""
        if allowed:
            text = f"{method} is not served here; expected one of: {', '.join(allowed)}"
            return _reply(Failure(405, text))
        return _reply(Failure(404, "there is nothing at this path"))


def _routes() -> Iterator[Route]:
    for own in (routes for module in _MODULES for routes in module.ROUTES):
        # An inline route gives all callers the same reply; a public one does its own checks.
        is_open = own.inline or own.public
        route = own if is_open else replace(own, handler=with_account_check(own.handler))
        if route.path not in _OF_SERVER:
            yield route
        yield replace(route, path=f"{BELOW}{route.path}")
        if own in frontend.ROUTES:
            yield replace(route, path=f"{GUESSED}{route.path}")
    yield from graphql_routes()


def _reply(failure: Failure) -> Reply:
    return Reply(failure.status, error_body(failure))
