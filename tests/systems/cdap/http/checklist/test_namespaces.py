"""Items 5, 20 and 21: namespaces, and what is visible in them.

SOURCE: cdap reference 6; cdapio/cdap at v5.1.2, AuthorizationTest; cdapio/cdap-integration-tests,
BasicAuthorizationTest.
"""

from __future__ import annotations

from typing import Final

import pytest

from tests.systems.cdap.http.saying import (
    NOTHING_IN_NAMESPACE,
    SPACE,
    application,
    names,
    program,
    refused,
    revoke_all,
    space,
    upload,
)
from tests.systems.cdap.http.wire import BOSS, Wire


def test_05_a_namespace_follows_what_is_granted_and_cleared(wire: Wire) -> None:
    refused(wire, "dana", "PUT", SPACE)
    wire.grant("dana", "namespace:sales", "ADMIN")
    assert wire.status("PUT", SPACE, user="dana") == 200
    assert names(wire, "namespaces", "dana") == ["sales"]
    revoke_all(wire, "namespace:sales")
    assert names(wire, "namespaces", "dana") == []
    assert NOTHING_IN_NAMESPACE in refused(wire, "dana", "GET", SPACE)
    properties = {"description": "what is sold"}
    refused(wire, "dana", "PUT", f"{SPACE}/properties", properties)
    wire.grant("dana", "namespace:sales", "ADMIN")
    wire.good("PUT", f"{SPACE}/properties", properties, user="dana")
    assert wire.good("GET", SPACE, user="dana")["description"] == "what is sold"


def test_20_a_namespace_goes_only_with_admin_on_it_and_on_all_in_it(wire: Wire) -> None:
    space(wire)
    wire.grant("eve", "stream:sales.clicks", "ADMIN")
    wire.good("PUT", f"{SPACE}/streams/clicks", user="eve")
    gone = f"unrecoverable/{SPACE}"
    assert "stream:sales.clicks" in refused(wire, BOSS, "DELETE", gone)
    assert "namespace:sales" in refused(wire, "eve", "DELETE", gone)
    assert names(wire, f"{SPACE}/streams", "eve") == ["clicks"]
    wire.grant(BOSS, "stream:sales.clicks", "ADMIN")
    assert wire.status("DELETE", gone) == 200
    assert wire.status("GET", SPACE) == 404


SHOWN: Final[dict[str, dict[str, dict[str, list[str]]]]] = {
    # user: namespace: list: names
    "ana": {
        "ns1": {"apps": ["a1"], "data/datasets": ["d1", "d2"], "streams": [], "artifacts": []},
    },
    "bob": {
        "ns1": {"apps": [], "data/datasets": [], "streams": ["s1"], "artifacts": ["etl"]},
        "ns2": {"apps": ["a1"], "data/datasets": ["d1"], "streams": ["s1"], "artifacts": ["etl"]},
    },
    "eve": {
        "ns2": {"apps": ["a1"], "data/datasets": [], "streams": [], "artifacts": []},
    },
}
"""The contents of lists: `eve` holds only EXECUTE on a program of `ns2`."""

GIVEN: Final = {
    "ana": (
        ("application:ns1.a1", "READ"),
        ("dataset:ns1.d1", "WRITE"),
        ("dataset:ns1.d2", "EXECUTE"),
    ),
    "bob": (
        ("stream:ns1.s1", "ADMIN"),
        ("artifact:ns1.etl", "EXECUTE"),
        ("application:ns2.*", "ADMIN"),
        ("dataset:ns2.d1", "READ"),
        ("stream:ns2.s?", "WRITE"),
        ("artifact:ns2.etl", "READ"),
    ),
    "eve": (("program:ns2.a1.workflow.w1", "EXECUTE"),),
}

LISTS: Final = ("apps", "data/datasets", "streams", "artifacts")


@pytest.fixture
def two(wire: Wire) -> Wire:
    """Two namespaces with the same contents."""
    for name in ("ns1", "ns2"):
        at = f"namespaces/{name}"
        space(wire, name)
        for type in ("artifact", "application", "dataset", "stream"):
            wire.grant(BOSS, f"{type}:{name}.*", "ADMIN")
        assert upload(wire, at=at) == 200
        config = application(
            programs=[program("workflow", "w1")], datasets=["d1", "d2"], streams=["s1"]
        )
        wire.good("PUT", f"{at}/apps/a1", config)
    for user, given in GIVEN.items():
        for id, action in given:
            wire.grant(user, id, action)
    return wire


@pytest.mark.parametrize("user", SHOWN)
def test_21_everybody_is_shown_what_he_holds_anything_on_and_no_more(two: Wire, user: str) -> None:
    assert names(two, "namespaces", user) == sorted(SHOWN[user])
    for name, lists in SHOWN[user].items():
        at = f"namespaces/{name}"
        for below, expected in lists.items():
            assert names(two, f"{at}/{below}?scope=user", user) == expected, (name, below)
        assert two.status("GET", at, user=user) == 200
    assert names(two, "namespaces/ns2/workflows", "eve") == ["w1"]
    assert names(two, "namespaces/ns2/workflows", "bob") == []


@pytest.mark.parametrize("below", LISTS)
def test_21_listing_in_a_namespace_that_is_not_visible_is_refused(two: Wire, below: str) -> None:
    for user, name in (("ana", "ns2"), ("eve", "ns1"), ("zed", "ns1")):
        text = refused(two, user, "GET", f"namespaces/{name}/{below}")
        assert NOTHING_IN_NAMESPACE in text
