"""The administration API as a dialect of the server."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import msgspec

from lakewarden.http.admin import (
    audit,
    cross_realm,
    decisions,
    entities,
    finding,
    insight,
    links,
    lint,
    loading,
    lookups,
    openapi,
    people,
    playground,
    plugins,
    policy,
    preview,
    problem,
    questions,
    realms,
    server,
    sessions,
    statements,
    targets,
    tokens,
)
from lakewarden.http.admin.endpoint import Endpoint
from lakewarden.http.exchange import Exchange, Reply, Route

ENDPOINTS: Sequence[Endpoint] = (
    *realms.ENDPOINTS,
    *people.ENDPOINTS,
    *tokens.ENDPOINTS,
    *sessions.ENDPOINTS,
    *statements.ENDPOINTS,
    *lookups.ENDPOINTS,
    *entities.ENDPOINTS,
    *finding.ENDPOINTS,
    *questions.ENDPOINTS,
    *decisions.ENDPOINTS,
    *plugins.ENDPOINTS,
    *insight.ENDPOINTS,
    *links.ENDPOINTS,
    *cross_realm.ENDPOINTS,
    *audit.ENDPOINTS,
    *loading.ENDPOINTS,
    *policy.ENDPOINTS,
    *preview.ENDPOINTS,
    *lint.ENDPOINTS,
    *targets.ENDPOINTS,
    *playground.ENDPOINTS,
    *server.ENDPOINTS,
)
"""All endpoints."""


class Admin:
    """`/api/v1` and its OpenAPI description, for all realms."""

    name = "admin"
    models: tuple[str, ...] = ()
    anonymous: str | None = None

    def __init__(self, version: str = "") -> None:
        self._description = _described(version or _version())

    def routes(self) -> Sequence[Route]:
        description = Route(
            "GET", "/openapi.json", "server.about", self._describe, inline=True, public=True
        )
        return (*(endpoint.route() for endpoint in ENDPOINTS), description)

    def _describe(self, exchange: Exchange) -> Reply:
        return Reply(200, self._description)

    def failed(self, exchange: Exchange | None, error: Exception) -> Reply:
        return problem.failed(exchange, error)

    def unauthenticated(self, why: str) -> Reply:
        return problem.unauthenticated(why)

    def missing(self, method: str, path: str, allowed: Sequence[str]) -> Reply:
        return problem.missing(method, path, allowed)


# COST: this takes longer than everything else in the creation of an application.
@cache
def _described(version: str) -> bytes:
    return msgspec.json.encode(openapi.document(ENDPOINTS, version))


def _version() -> str:
    from importlib.metadata import version

    return version("lakewarden")
