"""Errors in the form of DataHub's REST interface: a status, an exception's name, a message.

Stack traces are never included. SOURCE: datahub reference 6.9 and 7.3.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

import msgspec

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
from lakewarden.systems.datahub.use_cases.aspect_version import VersionMismatch

REST: Final = "com.linkedin.restli.server.RestLiServiceException"
"""The exception of nearly every error reply of the original."""


class Failure(WardenError):
    """An error reply."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def forbidden(message: str) -> Failure:
    """403."""
    return Failure(HTTPStatus.FORBIDDEN, message)


def not_found(subject: str) -> Failure:
    """404."""
    return Failure(HTTPStatus.NOT_FOUND, f"{subject} does not exist")


def failure_of(error: Exception) -> Failure:
    """The failure for an error of any layer."""
    match error:
        case Failure():
            return error
        case NotAllowed():
            return forbidden(str(error))
        case VersionMismatch():
            return Failure(HTTPStatus.PRECONDITION_FAILED, str(error))
        case Refused(status=status):
            return Failure(status, str(error))
        case BadInput() | Unknown() | LimitExceeded():
            return Failure(HTTPStatus.BAD_REQUEST, str(error))
        case Conflict() | StaleRevision():
            return Failure(HTTPStatus.CONFLICT, str(error))
        case Unavailable(public=public):
            return Failure(HTTPStatus.SERVICE_UNAVAILABLE, public)
        case StaleSnapshot():
            return Failure(HTTPStatus.SERVICE_UNAVAILABLE, Unavailable.public)
        case _:
            return Failure(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error")


def error_body(failure: Failure) -> bytes:
    """The JSON of a failure."""
    body = {"exceptionClass": REST, "message": failure.message, "status": failure.status}
    return msgspec.json.encode(body)
