"""Preferences over the wire: who may set and read them, at every level, in both profiles (K10)."""

from __future__ import annotations

import pytest

from tests.systems.cdap.http.estate import CLICKS, NIGHTLY, SHOP, SPACE, build, give, lets
from tests.systems.cdap.http.wire import Wire

LEVELS = {
    "namespace:sales": f"{SPACE}/preferences",
    "application:sales.shop": f"{SHOP}/preferences",
    "program:sales.shop.workflow.nightly": f"{NIGHTLY}/preferences",
    "stream:sales.clicks": f"{CLICKS}/preferences",
    "instance:cdap": "preferences",
}
"""All entities with preferences, and their paths."""

EVERYBODY = {"reader", "writer", "runner", "keeper"}


@pytest.mark.parametrize("id", LEVELS)
def test_admin_sets_and_any_privilege_gets_them_in_the_later_profile(wire: Wire, id: str) -> None:
    build(wire)
    give(wire, id)
    assert lets(wire, "PUT", LEVELS[id], {"k": "v"}) == {"keeper"}
    assert lets(wire, "GET", LEVELS[id]) == EVERYBODY
    assert lets(wire, "DELETE", LEVELS[id]) == {"keeper"}


@pytest.mark.parametrize("id", LEVELS)
def test_write_sets_and_read_gets_them_in_the_older_profile(old: Wire, id: str) -> None:
    build(old)
    give(old, id)
    assert lets(old, "PUT", LEVELS[id], {"k": "v"}) == {"writer"}
    assert lets(old, "GET", LEVELS[id]) == {"reader"}
    assert lets(old, "DELETE", LEVELS[id]) == {"writer"}


def test_a_privilege_on_a_program_gets_those_of_what_is_above_but_the_instance(wire: Wire) -> None:
    build(wire)
    wire.grant("eve", "program:sales.shop.workflow.nightly", "EXECUTE")
    for id in ("namespace:sales", "application:sales.shop"):
        assert wire.status("GET", LEVELS[id], user="eve") == 200
    assert wire.status("GET", LEVELS["instance:cdap"], user="eve") == 403


def test_all_that_counts_is_asked_about_on_what_is_named_alone(wire: Wire) -> None:
    build(wire)
    wire.good("PUT", LEVELS["instance:cdap"], {"a": "instance", "b": "instance"})
    wire.good("PUT", LEVELS["namespace:sales"], {"b": "namespace"})
    wire.grant("eve", "program:sales.shop.workflow.nightly", "READ")
    program = LEVELS["program:sales.shop.workflow.nightly"]
    found = wire.good("GET", f"{program}?resolved=true", user="eve")
    assert found == {"a": "instance", "b": "namespace"}
