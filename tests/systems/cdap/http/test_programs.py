"""Programs over the wire: who may start, stop, read and change them, in both profiles."""

from __future__ import annotations

import pytest

from tests.systems.cdap.http.shop import (
    API,
    APP,
    FLOW,
    NIGHTLY,
    PEOPLE,
    PROGRAMS,
    REQUEST,
    SPACE,
    WORKER,
    is_old,
    lets,
)
from tests.systems.cdap.http.wire import BOSS, Wire

ANYBODY = set(PEOPLE)
GONE = "unrecoverable/namespaces/sales"


def state(wire: Wire, path: str = NIGHTLY, user: str = "reader") -> str:
    return str(wire.good("GET", f"{path}/status", user=user)["status"])


@pytest.mark.parametrize("path", PROGRAMS.values())
def test_a_program_is_started_and_stopped_by_whoever_holds_execute(shop: Wire, path: str) -> None:
    assert state(shop, path) == "STOPPED"
    assert shop.ask("POST", f"{path}/start", user="runner") == (200, "")
    assert state(shop, path) == "RUNNING"
    assert shop.ask("POST", f"{path}/stop", user="runner") == (200, "")
    assert state(shop, path) == "STOPPED"


@pytest.mark.parametrize("verb", ["start", "stop", "debug"])
def test_nobody_else_starts_stops_or_debugs(shop: Wire, verb: str) -> None:
    assert lets(shop, "POST", f"{FLOW}/{verb}") == {"runner"}


def test_in_the_older_profile_starting_takes_read_on_the_namespace_too(old_shop: Wire) -> None:
    for verb in ("start", "stop", "debug"):
        status, text = old_shop.ask("POST", f"{FLOW}/{verb}", user="runner")
        assert (status, "'[READ]' on entity 'namespace:sales'" in text) == (403, True)
    old_shop.grant("runner", "namespace:sales", "READ")
    assert old_shop.status("POST", f"{FLOW}/debug", user="runner") == 200
    assert old_shop.status("POST", f"{FLOW}/stop", user="runner") == 200
    old_shop.grant("reader", "namespace:sales", "READ")
    assert old_shop.status("POST", f"{FLOW}/start", user="reader") == 403


@pytest.mark.parametrize("path", [API, FLOW, WORKER])
def test_what_runs_once_only_is_not_started_again(shop: Wire, path: str) -> None:
    shop.good("POST", f"{path}/start", user="runner")
    status, text = shop.ask("POST", f"{path}/start", user="runner")
    assert (status, text.endswith("is already running")) == (409, True)
    assert shop.good("GET", f"{path}/runcount", user="reader") == 1


def test_a_program_that_does_not_run_is_not_stopped(shop: Wire) -> None:
    assert shop.ask("POST", f"{NIGHTLY}/stop", user="runner") == (
        400,
        "'program:sales.shop.workflow.nightly' is not running",
    )


@pytest.mark.parametrize("user", ["runner", "stranger"])
def test_what_cannot_be_debugged_is_501_whoever_asks(either_shop: Wire, user: str) -> None:
    assert either_shop.status("POST", f"{NIGHTLY}/debug", user=user) == 501


def test_debugging_starts_a_program(shop: Wire) -> None:
    for path in (API, FLOW, WORKER):
        shop.good("POST", f"{path}/debug", user="runner")
        assert state(shop, path) == "RUNNING"


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"a":1}'])
def test_arguments_are_maps_of_texts(shop: Wire, body: bytes) -> None:
    assert shop.status("POST", f"{NIGHTLY}/start", body, user="runner") == 400
    assert state(shop) == "STOPPED"


def test_whoever_holds_admin_sets_instances_and_arguments(either_shop: Wire) -> None:
    assert lets(either_shop, "PUT", f"{API}/instances", {"instances": 3}) == {"keeper"}
    assert lets(either_shop, "PUT", f"{API}/runtimeargs", {"a": "1"}) == {"keeper"}
    assert either_shop.good("GET", f"{API}/instances", user="reader")["instances"] == 3
    assert either_shop.good("GET", f"{API}/runtimeargs", user="reader") == {"a": "1"}


def test_arguments_are_read_by_all_but_who_only_writes(shop: Wire) -> None:
    assert lets(shop, "GET", f"{API}/runtimeargs") == {"reader", "runner", "keeper"}
    shop.grant("writer", "namespace:sales")
    shop.grant("writer", "application:sales.shop")
    _, text = shop.ask("GET", f"{API}/runtimeargs", user="writer")
    assert "any one of the actions '[READ, EXECUTE, ADMIN]'" in text


@pytest.mark.parametrize("below", ["", "/status", "/runs", "/runcount", "/instances"])
def test_the_rest_is_read_with_any_privilege_or_in_the_older_profile_with_read(
    either_shop: Wire, below: str
) -> None:
    expected = {"reader"} if is_old(either_shop) else ANYBODY
    assert lets(either_shop, "GET", f"{API}{below}") == expected


def test_arguments_and_preferences_are_kept_apart(shop: Wire) -> None:
    shop.good("PUT", f"{API}/runtimeargs", {"secret": "1"}, user="keeper")
    assert shop.good("GET", f"{API}/preferences", user="writer") == {}
    shop.good("PUT", f"{API}/preferences", {"b": "2"}, user="keeper")
    assert shop.good("GET", f"{API}/runtimeargs", user="keeper") == {"secret": "1"}


def test_preferences_of_a_program_take_what_each_profile_says(either_shop: Wire) -> None:
    old = is_old(either_shop)
    sets = {"writer"} if old else {"keeper"}
    assert lets(either_shop, "PUT", f"{API}/preferences", {}) == sets
    assert lets(either_shop, "DELETE", f"{API}/preferences") == sets
    assert lets(either_shop, "GET", f"{API}/preferences") == ({"reader"} if old else ANYBODY)


def test_instances_are_provisioned_while_a_program_runs(shop: Wire) -> None:
    shop.good("PUT", f"{WORKER}/instances", {"instances": 4}, user="keeper")
    expected = {"instances": 4, "requested": 4, "provisioned": 0}
    assert shop.good("GET", f"{WORKER}/instances", user="reader") == expected
    shop.good("POST", f"{WORKER}/start", user="runner")
    assert shop.good("GET", f"{WORKER}/instances", user="reader")["provisioned"] == 4


@pytest.mark.parametrize("body", [{}, {"instances": 0}, {"instances": "2"}, {"instances": 2.5}, []])
def test_there_is_at_least_one_instance(shop: Wire, body: object) -> None:
    assert shop.status("PUT", f"{API}/instances", body, user="keeper") == 400
    assert shop.status("PUT", f"{FLOW}/flowlets/saver/instances", body, user="keeper") == 400


def test_only_services_and_workers_have_instances(shop: Wire) -> None:
    for path in (NIGHTLY, FLOW):
        assert shop.status("GET", f"{path}/instances", user="stranger") == 403
        assert shop.status("GET", f"{path}/instances", user="reader") == 404
        assert shop.status("PUT", f"{path}/instances", {"instances": 2}, user="keeper") == 404


def test_flowlets_have_instances_of_their_own(either_shop: Wire) -> None:
    path = f"{FLOW}/flowlets/saver/instances"
    assert lets(either_shop, "PUT", path, {"instances": 5}) == {"keeper"}
    assert lets(either_shop, "GET", path) == ({"reader"} if is_old(either_shop) else ANYBODY)
    assert either_shop.good("GET", path, user="reader") == {"instances": 5}
    other = f"{FLOW}/flowlets/other/instances"
    assert either_shop.good("GET", other, user="reader") == {"instances": 1}
    bad = f"{FLOW}/flowlets/a.b/instances"
    assert either_shop.status("GET", bad, user="reader") == 400


def test_a_flow_has_no_more_flowlets_than_can_be_kept(shop: Wire) -> None:
    for at in range(100):
        path = f"{FLOW}/flowlets/f{at}/instances"
        shop.good("PUT", path, {"instances": 2}, user="keeper")
    more = f"{FLOW}/flowlets/more/instances"
    assert shop.status("PUT", more, {"instances": 2}, user="keeper") == 400
    known = f"{FLOW}/flowlets/f7/instances"
    assert shop.status("PUT", known, {"instances": 3}, user="keeper") == 200


def test_a_program_is_told_with_what_its_application_says(shop: Wire) -> None:
    assert shop.good("GET", API, user="reader") == {
        "className": "",
        "name": "api",
        "description": "a service",
        "properties": {},
    }


def test_programs_are_listed_by_type(shop: Wire) -> None:
    assert shop.good("GET", f"{SPACE}/services", user="reader") == [
        {"type": "Service", "app": "shop", "name": "api", "description": "a service"}
    ]
    assert shop.good("GET", f"{SPACE}/spark", user="reader") == []
    assert shop.status("GET", f"{SPACE}/queries", user="reader") == 404


def test_any_privilege_lists_a_program_in_the_later_profile(shop: Wire) -> None:
    for user in PEOPLE:
        assert len(shop.good("GET", f"{SPACE}/flows", user=user)) == 1
    status, text = shop.ask("GET", f"{SPACE}/flows", user="stranger")
    assert status == 403
    assert "since the principal does not have any privilege on this namespace" in text


def test_execute_alone_lists_nothing_in_the_older_profile(old_shop: Wire) -> None:
    counts = {user: len(old_shop.good("GET", f"{SPACE}/flows", user=user)) for user in PEOPLE}
    assert counts == {"reader": 1, "writer": 1, "runner": 0, "keeper": 1}
    assert old_shop.good("GET", f"{SPACE}/flows", user="stranger") == []


def test_whoever_deploys_is_shown_no_program_until_something_is_granted(shop: Wire) -> None:
    assert shop.good("GET", f"{SPACE}/workflows") == []
    assert shop.good("GET", APP)["programs"] == []
    shop.grant(BOSS, "program:sales.shop.workflow.nightly", "EXECUTE")
    assert [one["name"] for one in shop.good("GET", f"{SPACE}/workflows")] == ["nightly"]
    assert shop.good("GET", f"{SPACE}/services") == []


def test_whoever_deploys_cannot_start_without_execute(shop: Wire) -> None:
    status, text = shop.ask("POST", f"{NIGHTLY}/start")
    id = "program:sales.shop.workflow.nightly"
    assert (status, f"actions '[EXECUTE]' on entity '{id}'" in text) == (403, True)
    shop.grant(BOSS, id, "EXECUTE")
    assert shop.status("POST", f"{NIGHTLY}/start") == 200


def test_in_the_older_profile_whoever_deploys_holds_all_on_the_programs(old_shop: Wire) -> None:
    assert old_shop.status("POST", f"{NIGHTLY}/start") == 200
    assert state(old_shop, user=BOSS) == "RUNNING"


@pytest.mark.parametrize(
    ("method", "below"),
    [
        ("GET", ""),
        ("GET", "/status"),
        ("GET", "/runs"),
        ("GET", "/runs/none"),
        ("GET", "/runcount"),
        ("GET", "/runtimeargs"),
        ("PUT", "/runtimeargs"),
        ("GET", "/instances"),
        ("PUT", "/instances"),
        ("POST", "/start"),
        ("POST", "/stop"),
        ("POST", "/debug"),
        ("POST", "/runs/none/stop"),
        ("PUT", "/runs/none/loglevels"),
        ("GET", "/schedules"),
    ],
)
def test_what_is_not_there_is_403_before_it_is_404(
    either_shop: Wire, method: str, below: str
) -> None:
    for app in ("shop", "none"):
        path = f"{SPACE}/apps/{app}/services/none{below}"
        assert either_shop.status(method, path, {}, user="stranger") == 403
        either_shop.grant("friend", f"program:sales.{app}.service.none")
        either_shop.grant("friend", "namespace:sales", "READ")
        assert either_shop.status(method, path, {}, user="friend") == 404


def test_what_runs_is_not_deleted_with_its_application(either_shop: Wire) -> None:
    wire = either_shop
    wire.grant(BOSS, "program:sales.shop.*")
    wire.good("POST", f"{NIGHTLY}/start")
    for path in (APP, f"{SPACE}/apps", f"{APP}/versions/-SNAPSHOT", GONE):
        status, text = wire.ask("DELETE", path)
        assert (status, "program:sales.shop.workflow.nightly" in text) == (409, True)
    assert wire.status("PUT", APP, {**REQUEST, "config": {}}) == 409
    assert state(wire, user=BOSS) == "RUNNING"
    wire.good("POST", f"{NIGHTLY}/stop")
    wire.good("DELETE", APP)
    assert wire.status("GET", APP) == (403 if is_old(wire) else 404)


def test_a_running_program_holds_up_a_deletion_only_for_who_may_delete(shop: Wire) -> None:
    shop.good("POST", f"{NIGHTLY}/start", user="runner")
    for path in (APP, f"{SPACE}/apps", GONE):
        assert shop.status("DELETE", path, user="runner") == 403


def test_a_namespace_is_deleted_once_nothing_runs_in_it(shop: Wire) -> None:
    shop.grant(BOSS, "program:sales.shop.*")
    shop.good("POST", f"{NIGHTLY}/start")
    assert shop.status("DELETE", GONE) == 409
    shop.good("POST", f"{NIGHTLY}/stop")
    assert shop.status("DELETE", GONE) == 200


def test_what_a_program_does_outlasts_the_server(shop: Wire) -> None:
    shop.good("POST", f"{API}/start", user="runner")
    shop.good("PUT", f"{API}/instances", {"instances": 7}, user="keeper")
    shop.reopened()
    assert state(shop, API) == "RUNNING"
    assert shop.good("GET", f"{API}/instances", user="reader")["provisioned"] == 7


def test_a_program_that_comes_back_has_forgotten_everything(shop: Wire) -> None:
    shop.good("POST", f"{API}/start", user="runner")
    shop.good("POST", f"{API}/stop", user="runner")
    shop.good("PUT", f"{API}/runtimeargs", {"a": "1"}, user="keeper")
    shop.good("DELETE", APP)
    shop.good("PUT", APP, REQUEST)
    assert shop.good("GET", f"{API}/runs", user="reader") == []
    assert shop.good("GET", f"{API}/runcount", user="reader") == 0
    assert shop.good("GET", f"{API}/runtimeargs", user="reader") == {}
