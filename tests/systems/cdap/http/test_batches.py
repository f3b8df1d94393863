"""Calls about many programs over the wire: each element is decided as if it were alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.systems.cdap.http.shop import PEOPLE, SPACE, deploy, is_old
from tests.systems.cdap.http.wire import Json, Wire

NIGHTLY: Json = {"appId": "shop", "programType": "Workflow", "programId": "nightly"}
API: Json = {"appId": "shop", "programType": "Service", "programId": "api"}
FLOW: Json = {"appId": "shop", "programType": "Flow", "programId": "visits"}
WORKER: Json = {"appId": "shop", "programType": "Worker", "programId": "drone"}
NONE: Json = {"appId": "shop", "programType": "Workflow", "programId": "none"}

READS = ("status", "instances", "runs", "runcount")
VERBS = (*READS, "start", "stop")
WHOLE = ("status", "start", "stop")
"""Calls that the first denial refuses as a whole."""


@pytest.fixture
def only(wire: Wire) -> Wire:
    """A server with `shop`, where `only` holds everything on one program, and on a missing one."""
    wire.built(deploy)
    for name in ("workflow.nightly", "workflow.none"):
        wire.grant("only", f"program:sales.shop.{name}")
    return wire


def batch(wire: Wire, verb: str, *elements: Json, user: str) -> list[Json]:
    found: list[Json] = wire.good("POST", f"{SPACE}/{verb}", list(elements), user=user)
    return found


def codes(rows: list[Json]) -> list[int]:
    return [row["statusCode"] for row in rows]


def test_statuses_come_with_what_was_asked(shop: Wire) -> None:
    batch(shop, "start", API, user="runner")
    small = {**NIGHTLY, "programType": "workflow"}
    assert batch(shop, "status", small, API, user="reader") == [
        {**NIGHTLY, "statusCode": 200, "status": "STOPPED"},
        {**API, "statusCode": 200, "status": "RUNNING"},
    ]


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_not_there_is_the_error_of_its_element(only: Wire, verb: str) -> None:
    rows = batch(only, verb, NONE, user="only")
    error = "'program:sales.shop.workflow.none' was not found."
    assert rows == [{**NONE, "statusCode": 404, "error": error}]


@pytest.mark.parametrize("verb", WHOLE)
def test_the_first_denial_refuses_statuses_starts_and_stops(only: Wire, verb: str) -> None:
    elements = [NONE, NIGHTLY, API, FLOW]
    before = only.service.state.revision
    status, text = only.ask("POST", f"{SPACE}/{verb}", elements, user="only")
    assert (status, "on entity 'program:sales.shop.service.api'" in text) == (403, True)
    assert only.service.state.revision == before
    nightly = batch(only, "status", NIGHTLY, user="only")
    assert nightly[0]["status"] == "STOPPED"


@pytest.mark.parametrize("verb", ["runs", "runcount"])
def test_of_a_history_the_denied_element_is_told(only: Wire, verb: str) -> None:
    rows = batch(only, verb, NIGHTLY, API, NONE, user="only")
    assert codes(rows) == [200, 403, 404]
    assert "on entity 'program:sales.shop.service.api'" in rows[1]["error"]
    assert set(rows[1]) == {"appId", "programType", "programId", "statusCode", "error"}


def test_of_instances_the_denied_element_is_told(only: Wire) -> None:
    only.grant("only", "program:sales.shop.service.api", "WRITE")
    rows = batch(only, "instances", API, WORKER, user="only")
    assert rows[0] == {**API, "statusCode": 200, "requested": 1, "provisioned": 0}
    assert (rows[1]["statusCode"], "requested" in rows[1]) == (403, False)


@pytest.mark.parametrize("verb", READS)
def test_reads_take_what_the_single_call_takes(either_shop: Wire, verb: str) -> None:
    allowed = {"reader"} if is_old(either_shop) else set(PEOPLE)
    for user in (*PEOPLE, "stranger"):
        status, rows = either_shop.ask("POST", f"{SPACE}/{verb}", [API], user=user)
        is_allowed = status == 200 and codes(rows) == [200]
        assert is_allowed is (user in allowed)


@pytest.mark.parametrize("verb", ["start", "stop"])
def test_starting_and_stopping_take_what_the_single_call_takes(
    either_shop: Wire, verb: str
) -> None:
    for user in (*PEOPLE, "stranger"):
        expected = 200 if user == "runner" and not is_old(either_shop) else 403
        assert either_shop.status("POST", f"{SPACE}/{verb}", [API], user=user) == expected
    either_shop.grant("runner", "namespace:sales", "READ")
    assert either_shop.status("POST", f"{SPACE}/{verb}", [API], user="runner") == 200


def test_what_runs_already_or_does_not_run_is_the_error_of_its_element(shop: Wire) -> None:
    assert codes(batch(shop, "start", API, API, NIGHTLY, NIGHTLY, user="runner")) == [
        *(200, 409, 200, 200)
    ]
    assert codes(batch(shop, "stop", API, API, FLOW, NIGHTLY, user="runner")) == [
        *(200, 400, 400, 200)
    ]
    rows = batch(shop, "runcount", API, NIGHTLY, FLOW, user="reader")
    assert [row["runCount"] for row in rows] == [1, 2, 0]


def test_a_start_tells_its_run_and_takes_arguments(shop: Wire) -> None:
    element = {**NIGHTLY, "runtimeargs": {"a": "1"}}
    [started] = batch(shop, "start", element, user="runner")
    path = f"{SPACE}/apps/shop/workflows/nightly/runs/{started['runId']}"
    run = shop.good("GET", path, user="reader")
    assert run["properties"] == {"runtimeArgs": '{"a": "1"}'}


def test_of_each_history_the_newest_run_is_told(shop: Wire) -> None:
    batch(shop, "start", NIGHTLY, user="runner")
    [second] = batch(shop, "start", NIGHTLY, user="runner")
    rows = batch(shop, "runs", NIGHTLY, API, user="writer")
    assert len(rows[0]["runs"]) == 1
    assert rows[0]["runs"][0]["properties"] == {}
    assert rows[1]["runs"] == []
    paths = f"{SPACE}/apps/shop/workflows/nightly/runs"
    assert second["runId"] in {one["runid"] for one in shop.good("GET", paths, user="reader")}


def test_instances_are_those_of_services_workers_and_flowlets(shop: Wire) -> None:
    path = f"{SPACE}/apps/shop/flows/visits/flowlets/saver/instances"
    shop.good("PUT", path, {"instances": 3}, user="keeper")
    saver = {**FLOW, "runnableId": "saver"}
    rows = batch(shop, "instances", saver, WORKER, FLOW, NIGHTLY, user="reader")
    assert rows[0] == {**saver, "statusCode": 200, "requested": 3, "provisioned": 0}
    assert codes(rows) == [200, 200, 400, 400]


@pytest.mark.parametrize(
    "body",
    [
        {},
        [{}],
        [{"appId": "shop", "programType": "Workflow"}],
        [{**NIGHTLY, "programType": "Query"}],
        [{**NIGHTLY, "appId": "shop.service"}],
        [{**NIGHTLY, "programId": "a.b"}],
        ["nightly"],
    ],
)
@pytest.mark.parametrize("verb", VERBS)
def test_what_names_no_programs_is_400(shop: Wire, verb: str, body: object) -> None:
    assert shop.status("POST", f"{SPACE}/{verb}", body, user="reader") == 400


@pytest.mark.parametrize("verb", VERBS)
def test_nothing_asked_is_nothing_answered(shop: Wire, verb: str) -> None:
    assert batch(shop, verb, user="stranger") == []


@pytest.mark.parametrize("verb", VERBS)
def test_there_is_an_end_to_what_is_asked_at_once(shop: Wire, verb: str) -> None:
    shop.services = replace(shop.services, batch_rows=2)
    assert shop.status("POST", f"{SPACE}/{verb}", [NONE] * 3, user="reader") == 400
