"""The API as a contract: every route is guarded and described, every error a problem document."""

from __future__ import annotations

import msgspec
import pytest

from lakewarden import models
from lakewarden.http.admin import Admin
from lakewarden.http.admin.dialect import ENDPOINTS
from lakewarden.http.exchange import Refused, Route
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
from tests.http.admin.api import Api

ROUTES = Admin().routes()


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_is_guarded_by_a_declared_operation(route: Route) -> None:
    assert models.load("control").operation(route.operation).name == route.operation


def test_the_description_holds_every_route_and_only_schemas_that_there_are(api: Api) -> None:
    described = api.must("GET", "//openapi.json", user=None)
    assert described["openapi"] == "3.1.0"
    paths = {
        (method.upper(), path) for path, methods in described["paths"].items() for method in methods
    }
    assert paths == {(one.method, one.address) for one in ENDPOINTS}
    ids = [m["operationId"] for methods in described["paths"].values() for m in methods.values()]
    assert len(ids) == len(set(ids))
    schemas = described["components"]["schemas"]
    text = msgspec.json.encode(described).decode()
    used = {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert used <= set(schemas)
    assert {"Problem", "Question", "StatementResponse"} <= set(schemas)


def test_bodies_are_declared_in_their_package() -> None:
    bodies = {body for one in ENDPOINTS for body in (one.request, one.response) if body}
    assert {body.__module__.rpartition(".")[0] for body in bodies} == {
        "lakewarden.http.admin.bodies"
    }


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (BadInput("x", where="a"), 400),
        (LimitExceeded("x"), 400),
        (Unknown("privilege", "x"), 400),
        (Unknown("realm", "x"), 404),
        (Conflict("x"), 409),
        (StaleRevision("x"), 409),
        (StaleSnapshot("x"), 503),
        (Unavailable("x"), 503),
        (Refused(413, "x"), 413),
        (WardenError("x"), 400),
        (ValueError("secret"), 500),
    ],
    ids=repr,
)
def test_each_error_is_a_problem_of_its_status(error: Exception, status: int) -> None:
    reply = Admin().failed(None, error)
    problem = msgspec.json.decode(reply.body)
    assert (reply.status, problem["status"]) == (status, status)
    assert reply.content_type == "application/problem+json"
    assert "secret" not in str(problem)


def test_what_is_not_there_is_a_problem_too(api: Api) -> None:
    assert api.ask("GET", "/nothing").status == 404
    answer = api.ask("DELETE", "/realms")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, POST")


def test_unknown_or_doubled_parameters_are_refused(api: Api) -> None:
    assert api.ask("GET", "/realms", query={"page": "1"}).status == 400
    assert api.ask("GET", "/audit?last=1&last=2").status == 400
    assert api.ask("GET", "/audit", query={"last": "x"}).status == 400
    assert api.ask("GET", "/realms?consistency=any").status in (200, 400)


def test_a_body_where_none_is_expected_is_refused(api: Api) -> None:
    assert api.ask("POST", "/audit/verify", {}).status == 400
