"""Every error of the layers below has one response here, and none reveals secrets."""

from __future__ import annotations

import json

import pytest

from lakewarden.http.exchange import Refused
from lakewarden.kernel import errors as kernel_errors
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import (
    BadInput,
    Busy,
    Conflict,
    LimitExceeded,
    RealmClosed,
    StaleSnapshot,
    Starting,
    Unavailable,
    Unknown,
    WardenError,
)
from lakewarden.service.decision_service import StaleRevision
from lakewarden.systems.gravitino.http import Gravitino
from lakewarden.systems.gravitino.http.errors import (
    Failure,
    already_exists,
    exists,
    forbidden,
    illegal,
    in_use,
    no_such,
    no_such_entity,
    non_empty,
    not_in_use,
    unauthorized,
    unsupported,
)

TABLE = [
    (BadInput("expected a name"), 400, 1001, "IllegalArgumentException"),
    (Unknown("type", "x"), 400, 1001, "IllegalArgumentException"),
    (LimitExceeded("too deep"), 400, 1001, "IllegalArgumentException"),
    (Conflict("stored already"), 409, 1004, "AlreadyExistsException"),
    (Busy("another push is under way"), 409, 1004, "AlreadyExistsException"),
    (StaleSnapshot("too late"), 503, 1002, "RuntimeException"),
    (Unavailable("password of db"), 503, 1002, "RuntimeException"),
    (RealmClosed("lake: model"), 503, 1002, "RuntimeException"),
    (Starting(), 503, 1002, "RuntimeException"),
    (StaleRevision("revision 7"), 409, 1012, "OptimisticLockException"),
    (Refused(413, "too large"), 413, 1001, "IllegalArgumentException"),
    (Refused(503, "took too long"), 503, 1002, "RuntimeException"),
    (ValueError("secret path"), 500, 1002, "RuntimeException"),
    (illegal("x"), 400, 1001, "IllegalArgumentException"),
    (illegal("x", "IllegalRoleException"), 400, 1001, "IllegalRoleException"),
    (unauthorized("x"), 401, 1011, "UnauthorizedException"),
    (forbidden("x"), 403, 1008, "ForbiddenException"),
    (no_such("model version", "x"), 404, 1003, "NoSuchModelVersionException"),
    (no_such_entity(Entity("table", "lk:c.s.t")), 404, 1003, "NoSuchTableException"),
    (unsupported("x"), 405, 1006, "UnsupportedOperationException"),
    (exists("catalog", "x"), 409, 1004, "CatalogAlreadyExistsException"),
    (
        already_exists("x", "TagAlreadyAssociatedException"),
        409,
        1004,
        "TagAlreadyAssociatedException",
    ),
    (non_empty("schema", "x"), 409, 1005, "NonEmptySchemaException"),
    (not_in_use("metalake", "x"), 409, 1009, "MetalakeNotInUseException"),
    (in_use("catalog", "x"), 409, 1010, "CatalogInUseException"),
]


@pytest.mark.parametrize(
    ("error", "status", "code", "type"),
    TABLE,
    ids=[f"{type(error).__name__}-{status}-{name}" for error, status, _, name in TABLE],
)
def test_each_error_has_its_status_code_and_type(
    error: Exception, status: int, code: int, type: str
) -> None:
    reply = Gravitino().failed(None, error)
    body = json.loads(reply.body)
    assert (reply.status, body["code"], body["type"]) == (status, code, type)
    assert body["message"]


def test_every_error_of_the_kernel_is_in_the_table() -> None:
    tree = {
        found
        for found in vars(kernel_errors).values()
        if isinstance(found, type) and issubclass(found, WardenError) and found is not WardenError
    }
    assert tree <= {type(error) for error, *_ in TABLE}


@pytest.mark.parametrize("error", [ValueError("secret path"), Unavailable("password of db")])
def test_what_goes_wrong_inside_is_not_told(error: Exception) -> None:
    assert b"secret path" not in Gravitino().failed(None, error).body
    assert b"password" not in Gravitino().failed(None, error).body


def test_a_failure_is_an_error_of_the_package() -> None:
    assert issubclass(Failure, WardenError)
