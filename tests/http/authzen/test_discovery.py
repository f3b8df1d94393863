"""Discovery: the endpoints of the server and of one realm, the same for every caller."""

from __future__ import annotations

import json

import pytest

from lakewarden.http.authzen import discovery
from lakewarden.http.authzen.dialect import AuthZen
from lakewarden.kernel.errors import BadInput
from lakewarden.service.system import load_system
from tests.http.authzen.small import Asking, records, state

PDP = Asking(state(records()))


@pytest.mark.parametrize("name", ["records", "nowhere", "_server"])
def test_a_realms_path_behind_it_gives_the_realms_endpoints(name: str) -> None:
    reply = discovery.configuration(PDP.exchange(params={"realm": name}))
    document = json.loads(reply.body)
    assert document["policy_decision_point"] == f"https://pdp.test/r/{name}"
    assert document["access_evaluation_endpoint"] == (
        f"https://pdp.test/r/{name}/access/v1/evaluation"
    )


def test_below_a_realms_path_it_is_the_same() -> None:
    behind = discovery.configuration(PDP.exchange(params={"realm": "records"}))
    below = discovery.configuration(PDP.exchange(realm="records"))
    assert behind.body == below.body


@pytest.mark.parametrize("name", ["", "a/b", "?x", "UPPER", "x" * 64])
def test_what_cannot_name_a_realm_is_refused(name: str) -> None:
    with pytest.raises(BadInput):
        discovery.configuration(PDP.exchange(params={"realm": name}))


def test_every_route_has_a_declared_operation() -> None:
    declared = load_system("control").model.operations
    assert {route.operation for route in AuthZen().routes()} <= set(declared)
