"""Errors in DataHub's GraphQL form: an entry of `errors`, mostly with status 200.

Resolvers raise `Failure`, made by a function of this module, or let an error of the lower layers
propagate. Any other error is an entry without details. SOURCE: datahub reference 6.1.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from graphql import GraphQLError, GraphQLSyntaxError

from lakewarden.http.exchange import Refused
from lakewarden.kernel.errors import (
    BadInput,
    Conflict,
    LimitExceeded,
    StaleSnapshot,
    Unavailable,
    Unknown,
    WardenError,
)
from lakewarden.service.decision_service import StaleRevision
from lakewarden.systems.datahub.use_cases.aspect_guard import NotAllowed

TYPES: Final = {
    400: "BAD_REQUEST",
    401: "UNAUTHENTICATED",
    403: "UNAUTHORIZED",
    404: "NOT_FOUND",
    409: "CONFLICT",
    500: "SERVER_ERROR",
    503: "SERVICE_UNAVAILABLE",
}
"""The word for each code."""

RESOLVING: Final = "DataFetchingException"
INVALID: Final = "ValidationError"
SYNTAX: Final = "InvalidSyntax"

_LOG: Final = logging.getLogger(__name__)
_INTERNAL: Final = "internal error"


class Failure(WardenError):
    """An entry of `errors`: its code, one of `TYPES`, and its message."""

    def __init__(self, code: int, message: str, classification: str = RESOLVING) -> None:
        super().__init__(message)
        self.code = code
        self.classification = classification


def bad(message: str) -> Failure:
    """400: an argument is invalid."""
    return Failure(400, message)


def invalid(message: str) -> Failure:
    """400: the request cannot be executed."""
    return Failure(400, message, INVALID)


def forbidden(operation: str) -> Failure:
    """403: the caller lacks the privilege."""
    return Failure(403, f"not authorized to perform `{operation}`")


def missing(urn: str) -> Failure:
    """404: the entity does not exist."""
    return Failure(404, f"`{urn}` does not exist")


def failure_of(error: Exception) -> Failure:
    """The failure for an error of any layer."""
    match error:
        case Failure():
            return error
        case NotAllowed():
            return Failure(403, str(error))
        case BadInput() | Unknown() | LimitExceeded():
            return bad(str(error))
        case Refused(status=status):
            return Failure(503 if status >= 500 else 400, str(error))
        case Conflict() | StaleRevision():
            return Failure(409, str(error))
        case Unavailable(public=public):
            return Failure(503, public)
        case StaleSnapshot():
            return Failure(503, Unavailable.public)
        case _:
            _LOG.error("unexpected error in GraphQL", exc_info=error)
            return Failure(500, _INTERNAL)


def entry(error: GraphQLError | Failure) -> dict[str, Any]:
    """The entry of an error."""
    if isinstance(error, Failure):
        return {"message": str(error), "extensions": _extensions(error)}
    failure = _failure_in(error)
    entry: dict[str, Any] = {"message": str(failure)}
    if error.locations:
        entry["locations"] = [{"line": at.line, "column": at.column} for at in error.locations]
    if error.path is not None:
        entry["path"] = list(error.path)
    return {**entry, "extensions": _extensions(failure)}


def _failure_in(error: GraphQLError) -> Failure:
    """The failure that the executor wrapped; its own errors are about the request."""
    cause = error.original_error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    if cause is not None:
        return failure_of(cause)
    classification = SYNTAX if isinstance(error, GraphQLSyntaxError) else INVALID
    return Failure(400, error.message, classification)


def _extensions(failure: Failure) -> dict[str, Any]:
    return {
        "code": failure.code,
        "type": TYPES[failure.code],
        "classification": failure.classification,
    }
