"""Errors in Gravitino's format: a status, a code, and the simple name of an exception.

Handlers raise `Failure`, made by a function of this module, or let an error of the lower layers
propagate. `reply_of` turns either into the body that clients switch on (code first, then type).
Any other error is a 500 without details.
SOURCE: gravitino reference 4.4.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

import msgspec

from lakewarden.http.exchange import Refused
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
from lakewarden.names.canonical import quoted
from lakewarden.service.decision_service import StaleRevision
from lakewarden.systems.gravitino import names as gravitino

ILLEGAL_ARGUMENTS: Final = 1001
INTERNAL: Final = 1002
NOT_FOUND: Final = 1003
ALREADY_EXISTS: Final = 1004
NON_EMPTY: Final = 1005
UNSUPPORTED: Final = 1006
CONNECTION_FAILED: Final = 1007
FORBIDDEN: Final = 1008
NOT_IN_USE: Final = 1009
IN_USE: Final = 1010
UNAUTHORIZED: Final = 1011
LOCKED: Final = 1012

_WORDS: Final = {
    "metalake": "Metalake",
    "catalog": "Catalog",
    "schema": "Schema",
    "table": "Table",
    "column": "Column",
    "topic": "Topic",
    "fileset": "Fileset",
    "model": "Model",
    "model version": "ModelVersion",
    "view": "View",
    "function": "Function",
    "partition": "Partition",
    "partitions": "Partitions",
    "role": "Role",
    "user": "User",
    "group": "Group",
    "tag": "Tag",
    "policy": "Policy",
    "job_template": "JobTemplate",
    "job": "Job",
    "metadata object": "MetadataObject",
    "location": "LocationName",
    "model version uri": "ModelVersionURIName",
}
"""The names of kinds of objects as they occur in the names of exceptions."""


class Failure(WardenError):
    """An error response: HTTP status, Gravitino's code, and the exception's name."""

    def __init__(self, status: int, code: int, type: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.type = type
        self.message = message


def illegal(message: str, type: str = "IllegalArgumentException") -> Failure:
    """400, code 1001. `type` may be any of Gravitino's Illegal…Exception names."""
    return Failure(400, ILLEGAL_ARGUMENTS, type, message)


def no_such(kind: str, name: str) -> Failure:
    """404, code 1003: `kind` is an entity type, `model version`, `metadata object` and so on.

    >>> no_such("job_template", "x").type
    'NoSuchJobTemplateException'
    """
    label = _WORDS[kind]
    return Failure(
        404, NOT_FOUND, f"NoSuch{label}Exception", f"{kind} {quoted(name)} does not exist"
    )


def no_such_entity(entity: Entity) -> Failure:
    """404, code 1003, for an entity that is not stored."""
    return no_such(entity.type, gravitino.full_name(entity))


def exists(kind: str, name: str) -> Failure:
    """409, code 1004: the object to create already exists."""
    type = f"{_WORDS[kind]}AlreadyExistsException"
    return Failure(409, ALREADY_EXISTS, type, f"{kind} {quoted(name)} already exists")


def already_exists(message: str, type: str) -> Failure:
    """409, code 1004, with its own exception name (`TagAlreadyAssociatedException`)."""
    return Failure(409, ALREADY_EXISTS, type, message)


def non_empty(kind: str, name: str) -> Failure:
    """409, code 1005: the object is not empty."""
    type = f"NonEmpty{_WORDS[kind]}Exception"
    return Failure(409, NON_EMPTY, type, f"{kind} {quoted(name)} is not empty")


def not_in_use(kind: str, name: str) -> Failure:
    """409, code 1009: the metalake or catalog is disabled."""
    type = f"{_WORDS[kind]}NotInUseException"
    return Failure(409, NOT_IN_USE, type, f"{kind} {quoted(name)} is not in use; enable it first")


def in_use(kind: str, name: str) -> Failure:
    """409, code 1010: disable the object (or force the drop) before dropping it."""
    type = f"{_WORDS[kind]}InUseException"
    return Failure(409, IN_USE, type, f"{kind} {quoted(name)} is in use; disable it or use force")


def forbidden(message: str) -> Failure:
    """403, code 1008."""
    return Failure(403, FORBIDDEN, "ForbiddenException", message)


def unsupported(message: str) -> Failure:
    """405, code 1006."""
    return Failure(405, UNSUPPORTED, "UnsupportedOperationException", message)


def unauthorized(message: str) -> Failure:
    """401, code 1011."""
    return Failure(401, UNAUTHORIZED, "UnauthorizedException", message)


def failure_of(error: Exception) -> Failure:
    """The failure that answers an error of any layer."""
    match error:
        case Failure():
            return error
        case Refused(status=status):
            code = INTERNAL if status >= HTTPStatus.INTERNAL_SERVER_ERROR else ILLEGAL_ARGUMENTS
            type = "RuntimeException" if code == INTERNAL else "IllegalArgumentException"
            return Failure(status, code, type, str(error))
        case BadInput() | Unknown() | LimitExceeded():
            return illegal(str(error))
        case StaleRevision():
            return Failure(409, LOCKED, "OptimisticLockException", str(error))
        case Conflict():
            return Failure(409, ALREADY_EXISTS, "AlreadyExistsException", str(error))
        case Unavailable(public=public):
            return Failure(503, INTERNAL, "RuntimeException", public)
        case StaleSnapshot():
            return Failure(503, INTERNAL, "RuntimeException", Unavailable.public)
        case _:
            return Failure(500, INTERNAL, "RuntimeException", "internal error")


def error_body(failure: Failure) -> bytes:
    """The JSON body of the failure."""
    return msgspec.json.encode(
        {"code": failure.code, "type": failure.type, "message": failure.message}
    )
