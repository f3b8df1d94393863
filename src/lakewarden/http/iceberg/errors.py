"""Refusals in the form of the Iceberg REST protocol: a message, a type and a code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from lakewarden.http.exchange import Reply
from lakewarden.kernel.errors import WardenError

BAD_REQUEST: Final = "BadRequestException"
FORBIDDEN: Final = "ForbiddenException"

_TYPES: Final[Mapping[int, str]] = {
    400: BAD_REQUEST,
    401: "NotAuthorizedException",
    403: FORBIDDEN,
    404: "NoSuchEndpointException",
    405: "UnsupportedOperationException",
    429: "TooManyRequestsException",
    502: "BadGatewayException",
    503: "ServiceUnavailableException",
    504: "GatewayTimeoutException",
}
_CLIENT_FAULT: Final = range(400, 500)


class IcebergError(WardenError):
    """A refusal of the guard, or of the catalog behind it."""

    def __init__(self, status: int, message: str, type: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.type = type or type_of(status)


def type_of(status: int) -> str:
    """The protocol's error type for a status.

    >>> type_of(403), type_of(413), type_of(500)
    ('ForbiddenException', 'BadRequestException', 'InternalServerError')
    """
    fallback = BAD_REQUEST if status in _CLIENT_FAULT else "InternalServerError"
    return _TYPES.get(status, fallback)


def error_reply(status: int, message: str, type: str = "") -> Reply:
    """The reply for an error."""
    error = {"message": message, "type": type or type_of(status), "code": status}
    return Reply(status, msgspec.json.encode({"error": error}))
