"""Errors at addresses without a dialect: problem details (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus

import msgspec

from lakewarden.http.exchange import Exchange, Refused, Reply, Route
from lakewarden.kernel.errors import (
    BadInput,
    Conflict,
    LimitExceeded,
    Starting,
    Unavailable,
    Unknown,
)
from lakewarden.service.decision_service import StaleRevision

CONTENT_TYPE = "application/problem+json"

STARTING = "urn:lakewarden:problem:starting"
"""The problem type for a server that has not loaded its state yet."""

_STATUSES: Mapping[type[Exception], int] = {
    BadInput: 400,
    LimitExceeded: 400,
    Unknown: 404,
    Conflict: 409,
    StaleRevision: 409,
    Unavailable: 503,
}


class Problem:
    """The dialect of unknown paths: it has no routes and only returns errors."""

    name = "none"
    models: tuple[str, ...] = ()
    anonymous: str | None = None

    def routes(self) -> Sequence[Route]:
        return ()

    def failed(self, exchange: Exchange | None, error: Exception) -> Reply:
        if isinstance(error, Refused):
            return problem(error.status, str(error))
        if isinstance(error, Starting):
            return problem(503, str(error), STARTING)
        for kind, status in _STATUSES.items():
            if isinstance(error, kind):
                return problem(status, str(error))
        return problem(500, "internal error")

    def unauthenticated(self, why: str) -> Reply:
        reply = problem(401, why)
        reply.headers = {"www-authenticate": 'Bearer realm="lakewarden"'}
        return reply

    def missing(self, method: str, path: str, allowed: Sequence[str]) -> Reply:
        if not allowed:
            return problem(404, "this address does not exist")
        return problem(405, f"expected one of: {', '.join(allowed)}")


def problem(status: int, detail: str, type: str = "about:blank") -> Reply:
    """A response in the form of RFC 9457."""
    title = HTTPStatus(status).phrase
    body = {"type": type, "title": title, "status": status, "detail": detail}
    return Reply(status, msgspec.json.encode(body), CONTENT_TYPE)


PROBLEM = Problem()
