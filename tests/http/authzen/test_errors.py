"""Errors: the status of each kind, a JSON string as body, and no foreign details."""

from __future__ import annotations

import json

import pytest

from lakewarden.http.authzen.dialect import AuthZen
from lakewarden.http.authzen.errors import Forbidden
from lakewarden.http.exchange import Refused
from lakewarden.kernel import errors as kernel
from lakewarden.service.decision_service import StaleRevision


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (kernel.BadInput("expected a name"), 400),
        (kernel.LimitExceeded("too many"), 400),
        (kernel.Unknown("realm", "x"), 404),
        (kernel.Conflict("exists"), 409),
        (kernel.StaleSnapshot("moved on"), 503),
        (kernel.Unavailable("store"), 503),
        (StaleRevision("later"), 409),
        (Forbidden("no"), 403),
        (Refused(415, "expected JSON"), 400),
        (Refused(413, "too large"), 413),
        (Refused(503, "took too long"), 503),
        (Refused(431, "headers"), 431),
    ],
)
def test_each_error_has_its_status(error: kernel.WardenError, status: int) -> None:
    reply = AuthZen().failed(None, error)
    assert reply.status == status
    assert json.loads(reply.body) == str(error)
    assert ("Retry-After" in reply.headers) is (status == 503)


def test_every_kind_of_error_has_a_status() -> None:
    for kind in kernel.WardenError.__subclasses__():
        if kind.__module__ == kernel.__name__:
            error = kind("a", "b") if kind is kernel.Unknown else kind("a")
            assert AuthZen().failed(None, error).status < 500 or kind in (
                kernel.StaleSnapshot,
                kernel.Unavailable,
            )


def test_an_unforeseen_error_tells_nothing() -> None:
    reply = AuthZen().failed(None, ValueError("SELECT secret FROM /etc"))
    assert (reply.status, json.loads(reply.body)) == (500, "internal error")


def test_who_is_not_believed_is_challenged() -> None:
    reply = AuthZen().unauthenticated("credentials are needed")
    assert (reply.status, json.loads(reply.body)) == (401, "credentials are needed")
    assert reply.headers["WWW-Authenticate"] == "Bearer"


def test_a_path_without_anything_and_a_method_that_is_not_there() -> None:
    assert AuthZen().missing("GET", "/x", ()).status == 404
    reply = AuthZen().missing("GET", "/access/v1/evaluation", ("POST",))
    assert (reply.status, json.loads(reply.body)) == (405, "expected one of: POST")
