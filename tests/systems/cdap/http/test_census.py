"""Every route is guarded: it has a declared operation, and denies callers without grants."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final

import pytest

from lakewarden import models
from lakewarden.http.exchange import Route
from lakewarden.systems.cdap import http
from lakewarden.systems.cdap.http import Cdap
from tests.http.lock_spy import only_recorded
from tests.systems.cdap.http.wire import ADMIN, BOSS, Json, Wire

ROUTES: Final = Cdap().routes()

WITHOUT_OPERATION: Final = {"/ping", "/v3/ping", "/v3/version"}
"""Routes that reveal nothing about stored data."""

OPEN: Final = {
    ("GET", "/v3/namespaces"): "a list, of which everybody is shown what is his",
    ("POST", "/v3/namespaces/{namespace}/instances"): "each element of a batch has its answer",
    ("POST", "/v3/namespaces/{namespace}/runs"): "each element of a batch has its answer",
    ("POST", "/v3/namespaces/{namespace}/runcount"): "each element of a batch has its answer",
    ("POST", "/v3/metrics/search"): "a list, of which everybody is shown what is his",
    ("GET", "/v3/metadata/search"): "a list, of which everybody is shown what is his",
    ("GET", "/v3/namespaces/{namespace}/metadata/search"): "the same, of one namespace",
    **{
        ("GET", f"/v3/system/services{below}"): "everybody sees how the platform does"
        for below in (
            "",
            "/status",
            "/{service}/status",
            "/{service}/instances",
            "/{service}/latest-restart",
        )
    },
}
"""Routes open to everybody."""

PARAMS: Final[Mapping[str, str]] = {
    "namespace": "sales",
    "kind": "services",
    "version": "1.0",
}
"""The values of path parameters; others are replaced by their own names."""

ARTIFACT: Final[Json] = {"artifact": {"name": "etl", "version": "1.0"}}
PRIVILEGES: Final[Json] = {
    "authorizable": {"entityType": "NAMESPACE", "entityParts": {"NAMESPACE": "sales"}},
    "principal": {"name": "eve", "type": "USER"},
}

BATCH: Final = [{"appId": "shop", "programType": "service", "programId": "api"}]

BATCHES: Final = {f"/v3/namespaces/{{namespace}}/{verb}" for verb in ("status", "start", "stop")}
"""Paths of calls about several programs, which are denied as a whole."""

METRICS: Final[Json] = {
    "q": {"tags": {"namespace": "sales", "app": "shop", "workflow": "nightly"}, "metrics": ["n"]}
}

BODIES: Final[Mapping[str, Any]] = {
    "privilege.grant": PRIVILEGES,
    "privilege.revoke": PRIVILEGES,
    "application.deploy": ARTIFACT,
    "artifact.add": b"x",
    "application.deploy_with_artifact": b"x",
    "program.view_metrics": METRICS,
}
"""Valid bodies, by operation; the others get an empty object."""

HEADERS: Final = {"Artifact-Version": "1.0", "X-Archive-Name": "etl-1.0.jar"}


TOLD: Final = re.compile(
    r"^Principal 'Principal{name='eve', type=USER, kerberosPrincipal=null}' (is not|does not) .*"
    r"('\[[A-Z, ]+\]'|access (entity|namespace)|action '[a-z_.]+').* \(operation '[a-z_.]+'[;)]"
)
"""The parts of every denial: the user, the action and its object, and the operation."""


GUARDED: Final = [
    route for route in ROUTES if route.operation and (route.method, route.path) not in OPEN
]


@pytest.mark.parametrize("model", ["cdap", "cdap_parent_write"])
def test_every_route_names_a_declared_operation(model: str) -> None:
    declared = models.load(model).operations
    unnamed = {route.path for route in ROUTES if not route.operation}
    assert unnamed == WITHOUT_OPERATION
    assert [r for r in ROUTES if r.operation and r.operation not in declared] == []


def test_no_two_routes_share_method_and_path() -> None:
    shapes = [(route.method, re.sub(r"{\w+}", "{}", route.path)) for route in ROUTES]
    assert len(set(shapes)) == len(shapes)


def test_only_what_tells_nothing_is_public() -> None:
    assert {route.path for route in ROUTES if route.public} <= WITHOUT_OPERATION


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """One server for all tests: its callers change nothing."""
    with Wire(tmp_path_factory.mktemp("refusing")) as one:
        one.grant(BOSS, "namespace:sales", "ADMIN")
        one.good("PUT", "namespaces/sales")
        yield one


@pytest.mark.parametrize("route", GUARDED, ids=lambda route: f"{route.method} {route.path}")
def test_who_holds_nothing_is_refused_and_nothing_changes(refusing: Wire, route: Route) -> None:
    params = {**PARAMS, "name": "bob"} if "/authorization/" in route.path else PARAMS
    if "/authorization/" in route.path:
        params = {**params, "kind": "user"}
    path = re.sub(r"{(\w+)}", lambda m: params.get(m[1], m[1]), route.path)
    before = refusing.service.state.revision
    body = None if route.method == "GET" else BODIES.get(route.operation, {})
    if route.path in BATCHES:
        body = BATCH
    with only_recorded(refusing.service):
        status, text = refusing.ask(route.method, path, body, user="eve", headers=HEADERS)
    assert status == 403, text
    assert TOLD.search(text), text
    assert "granted" not in text
    assert refusing.service.state.revision == before


def test_an_authorization_admin_is_refused_data_as_everybody_is(refusing: Wire) -> None:
    """And, because it may list others' grants, it is told who may grant it."""
    status, text = refusing.ask("GET", "namespaces/sales", user=ADMIN)
    assert status == 403
    assert text.endswith(f"(operation 'namespace.get'; can be granted by '{ADMIN}')")


def test_refusals_are_worded_in_one_place() -> None:
    for module in pkgutil.iter_modules(http.__path__):
        if module.name not in ("errors", "refusals"):
            source = inspect.getsource(import_module(f"{http.__name__}.{module.name}"))
            assert not re.search(r"\bforbidden\(", source), module.name
