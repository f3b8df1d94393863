"""Errors in our own API: problem details, after RFC 9457."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from lakewarden.http.admin.bodies.base import FieldError, MissingPrivilege, Problem
from lakewarden.http.exchange import Exchange, Refused, Reply
from lakewarden.http.sign_in import InvalidCredentials, TooManyAttempts
from lakewarden.kernel.errors import (
    BadInput,
    Conflict,
    LimitExceeded,
    StaleSnapshot,
    Starting,
    Unavailable,
    Unknown,
    WardenError,
)
from lakewarden.names.identities import entity_text
from lakewarden.service.control import Denied
from lakewarden.service.decision_service import StaleRevision

MEDIA_TYPE: Final = "application/problem+json"

_NAMED = frozenset(
    {
        *("realm", "entity", "statement", "directory", "person", "token", "lookup table"),
        *("decision", "target"),
    }
)
"""The kinds that a path names; any other unknown name is part of the question."""

_TITLES: Final = {
    400: ("bad-input", "the request is malformed"),
    401: ("unauthenticated", "the caller is not authenticated"),
    403: ("denied", "the caller is not authorized"),
    404: ("unknown", "not found"),
    405: ("no-such-method", "the path does not support this method"),
    409: ("conflict", "the request conflicts with stored data"),
    413: ("too-large", "the body is too large"),
    414: ("address-too-long", "the address is too long"),
    415: ("not-json", "the content type or encoding is not supported"),
    422: ("bad-input", "the request is malformed"),
    429: ("too-many", "too many requests"),
    431: ("headers-too-large", "the headers are too large"),
    500: ("internal", "the server failed"),
    503: ("unavailable", "the service is temporarily unavailable"),
}

_STARTING: Final = ("starting", "the server is starting")


def status_of(error: Exception) -> int:
    """The HTTP status of an error."""
    match error:
        case Refused(status=status):
            return status
        case InvalidCredentials():
            return 401
        case TooManyAttempts():
            return 429
        case Unknown(kind=kind) if kind in _NAMED:
            return 404
        case BadInput() | Unknown() | LimitExceeded():
            return 400
        case Conflict() | StaleRevision():
            return 409
        case Unavailable() | StaleSnapshot():
            return 503
        case WardenError():
            return 400
        case _:
            return 500


def failed(exchange: Exchange | None, error: Exception) -> Reply:
    """The problem response of an error; an internal error has no details."""
    status = status_of(error)
    if status == 500:
        return _reply(status, "internal error", exchange)
    faults = []
    if isinstance(error, BadInput):
        faults = [FieldError(path=error.where, message=error.message)]
    headers = {"Retry-After": "1"} if status == 503 else {}
    if isinstance(error, TooManyAttempts):
        headers = {"Retry-After": str(error.seconds)}
    title = _STARTING if isinstance(error, Starting) else None
    return _reply(status, str(error), exchange, headers, title, errors=faults)


def denied(exchange: Exchange, no: Denied) -> Reply:
    """A denial, with the missing grant and who can give it, as far as the caller may know."""
    lacking = None
    detail = f"`{exchange.actor.user}` may not {no.operation} on `{entity_text(no.object)}`"
    if no.missing:
        first = no.missing[0]
        lacking = MissingPrivilege(privilege=first.privilege, object=entity_text(first.object))
        detail += f"; it needs {first.privilege} on `{lacking.object}`"
    return _reply(
        403,
        detail,
        exchange,
        operation=no.operation,
        object=entity_text(no.object),
        missing=lacking,
        may_grant=list(no.may_grant),
    )


def unauthenticated(why: str) -> Reply:
    """The response to a request without valid credentials."""
    return _reply(401, why, None, {"WWW-Authenticate": "Bearer"})


def missing(method: str, path: str, allowed: Sequence[str]) -> Reply:
    """The response for an unknown path, or for an unsupported method."""
    if not allowed:
        return _reply(404, f"`{path}` does not exist", None)
    methods = ", ".join(allowed)
    detail = f"`{path}` does not support `{method}`; expected one of: {methods}"
    return _reply(405, detail, None, allow=list(allowed))


def _reply(
    status: int,
    detail: str,
    exchange: Exchange | None,
    headers: Mapping[str, str] | None = None,
    kind: tuple[str, str] | None = None,
    **extensions: object,
) -> Reply:
    kind_name, title = kind or _TITLES.get(status, ("refused", "the request was refused"))
    problem = Problem(
        type=f"urn:lakewarden:problem:{kind_name}",
        title=title,
        status=status,
        detail=detail,
        request_id="" if exchange is None else exchange.actor.request_id,
        **extensions,  # type: ignore[arg-type]  # by name, as declared
    )
    return Reply(status, msgspec.json.encode(problem), MEDIA_TYPE, headers or {})
