"""Errors in CDAP's format: a status and a text.

Handlers raise `Failure`, made by a function of this module, or let an error of the lower layers
propagate. `failure_of` turns either into the response. The body is plain text, except for 401,
which is JSON. Any unforeseen error is a 500 without details.
SOURCE: cdap reference 4.1 and 4.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

import msgspec

from lakewarden.http.exchange import Refused, Reply
from lakewarden.kernel.entity import Entity
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
from lakewarden.systems.cdap import names as cdap

TEXT: Final = "text/plain; charset=utf-8"

NO_CREDENTIALS: Final = "credentials are required"
"""The server's message for a request without credentials."""


class Failure(WardenError):
    """An error response: HTTP status and text."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Denied(Failure):
    """A 403 that no privilege would change: the operation and the entity, for the audit trail."""

    def __init__(self, message: str, operation: str, entity: Entity) -> None:
        super().__init__(403, message)
        self.operation = operation
        self.entity = entity


def bad(message: str) -> Failure:
    """400."""
    return Failure(400, message)


def forbidden(message: str) -> Failure:
    """403."""
    return Failure(403, message)


def not_found(named: Entity | str) -> Failure:
    """404, for an entity, or for the id of something that is not an entity.

    >>> not_found(Entity("dataset", "sales.t1")).message
    "'dataset:sales.t1' was not found."
    """
    return Failure(404, f"'{_id(named)}' was not found.")


def exists(named: Entity | str) -> Failure:
    """409: the object to create already exists."""
    return Failure(409, f"'{_id(named)}' already exists.")


def conflict(message: str) -> Failure:
    """409, for any other reason."""
    return Failure(409, message)


def not_enabled(feature: str, key: str) -> Failure:
    """501: a switch is off."""
    return Failure(
        501,
        f"Feature '{feature}' is not enabled. Please set '{key}' to 'true' in the"
        " 'cdap-site.xml' to enable this feature.",
    )


def _id(named: Entity | str) -> str:
    return named if isinstance(named, str) else cdap.format_id(named)


def failure_of(error: Exception) -> Failure:
    """The failure that answers an error of any layer."""
    match error:
        case Failure():
            return error
        case Refused(status=status):
            return Failure(status, str(error))
        case BadInput() | Unknown() | LimitExceeded():
            return bad(str(error))
        case StaleRevision() | Conflict():
            return Failure(409, str(error))
        case Unavailable(public=public):
            return Failure(503, public)
        case StaleSnapshot():
            return Failure(503, Unavailable.public)
        case _:
            return Failure(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error")


def reply_of(failure: Failure) -> Reply:
    """The text response of the failure."""
    return Reply(failure.status, failure.message.encode(), TEXT)


def unauthorized(why: str, announced: Sequence[str]) -> Reply:
    """401: where to get tokens, and why the received one is not valid.

    SOURCE: cdap reference 4.1.
    """
    body: dict[str, object] = {"auth_uri": list(announced)}
    challenge = 'Bearer realm="cdap"'
    if why != NO_CREDENTIALS:
        error = {"error": "invalid_token", "error_description": why}
        body |= error
        attributes = ", ".join(f'{key}="{_in_quotes(value)}"' for key, value in error.items())
        challenge = f"{challenge}, {attributes}"
    return Reply(401, msgspec.json.encode(body), headers={"WWW-Authenticate": challenge})


def _in_quotes(text: str) -> str:
    """The text as a quoted string in a header."""
    plain = text.encode("ascii", "replace").decode("ascii")
    return plain.replace("\\", "'").replace('"', "'")
