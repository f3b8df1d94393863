"""Apache Gravitino's REST API, over the decision service.

Each module owns one kind of object and lists its routes with the operations that guard them. Only
`authorization` decides whether a handler may act. Metadata is stored here: no external system is
contacted for a catalog unless its host is on the configured list.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import wraps
from typing import Final

from lakewarden.http.exchange import Exchange, Handler, Reply, Route
from lakewarden.service.actor import ANONYMOUS
from lakewarden.systems.gravitino.http import (
    catalogs,
    credentials,
    filesets,
    functions,
    groups,
    jobs,
    metalakes,
    models,
    object_roles,
    owners,
    partitions,
    permissions,
    policies,
    roles,
    schemas,
    server,
    statistics,
    tables,
    tags,
    topics,
    users,
    views,
)
from lakewarden.systems.gravitino.http.errors import (
    ILLEGAL_ARGUMENTS,
    NOT_FOUND,
    UNSUPPORTED,
    Failure,
    error_body,
    failure_of,
    unauthorized,
    unsupported,
)
from lakewarden.systems.gravitino.settings import GravitinoSettings as Settings

_MODULES: Final = (
    server,
    metalakes,
    catalogs,
    schemas,
    tables,
    partitions,
    statistics,
    topics,
    filesets,
    models,
    views,
    functions,
    credentials,
    users,
    groups,
    roles,
    permissions,
    owners,
    object_roles,
    tags,
    policies,
    jobs,
)

_VERSION: Final = "1"
_VERSIONED: Final = re.compile(r"application/vnd\.gravitino\.v(\d+)\+json", re.IGNORECASE)

_PEOPLE: Final = (users, groups, roles, permissions, owners, object_roles)
"""The modules that are only available while authorization is on."""


class Gravitino:
    """The dialect: its routes and its error responses."""

    name = "gravitino"
    models: tuple[str, ...] = ("gravitino",)
    anonymous: str | None = ANONYMOUS

    def __init__(self, settings: Settings | None = None) -> None:
        """The routes are the same for all settings."""

    def routes(self) -> Sequence[Route]:
        """All routes; names in paths may contain slashes, which clients send encoded."""
        return tuple(
            replace(
                route,
                encoded_slash="{" in route.path,
                handler=_served(_switched(route.handler) if module in _PEOPLE else route.handler),
            )
            for module in _MODULES
            for route in module.ROUTES
        )

    def failed(self, exchange: Exchange | None, error: Exception) -> Reply:
        """The reply for an error."""
        return _reply(failure_of(error))

    def unauthenticated(self, why: str) -> Reply:
        """401, for missing or wrong credentials."""
        return _reply(unauthorized(why))

    def missing(self, method: str, path: str, allowed: Sequence[str]) -> Reply:
        """404 for a path that does not exist, 405 for a method that the path does not support."""
        if allowed:
            text = f"{method} is not served here; expected one of: {', '.join(allowed)}"
            return _reply(Failure(405, UNSUPPORTED, "UnsupportedOperationException", text))
        return _reply(Failure(404, NOT_FOUND, "NotFoundException", "there is nothing at this path"))


def _served(handler: Handler) -> Handler:
    """The handler; it answers 406 to clients that accept only another version of the API.

    SOURCE: gravitino reference 4.1.
    """

    @wraps(handler)
    def serve(exchange: Exchange) -> Reply:
        version = _VERSIONED.search(exchange.headers.get("accept", ""))
        if version is not None and version[1] != _VERSION:
            raise Failure(406, ILLEGAL_ARGUMENTS, "IllegalArgumentException", "unsupported version")
        return handler(exchange)

    return serve


def _switched(handler: Handler) -> Handler:
    """The handler; it answers 405 if authorization is off.

    SOURCE: gravitino reference 2.1.
    """

    @wraps(handler)
    def serve(exchange: Exchange) -> Reply:
        if not exchange.services.of(Settings).enable:
            raise unsupported(
                "users, roles and owners need `gravitino.authorization.enable = true`"
            )
        return handler(exchange)

    return serve


def _reply(failure: Failure) -> Reply:
    return Reply(failure.status, error_body(failure))
