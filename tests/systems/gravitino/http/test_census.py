"""Every route is guarded, and every operation is reached."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module

import pytest

from lakewarden import models
from lakewarden.http.exchange import Route
from lakewarden.systems.gravitino import http
from lakewarden.systems.gravitino.http import Gravitino
from tests.http.lock_spy import only_recorded
from tests.systems.gravitino.http.small_lake import fill
from tests.systems.gravitino.http.wire import Wire

ROUTES = Gravitino().routes()

WITHIN_A_HANDLER = {
    "table.write": "no request of Gravitino: what databases let be written without altering",
    "column.read": "no request of Gravitino: what databases let be read of a table",
    "column.write": "no request of Gravitino: what databases let be written of a table",
    "table.load_to_modify": "loading a table with `privileges=MODIFY_TABLE`",
    "table.purge": "dropping a table with `purge`",
    "object.tags.associate_none": "associating with two empty lists",
    "object.policies.associate_none": "associating with two empty lists",
    "object.access": "the filter of lists of objects, and the answer 405 for statistics",
    "object.roles.list.filter": "the filter of an object's roles",
}
"""Operations without their own route, and when they are checked."""

OPEN = {"server.version", "server.configs", "server.health"}
"""Operations whose routes answer without credentials."""


def test_every_route_names_a_declared_operation() -> None:
    declared = models.load("gravitino").operations
    assert [route for route in ROUTES if route.operation not in declared] == []


def test_every_operation_is_reached() -> None:
    reached = {route.operation for route in ROUTES} | set(WITHIN_A_HANDLER)
    assert set(models.load("gravitino").operations) - reached == set()


def test_no_two_routes_share_method_and_path() -> None:
    shapes = [(route.method, _shape(route.path)) for route in ROUTES]
    assert len(set(shapes)) == len(shapes)


def test_only_what_tells_nothing_is_public() -> None:
    assert {route.operation for route in ROUTES if route.public} == OPEN


def test_routes_with_names_take_encoded_slashes_and_no_others_do() -> None:
    assert all(route.encoded_slash == ("{" in route.path) for route in ROUTES)


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """One lake for all tests: their callers change nothing."""
    with Wire(tmp_path_factory.mktemp("lake")) as wire:
        fill(wire)
        yield wire


GUARDED = [route for route in ROUTES if route.operation.split(".")[0] not in ("server", "lineage")]

ASKED_OF_NOBODY = {
    "metalake.list",
    "metalake.load",
    "catalog.list",
    "user.list",
    "user.load",
    "group.list",
    "role.list",
    "object.roles.list",
    "tag.list",
    "policy.list",
    "job_template.list",
    "job.list",
}
"""Open to every user of the metalake: to load oneself, and lists of one's own objects."""

TOLD = re.compile(
    r"User 'eve' is not authorized to perform operation '(?P<operation>[a-z_.]+)'"
    r"( on metadata '(?P<on>[^']+)')?: requires (?P<missing>[^;]+)"
    r"(; can be granted by (?P<grantors>.+))?"
)


@pytest.mark.parametrize("route", GUARDED, ids=lambda route: f"{route.method} {route.path}")
def test_a_stranger_is_refused_everywhere(route: Route, refusing: Wire) -> None:
    """For any body, and whether or not the object exists: 403, or an empty list."""
    if route.path == "/api/metalakes" and route.method == "GET":
        assert refusing.ask("GET", route.path, user="zed") == (200, {"code": 0, "metalakes": []})
        return
    with only_recorded(refusing.service):
        status, answer = refusing.ask(route.method, _filled(route.path), _body(route), user="zed")
    assert (status, answer["type"]) == (403, "ForbiddenException"), answer
    said = answer["message"]
    if "doesn't exist in the metalake" not in said:
        assert route.operation == "metalake.create"
        assert said == (
            "User 'zed' is not authorized to perform operation 'metalake.create':"
            " requires a service administrator"
        )
    assert said.startswith("User 'zed' is not authorized to perform operation '"), said


def _refused(wire: Wire, route: Route) -> str | None:
    """The message to `eve`, a user of the metalake without a grant; None if she may."""
    status, answer = wire.ask(route.method, _filled(route.path), _body(route), user="eve")
    return answer["message"] if status == 403 else None


@pytest.mark.parametrize("route", GUARDED, ids=lambda route: f"{route.method} {route.path}")
def test_a_user_is_told_operation_object_and_what_is_missing(route: Route, refusing: Wire) -> None:
    said = _refused(refusing, route)
    if said is None:
        assert route.operation in ASKED_OF_NOBODY
        return
    found = TOLD.fullmatch(said)
    assert found is not None, said
    assert found["operation"] in {route.operation, *WITHIN_A_HANDLER}
    if route.operation != "metalake.create":
        assert found["on"], said
    # Members may load the metalake and so read only its owner.
    assert found["grantors"] in (None, "'admin'"), said
    assert (found["grantors"] is None) == (route.operation == "metalake.create"), said


def _shape(path: str) -> str:
    words = path.split("/")
    return "/".join("{}" if word.startswith("{") else word for word in words)


_NAMES = {
    "metalake": "lk",
    "catalog": "rel",
    "schema": "s",
    "table": "t",
    "type": "table",
    "name": "rel.s.t",
    "version": "0",
    "user": "eve",
}


def _filled(path: str) -> str:
    words = path.split("/")
    return "/".join(_NAMES.get(word[1:-1], "x") if word.startswith("{") else word for word in words)


def _body(route: Route) -> object:
    """A valid body for the route, so only the caller is wrong."""
    if route.method in ("GET", "DELETE"):
        return None
    return _BODIES.get(route.operation, _GENERAL)


_COMMENT = {"@type": "updateComment", "newComment": "x"}
_PROPERTY = {"@type": "setProperty", "property": "a", "value": "b"}
_PRIVILEGES = [{"name": "SELECT_TABLE", "condition": "ALLOW"}]
_TEMPLATE = {"jobType": "shell", "name": "x", "executable": "x"}
_CONTENT = {"customRules": {}, "supportedObjectTypes": ["table"]}

_GENERAL = {
    "name": "x",
    "type": "USER",
    "provider": "p",
    "inUse": True,
    "enable": True,
    "columns": [{"name": "a", "type": "long"}],
    "updates": [_COMMENT],
    "uri": "x",
    "partitions": [{"type": "list", "name": "x"}],
    "names": ["x"],
    "drops": [{"partitionName": "x", "statisticNames": ["custom-x"]}],
    "representations": [{"dialect": "trino", "sql": "x"}],
    "functionType": "scalar",
    "definitions": [{"parameters": [], "impls": []}],
    "securableObjects": [],
    "roleNames": ["x"],
    "privileges": _PRIVILEGES,
    "overrides": [],
    "tagsToAdd": ["x"],
    "policiesToAdd": ["x"],
    "policyType": "custom",
    "content": _CONTENT,
    "jobTemplate": _TEMPLATE,
    "jobTemplateName": "x",
    "jobConf": {},
    "users": [{"name": "x"}],
}

_BODIES: dict[str, object] = {
    "catalog.create": {**_GENERAL, "type": "relational"},
    "catalog.test_connection": {**_GENERAL, "type": "relational"},
    "fileset.create": {**_GENERAL, "type": "managed"},
    "schema.alter": {"updates": [_PROPERTY]},
    "view.alter": {"updates": [_PROPERTY]},
    "table.statistics.update": {"updates": {"custom-x": 1}},
    "table.partition_statistics.update": {
        "updates": [{"partitionName": "x", "statistics": {"custom-x": 1}}]
    },
}


def test_only_the_guard_decides() -> None:
    """Only `authorization` queries the kernel for decisions, and `refusals` for disclosures."""
    asking = ("matrix.decide", "matrix.check", ".allowed(", "transaction.decide")
    for module in pkgutil.iter_modules(http.__path__):
        if module.name in ("authorization", "refusals"):
            continue
        source = inspect.getsource(import_module(f"{http.__name__}.{module.name}"))
        assert not any(word in source for word in asking), module.name


def test_refusals_are_worded_in_one_place() -> None:
    for module in pkgutil.iter_modules(http.__path__):
        if module.name not in ("errors", "refusals"):
            source = inspect.getsource(import_module(f"{http.__name__}.{module.name}"))
            assert not re.search(r"\bforbidden\(", source), module.name
