"""Every route of the REST interface is guarded, or states why not; every stranger is denied."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any
from urllib.parse import quote

import pytest

from lakewarden import models
from lakewarden.http.exchange import Route
from lakewarden.systems.datahub import http
from lakewarden.systems.datahub.http import (
    BELOW,
    GUESSED,
    DataHub,
    aspect_calls,
    entities,
    frontend,
    system_calls,
    usage_stats,
)
from lakewarden.systems.datahub.settings import DataHubSettings
from tests.http.lock_spy import only_recorded
from tests.systems.datahub.http.wire import Wire, proposal

ROUTES = [route for route in DataHub().routes() if "graphql" not in route.path]
GUESSES = {f"{GUESSED}{route.path}" for route in frontend.ROUTES}
TOP = [one for one in ROUTES if not one.path.startswith(BELOW) and one.path not in GUESSES]
ACTIONS = {
    "/aspects": aspect_calls.ACTIONS,
    "/entities": entities.ACTIONS,
    "/operations": system_calls.OF_OPERATIONS,
    "/platform": system_calls.OF_PLATFORM,
    "/runs": system_calls.OF_RUNS,
    "/usageStats": usage_stats.ACTIONS,
}
DECLARED = models.load("datahub").operations

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
LOGICAL = "urn:li:dataset:(urn:li:dataPlatform:model,orders,PROD)"


def test_every_route_has_an_operation_or_a_reason() -> None:
    assert [route for route in ROUTES if bool(route.operation) == bool(route.why)] == []
    assert {route.operation for route in ROUTES if route.operation} <= set(DECLARED)


def test_every_action_has_an_operation() -> None:
    for path, actions in ACTIONS.items():
        assert {operation for operation, _ in actions.values()} <= set(DECLARED), path
        assert [route.path for route in TOP if route.path == path] == [path]


def test_all_is_also_below_the_address_of_a_frontend() -> None:
    lower = [one for one in ROUTES if one.path.startswith(BELOW)]
    below = {(one.method, one.path.removeprefix(BELOW)) for one in lower}
    assert below == {(one.method, one.path) for one in TOP} | {("GET", "/health")}


def test_no_two_routes_share_method_and_path() -> None:
    shapes = [(route.method, _shape(route.path)) for route in ROUTES]
    assert len(set(shapes)) == len(shapes)


def test_only_what_tells_nothing_is_public() -> None:
    public = {route.path.removeprefix(BELOW) for route in ROUTES if route.public}
    signing = {route.path for route in frontend.ROUTES}
    assert public - signing - GUESSES == {"/config", "/health"}
    assert signing == {"/logIn", "/signUp", "/resetNativeUserCredentials", "/logOut"}


def test_what_takes_a_urn_takes_encoded_slashes() -> None:
    for route in ROUTES:
        named = {"{urn}", "{child}", "{parent}"} & set(route.path.split("/"))
        assert route.encoded_slash == bool(named), route.path


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """One realm for all tests: their callers change nothing."""
    with Wire(tmp_path_factory.mktemp("realm")) as wire:
        wire.put(
            (ORDERS, "status", {"removed": False}),
            (ORDERS, "datasetProfile", {"timestampMillis": 1}),
            ("urn:li:dataPlatform:model", "dataPlatformInfo", {"logical": True}),
            (LOGICAL, "status", {"removed": False}),
        )
        yield wire


_SHOWN_NOTHING: dict[tuple[str, str], Any] = {
    ("GET", "/openapi/v3/entity/{type}"): {"scrollId": None, "entities": [], "totalCount": 0},
    ("GET", "/openapi/v2/entity/{type}"): {"scrollId": None, "results": []},
    ("GET", "/openapi/v1/trace/write/{id}"): {},
    ("POST", "/openapi/v1/trace/write/{id}"): {},
    ("POST", "/openapi/v3/entity/scroll"): {"scrollId": None, "entities": [], "totalCount": 0},
    ("GET", "/openapi/v2/timeseries/{type}/{aspect}"): {"scrollId": None, "results": []},
}
"""Routes that return an empty list to a stranger."""


@pytest.mark.parametrize(
    "route",
    [r for r in TOP if r.operation and not r.public],
    ids=lambda route: f"{route.method} {route.path}",
)
def test_a_stranger_is_refused_everywhere(route: Route, refusing: Wire) -> None:
    revision = refusing.service.state.revision
    path = "/".join(_FILLED.get(word, word) for word in route.path.split("/"))
    path += _ASKED.get(route.path, "")
    if "timeseries" in route.path:
        path = path.replace("status", "datasetProfile")
    body = _BODIES.get((route.method, route.path))
    shown = _SHOWN_NOTHING.get((route.method, route.path))
    with only_recorded(refusing.service):
        if shown is not None:
            assert refusing.good(route.method, path, body, "zed") == shown
        else:
            assert refusing.bad(route.method, path, body, "zed") == 403
    assert refusing.service.state.revision == revision


@pytest.mark.parametrize(
    ("path", "action"), [(path, action) for path, actions in ACTIONS.items() for action in actions]
)
def test_a_stranger_may_do_no_action(path: str, action: str, refusing: Wire) -> None:
    revision = refusing.service.state.revision
    sent, answered = f"{path}?action={action}", _ACTING[action] or _INGESTED.get(path, {})
    with only_recorded(refusing.service):
        if action in _LISTS:
            assert refusing.good("POST", sent, answered, "zed")["value"]["entities"] == []
        else:
            assert refusing.bad("POST", sent, answered, "zed") == 403
    assert refusing.service.state.revision == revision


def test_a_refused_write_raises_no_revision_but_leaves_a_trace(refusing: Wire) -> None:
    rows = len(refusing.audit())
    refusing.bad("POST", "/entities?action=delete", {"urn": ORDERS}, "zed")
    assert len(refusing.audit()) == rows + 1


def test_only_the_guard_decides() -> None:
    """In the REST interface, only the guard's module queries the kernel for decisions."""
    words = ("matrix.decide", "matrix.check", ".allowed(", "transaction.decide")
    for module in pkgutil.iter_modules(http.__path__):
        if module.name in ("authorization", "guard", "graphql"):
            continue
        source = inspect.getsource(import_module(f"{http.__name__}.{module.name}"))
        assert not any(word in source for word in words), module.name


def test_with_policies_off_everybody_may(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Wire(tmp_path_factory.mktemp("open")) as wire:
        options = wire.services.of(DataHubSettings).model_copy(update={"policies": False})
        wire.services = replace(wire.services, systems={"datahub": options})
        wire.good("POST", "/aspects?action=ingestProposal", _ACTING["ingestProposal"], "zed")
        wire.good("GET", f"/entitiesV2/{quote(ORDERS, safe='')}", user="zed")


def _shape(path: str) -> str:
    words = path.split("/")
    return "/".join("{}" if word.startswith("{") else word for word in words)


_ASKED = {
    "/aspects/{urn}": "?aspect=status",
    "/entitiesV2": f"?ids=List({quote(ORDERS, safe='')})",
    "/openapi/relationships/v1": f"?urn={quote(ORDERS, safe='')}",
    "/openapi/timeline/v1/{urn}": "?categories=TAG",
    "/openapi/v2/timeline/v1/{urn}": "?categories=TAG",
    "/relationships": f"?urn={quote(ORDERS, safe='')}&types=List(OwnedBy)&direction=OUTGOING",
}

_FILLED = {
    "{urn}": quote(ORDERS, safe=""),
    "{child}": quote(ORDERS, safe=""),
    "{parent}": quote(LOGICAL, safe=""),
    "{type}": "dataset",
    "{aspect}": "status",
    "{id}": "1",
}

_STATUS = {"value": {"removed": True}}
_PATCH = {"value": [{"op": "add", "path": "/removed", "value": True}]}

_BODIES: dict[tuple[str, str], object] = {
    ("POST", "/openapi/v2/entity/{type}"): [{"urn": ORDERS, "aspects": {"status": _STATUS}}],
    ("POST", "/openapi/v3/entity/generic"): {"dataset": [{"urn": ORDERS, "status": _STATUS}]},
    ("PATCH", "/openapi/v3/entity/generic"): {"dataset": [{"urn": ORDERS, "status": _PATCH}]},
    ("POST", "/openapi/v3/entity/generic/batchGet"): {"dataset": [{"urn": ORDERS}]},
    ("POST", "/openapi/v3/entity/{type}"): [{"urn": ORDERS, "status": _STATUS}],
    ("PATCH", "/openapi/v3/entity/{type}"): [{"urn": ORDERS, "status": {"value": []}}],
    ("POST", "/openapi/v3/entity/{type}/batchGet"): [{"urn": ORDERS}],
    ("POST", "/openapi/v3/entity/{type}/{urn}/{aspect}"): _STATUS,
    ("PATCH", "/openapi/v3/entity/{type}/{urn}/{aspect}"): {"value": []},
    ("POST", "/openapi/v1/trace/write/{id}"): {ORDERS: ["status"]},
    ("POST", "/openapi/v2/entity/batch/{type}"): {"urns": [ORDERS]},
    ("POST", "/openapi/v3/relationship/scroll"): {
        "sourceFilter": {"and": [{"criteria": [{"field": "urn", "values": [ORDERS]}]}]}
    },
    ("POST", "/openapi/v3/logical/{child}/relationship/physicalInstanceOf/{parent}"): {},
}

_PROPOSAL = proposal(ORDERS, "status", {"removed": True})
_SNAPSHOT = {"urn": ORDERS, "aspects": [{"com.linkedin.common.Status": {"removed": True}}]}

_ACTING: dict[str, dict[str, Any]] = {
    "getCount": {"aspect": "status"},
    "getTimeseriesAspectValues": {"urn": ORDERS, "aspect": "datasetProfile"},
    "ingestProposal": {"proposal": _PROPOSAL},
    "ingestProposalBatch": {"proposals": [_PROPOSAL]},
    "delete": {"urn": ORDERS},
    "deleteReferences": {"urn": ORDERS},
    "ingest": {"entity": {"value": {"com.linkedin.metadata.snapshot.DatasetSnapshot": _SNAPSHOT}}},
    "listUrns": {"entity": "dataset", "start": 0, "count": 9},
    "search": {"entity": "dataset", "input": "*", "start": 0, "count": 9},
    "autocomplete": {"entity": "dataset", "query": "o", "limit": 9},
    "filter": {"entity": "dataset", "filter": {"or": []}, "start": 0, "count": 9},
    "searchAcrossEntities": {"input": "*", "start": 0, "count": 9},
    "batchIngest": {},
    "batchGetTotalEntityCount": {"entities": ["dataset"]},
    "getTotalEntityCount": {"entity": "dataset"},
    "applyRetention": {},
    "deleteAll": {},
    "setWritable": {"value": True},
    "restoreIndices": {},
    "getEsTaskStatus": {"task": "a:1"},
    "getIndexSizes": {},
    "truncateTimeseriesAspect": {
        "entityType": "dataset",
        "aspect": "datasetProfile",
        "endTimeMillis": 9,
        "dryRun": False,
    },
    "producePlatformEvent": {"name": "x", "event": {}},
    "describe": {"runId": "r"},
    "list": {},
    "rollback": {"runId": "r", "dryRun": False},
    "query": {"resource": ORDERS, "duration": "DAY"},
    "queryRange": {"resource": ORDERS, "duration": "DAY", "rangeFromEnd": "ALL"},
}

_LISTS = ("autocomplete", "filter", "listUrns", "search", "searchAcrossEntities")
"""Actions that return an empty list to a stranger."""

_INGESTED = {
    "/entities": {
        "entities": [{"value": {"com.linkedin.metadata.snapshot.DatasetSnapshot": _SNAPSHOT}}]
    },
    "/usageStats": {"buckets": [{"bucket": 1, "duration": "DAY", "resource": ORDERS}]},
}
