"""Errors in AuthZEN's format: a status, and a JSON string as the body.

A denial is an answer with the status 200; these statuses are about the call itself. A wrong
content type is 400 here, not 415. Source: openid/authzen, api/authorization-api-1_0.md,
error responses, and its certification scenario.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

import msgspec

from lakewarden.http.exchange import Refused, Reply
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

RETRY_SECONDS: Final = "1"


class Forbidden(WardenError):
    """The caller may not ask this question."""


_STATUSES: Final[tuple[tuple[type[WardenError], HTTPStatus], ...]] = (
    (BadInput, HTTPStatus.BAD_REQUEST),
    (LimitExceeded, HTTPStatus.BAD_REQUEST),
    (Forbidden, HTTPStatus.FORBIDDEN),
    (Unknown, HTTPStatus.NOT_FOUND),
    (Conflict, HTTPStatus.CONFLICT),
    (StaleRevision, HTTPStatus.CONFLICT),
    (StaleSnapshot, HTTPStatus.SERVICE_UNAVAILABLE),
    (Unavailable, HTTPStatus.SERVICE_UNAVAILABLE),
)


def status_of(error: Exception) -> HTTPStatus:
    """The status of an error of the lower layers."""
    if isinstance(error, Refused):
        unsupported = error.status == HTTPStatus.UNSUPPORTED_MEDIA_TYPE
        return HTTPStatus.BAD_REQUEST if unsupported else HTTPStatus(error.status)
    for kind, status in _STATUSES:
        if isinstance(error, kind):
            return status
    return HTTPStatus.INTERNAL_SERVER_ERROR


def message_of(error: Exception) -> str:
    """The message for the caller; without details for an internal error."""
    return str(error) if isinstance(error, WardenError) else "internal error"


def reply_of(error: Exception) -> Reply:
    """The reply to a call that failed."""
    status = status_of(error)
    unavailable = status is HTTPStatus.SERVICE_UNAVAILABLE
    headers = {"Retry-After": RETRY_SECONDS} if unavailable else {}
    return Reply(int(status), msgspec.json.encode(message_of(error)), headers=headers)
