"""Runs of programs over the wire: one for each start, shown to permitted users."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.systems.cdap.http import runs
from tests.systems.cdap.http.shop import API, APP, FLOW, NIGHTLY, SPACE, WORKER, lets
from tests.systems.cdap.http.wire import REALM, Json, Wire

NEVER = "b78d0091-da42-11e4-878c-2217c18f435d"
"""The id of a run that never existed."""


def start(wire: Wire, path: str = NIGHTLY, **arguments: str) -> str:
    wire.good("POST", f"{path}/start", arguments, user="runner")
    return str(history(wire, path)[0]["runid"])


def history(wire: Wire, path: str = NIGHTLY, query: str = "", user: str = "reader") -> list[Json]:
    found: list[Json] = wire.good("GET", f"{path}/runs{query}", user=user)
    return found


def at(wire: Wire, seconds: float) -> None:
    """Sets the clock of the server."""
    wire.service.clock = lambda: seconds


def test_a_run_is_told_from_its_start_to_its_end(shop: Wire) -> None:
    at(shop, 1_700_000_000.5)
    id = start(shop, API)
    run = {"runid": id, "starting": 1_700_000_000, "start": 1_700_000_000}
    begun = {**run, "status": "RUNNING", "properties": {"runtimeArgs": "{}"}}
    assert history(shop, API) == [begun]
    at(shop, 1_700_000_060.0)
    shop.good("POST", f"{API}/stop", user="runner")
    ended = {**begun, "status": "KILLED", "end": 1_700_000_060}
    assert history(shop, API) == [ended]
    assert shop.good("GET", f"{API}/runs/{id}", user="reader") == ended


def test_the_id_of_a_run_tells_when_it_started(shop: Wire) -> None:
    at(shop, 1_700_000_000.123)
    id = start(shop)
    assert UUID(id).version == 1
    assert runs.time_of(id) == 1_700_000_000_123


@pytest.mark.parametrize("id", [NEVER, NEVER.upper(), NEVER.replace("-", ""), "none", "0"])
def test_a_run_that_is_not_there_is_404_and_403_first(either_shop: Wire, id: str) -> None:
    for method, below in (("GET", ""), ("POST", "/stop"), ("PUT", "/loglevels")):
        path = f"{API}/runs/{id}{below}"
        assert either_shop.status(method, path, {}, user="stranger") == 403
        either_shop.grant("friend", "program:sales.shop.service.api")
        either_shop.grant("friend", "namespace:sales", "READ")
        assert either_shop.status(method, path, {}, user="friend") == 404


def test_a_run_belongs_to_its_program(shop: Wire) -> None:
    id = start(shop, API)
    assert shop.status("GET", f"{WORKER}/runs/{id}", user="reader") == 404
    assert shop.status("POST", f"{WORKER}/runs/{id}/stop", user="runner") == 404


def test_workflows_run_several_times_at_once_and_stop_one_by_one_or_together(shop: Wire) -> None:
    first, second, third = start(shop), start(shop), start(shop)
    shop.good("POST", f"{NIGHTLY}/runs/{second}/stop", user="runner")
    assert shop.status("POST", f"{NIGHTLY}/runs/{second}/stop", user="runner") == 400
    statuses = {one["runid"]: one["status"] for one in history(shop)}
    assert statuses == {first: "RUNNING", second: "KILLED", third: "RUNNING"}
    assert shop.good("GET", f"{NIGHTLY}/status", user="reader") == {"status": "RUNNING"}
    shop.good("POST", f"{NIGHTLY}/stop", user="runner")
    assert {one["status"] for one in history(shop)} == {"KILLED"}
    assert shop.good("GET", f"{NIGHTLY}/status", user="reader") == {"status": "STOPPED"}


def test_the_last_run_that_is_stopped_leaves_a_program_stopped(shop: Wire) -> None:
    id = start(shop, API)
    assert shop.status("POST", f"{API}/runs/{id}/stop", user="reader") == 403
    shop.good("POST", f"{API}/runs/{id}/stop", user="runner")
    assert shop.good("GET", f"{API}/status", user="reader") == {"status": "STOPPED"}
    assert shop.status("POST", f"{API}/stop", user="runner") == 400


def test_with_what_arguments_a_run_started_is_told_to_who_may_read_them(shop: Wire) -> None:
    shop.good("PUT", f"{API}/runtimeargs", {"a": "1", "b": "1"}, user="keeper")
    id = start(shop, API, b="2", c="3")
    args = {"runtimeArgs": '{"a": "1", "b": "2", "c": "3"}'}
    for user, told in (("reader", args), ("runner", args), ("keeper", args), ("writer", {})):
        assert history(shop, API, user=user)[0]["properties"] == told
        one = shop.good("GET", f"{API}/runs/{id}", user=user)
        assert one["properties"] == told


def test_arguments_of_one_run_are_not_those_of_the_next(shop: Wire) -> None:
    start(shop, NIGHTLY, a="1")
    start(shop, NIGHTLY)
    assert history(shop)[0]["properties"] == {"runtimeArgs": "{}"}


def test_runs_are_asked_for_by_status_time_and_number(shop: Wire) -> None:
    for second in (100, 200, 300):
        at(shop, float(second))
        start(shop)
        if second < 300:
            shop.good("POST", f"{NIGHTLY}/stop", user="runner")

    def starts(query: str) -> list[Any]:
        return [one["start"] for one in history(shop, query=query)]

    assert starts("") == [300, 200, 100]
    assert starts("?status=running") == [300]
    assert starts("?status=KILLED") == [200, 100]
    assert starts("?status=killed&limit=1") == [200]
    assert starts("?status=failed") == []
    assert starts("?start=200") == [300, 200]
    assert starts("?end=200") == [100]
    assert starts("?start=150&end=250") == [200]
    assert starts("?limit=0") == []


@pytest.mark.parametrize("query", ["?status=odd", "?start=x", "?end=-1", "?limit=1.5", "?start=٣"])
def test_a_query_that_cannot_be_read_is_400(shop: Wire, query: str) -> None:
    assert shop.status("GET", f"{API}/runs{query}", user="reader") == 400


def test_of_old_runs_only_the_count_is_left(shop: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "KEPT", 3)
    still = start(shop)
    for _ in range(6):
        shop.good("POST", f"{NIGHTLY}/runs/{start(shop)}/stop", user="runner")
    assert len(history(shop)) == 4
    assert shop.good("GET", f"{NIGHTLY}/runs/{still}", user="reader")["status"] == "RUNNING"
    assert shop.good("GET", f"{NIGHTLY}/runcount", user="reader") == 7


def test_a_program_does_not_run_more_often_at_once_than_can_be_kept(
    shop: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MOST_ACTIVE", 2)
    start(shop)
    start(shop)
    assert shop.status("POST", f"{NIGHTLY}/start", user="runner") == 409


def test_runs_outlast_the_server_and_go_with_the_program(shop: Wire) -> None:
    id = start(shop)
    shop.reopened()
    assert [one["runid"] for one in history(shop)] == [id]
    shop.good("POST", f"{NIGHTLY}/stop", user="runner")
    shop.good("DELETE", APP)
    with shop.store.reading() as reading:
        nightly = Entity("program", "sales.shop.workflow.nightly")
        assert reading.value_counts(REALM, nightly) == {}


def test_log_levels_are_set_and_reset_by_whoever_holds_admin(either_shop: Wire) -> None:
    wire = either_shop
    wire.grant("runner", "namespace:sales", "READ")
    wire.good("POST", f"{FLOW}/start", user="runner")
    path = f"{FLOW}/runs/{history(wire, FLOW)[0]['runid']}"
    assert lets(wire, "PUT", f"{path}/loglevels", {"a": "DEBUG", "b": "OFF"}) == {"keeper"}
    levels = {"a": "DEBUG", "b": "OFF"}
    assert wire.good("GET", path, user="reader")["logLevels"] == levels
    assert lets(wire, "POST", f"{path}/resetloglevels", ["a"]) == {"keeper"}
    assert wire.good("GET", path, user="reader")["logLevels"] == {"b": "OFF"}
    wire.good("POST", f"{path}/resetloglevels", user="keeper")
    assert "logLevels" not in wire.good("GET", path, user="reader")


def test_log_levels_are_those_of_a_run_that_has_not_ended(shop: Wire) -> None:
    path = f"{API}/runs/{start(shop, API)}"
    shop.good("PUT", f"{path}/loglevels", {"a": "WARN"}, user="keeper")
    shop.good("POST", f"{API}/stop", user="runner")
    assert "logLevels" not in shop.good("GET", path, user="reader")
    assert shop.status("PUT", f"{path}/loglevels", {"a": "WARN"}, user="keeper") == 400


def test_not_every_type_of_program_has_log_levels(shop: Wire) -> None:
    path = f"{NIGHTLY}/runs/{start(shop)}/loglevels"
    assert shop.status("PUT", path, {"a": "WARN"}, user="stranger") == 403
    assert shop.status("PUT", path, {"a": "WARN"}, user="keeper") == 400


@pytest.mark.parametrize("body", [{"a": "LOUD"}, {"a": "info"}, {"a": 1}, ["a"]])
def test_a_level_is_one_of_the_known(shop: Wire, body: object) -> None:
    path = f"{API}/runs/{start(shop, API)}/loglevels"
    assert shop.status("PUT", path, body, user="keeper") == 400


def test_a_history_of_what_is_not_shown_is_refused(shop: Wire) -> None:
    start(shop)
    for below in ("/runs", "/runcount", "/status"):
        status, text = shop.ask("GET", f"{NIGHTLY}{below}", user="stranger")
        assert status == 403
        assert "any one of the actions '[READ, WRITE, EXECUTE, ADMIN]'" in text
    assert shop.status("GET", f"{SPACE}/apps/shop/queries/nightly/runs", user="reader") == 404
