"""System services over the wire: everybody may read, some may change (K15)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.cdap.http.estate import ACTIONS, give, lets
from tests.systems.cdap.http.wire import ADMIN, Wire

SERVICES = "system/services"
METRICS = f"{SERVICES}/metrics"
ID = "system_service:metrics"


@pytest.fixture
def ruled(either: Wire) -> Wire:
    """A server of either profile on which `keeper` may change the service `metrics`."""
    give(either, ID)
    return either


def test_everybody_sees_how_the_services_do(either: Wire) -> None:
    rows = {one["name"]: one for one in either.good("GET", SERVICES, user="zed")}
    assert rows["metrics"] == {
        "name": "metrics",
        "description": "Service to handle metrics requests.",
        "status": "OK",
        "logs": "OK",
        "min": 1,
        "max": 5,
        "requested": 1,
        "provisioned": 1,
    }
    assert either.good("GET", f"{SERVICES}/status", user="zed") == dict.fromkeys(rows, "OK")
    for name in rows:
        assert either.good("GET", f"{SERVICES}/{name}/status", user="zed") == {"status": "OK"}


def test_admin_on_the_service_sets_its_instances(ruled: Wire) -> None:
    path = f"{METRICS}/instances"
    assert lets(ruled, "PUT", path, {"instances": 3}) == {"keeper"}
    ruled.reopened()
    assert ruled.good("GET", path, user="zed") == {"requested": 3, "provisioned": 3}
    other = f"{SERVICES}/metrics.processor/instances"
    assert ruled.good("GET", other, user="zed") == {"requested": 1, "provisioned": 1}
    assert ruled.status("PUT", other, {"instances": 2}, user="keeper") == 403


def test_admin_on_the_instance_changes_every_service(either: Wire) -> None:
    give(either, "instance:cdap")
    for name in ("metrics", "log.saver"):
        path = f"{SERVICES}/{name}/instances"
        assert lets(either, "PUT", path, {"instances": 2}) == {"keeper"}


def test_a_service_whose_name_holds_dots_is_granted_as_any_other(either: Wire) -> None:
    either.grant("eve", "system_service:log.saver", "ADMIN")
    path = f"{SERVICES}/log.saver/instances"
    assert either.status("PUT", path, {"instances": 2}, user="eve") == 200
    either.grant("bob", "system_service:metrics*", "ADMIN")
    path = f"{SERVICES}/metrics.processor/instances"
    assert either.status("PUT", path, {"instances": 2}, user="bob") == 200


def test_a_restart_takes_what_a_change_does_and_is_told(ruled: Wire) -> None:
    assert ruled.status("GET", f"{METRICS}/latest-restart", user="zed") == 404
    ruled.good("PUT", f"{METRICS}/instances", {"instances": 2}, user="keeper")
    assert lets(ruled, "POST", f"{METRICS}/restart") == {"keeper"}
    told = ruled.good("GET", f"{METRICS}/latest-restart", user="zed")
    assert [told["serviceName"], told["status"], told["instanceIds"]] == [
        "metrics",
        "SUCCESS",
        [0, 1],
    ]
    assert lets(ruled, "POST", f"{METRICS}/instances/1/restart") == {"keeper"}
    told = ruled.good("GET", f"{METRICS}/latest-restart", user="zed")
    assert told["instanceIds"] == [1]
    assert ruled.status("POST", f"{METRICS}/instances/2/restart", user="keeper") == 404


def test_an_authorization_admin_changes_no_service(either: Wire) -> None:
    assert either.status("POST", f"{METRICS}/restart", user=ADMIN) == 403


@pytest.mark.parametrize(
    ("method", "below", "body"),
    [
        ("POST", "restart", None),
        ("PUT", "instances", {"instances": 2}),
        ("POST", "instances/1/restart", None),
    ],
)
def test_a_refusal_names_the_service_and_not_the_instance(
    either: Wire, method: str, below: str, body: object
) -> None:
    either.grant("eve", ID, "READ", "WRITE", "EXECUTE")
    status, text = either.ask(method, f"{METRICS}/{below}", body, user="eve")
    assert status == 403
    assert (
        "is not authorized to perform actions '[ADMIN]' on entity 'system_service:metrics'" in text
    )


@pytest.mark.parametrize("body", [{}, {"instances": 0}, {"instances": 6}, {"instances": "2"}, []])
def test_a_number_of_instances_that_cannot_be_is_400(ruled: Wire, body: Any) -> None:
    assert ruled.status("PUT", f"{METRICS}/instances", body, user="keeper") == 400
    assert ruled.good("GET", f"{METRICS}/instances")["requested"] == 1


def test_a_service_that_is_not_there_is_404_to_whoever_may_change_it(either: Wire) -> None:
    either.grant("keeper", "instance:cdap", "ADMIN")
    assert either.status("GET", f"{SERVICES}/absent/status") == 404
    for name in ACTIONS:
        expected = 404 if name == "keeper" else 403
        assert either.status("POST", f"{SERVICES}/absent/restart", user=name) == expected
