"""Impersonation: creating something for an owner principal requires ADMIN on that principal.

Each way of creating something, in each case that the sources distinguish: another user's
principal, one's own, and the namespace's, which owns everything without its own principal.
SOURCE: cdap reference 2.9; CDAP authorization reference 5.1.2, rows on principals (CDL-ROW-54 to
CDL-ROW-57, CDL-ROW-63).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pytest

from tests.systems.cdap.http.wire import BOSS, Wire

PRINCIPAL: Final = "eve/h1.corp@CORP"
SPACE: Final = "namespaces/sales"
NEEDED: Final = f"'[ADMIN]' on entity 'kerberosprincipal:{PRINCIPAL}'"
FROM_ETL: Final = {"artifact": {"name": "etl", "version": "1.0"}}


class Way(NamedTuple):
    """A request that creates something for an owner, and its requirements in the later profile."""

    method: str
    path: str
    body: Callable[[str | None], Any]
    needs: tuple[str, ...]
    headers: Callable[[str | None], dict[str, str]] = lambda _: {}


def _said(more: dict[str, Any]) -> Callable[[str | None], Any]:
    return lambda owner: more if owner is None else {**more, "principal": owner}


def _namespace(owner: str | None) -> Any:
    return {"config": {"principal": owner, "keytabURI": "file:///k"}} if owner else {}


def _uploaded(owner: str | None) -> dict[str, str]:
    named = {"X-Archive-Name": "fresh-1.0.jar", "X-App-Config": json.dumps({"name": "shop"})}
    return named if owner is None else {**named, "X-Principal": owner}


_APP: Final = ("application:sales.shop", "artifact:sales.etl")
_SHOP: Final = f"{SPACE}/apps/shop"

WAYS: Final = {
    "namespace": Way("PUT", "namespaces/hr", _namespace, ("namespace:hr",)),
    "dataset": Way(
        "PUT", f"{SPACE}/data/datasets/t", _said({"typeName": "table"}), ("dataset:sales.t",)
    ),
    "stream": Way("PUT", f"{SPACE}/streams/s", _said({}), ("stream:sales.s",)),
    "application": Way("PUT", _SHOP, _said(FROM_ETL), _APP),
    "version": Way("POST", f"{_SHOP}/versions/2.0/create", _said(FROM_ETL), _APP),
    "upload": Way(
        *("POST", f"{SPACE}/apps", lambda _: b"jar"),
        ("application:sales.shop", "artifact:sales.fresh"),
        _uploaded,
    ),
}

INSIDE: Final = sorted(set(WAYS) - {"namespace"})
"""Ways of creating something in a namespace, which may have its own owner."""


def make(wire: Wire, way: Way, user: str, owner: str | None) -> tuple[int, str]:
    """The response to a user who creates it so."""
    return wire.ask(way.method, way.path, way.body(owner), user=user, headers=way.headers(owner))


def prepared(wire: Wire, owner: str | None = None) -> Wire:
    """A namespace with an artifact; its programs run as `owner`."""
    wire.grant(BOSS, "instance:cdap")
    for id in ("namespace:sales", "artifact:sales.etl", f"kerberosprincipal:{PRINCIPAL}"):
        wire.grant(BOSS, id)
    wire.good("PUT", SPACE, _namespace(owner))
    path = f"{SPACE}/artifacts/etl"
    wire.good("POST", path, b"x", headers={"Artifact-Version": "1.0"})
    return wire


def able(wire: Wire, way: Way, *users: str) -> None:
    """Grants everything except the principal."""
    for user in users:
        for id in way.needs:
            wire.grant(user, id, "ADMIN")


@pytest.fixture
def space(wire: Wire) -> Wire:
    """A namespace without an owner, in the later profile."""
    return prepared(wire)


@pytest.fixture
def owned(wire: Wire) -> Wire:
    """A namespace whose programs run as `PRINCIPAL`, in the later profile."""
    return prepared(wire, PRINCIPAL)


@pytest.mark.parametrize("name", WAYS)
def test_an_owner_takes_admin_on_his_principal_and_nothing_else_will_do(
    space: Wire, name: str
) -> None:
    way = WAYS[name]
    able(space, way, "dana")
    for action in ("READ", "WRITE", "EXECUTE"):
        space.grant("dana", f"kerberosprincipal:{PRINCIPAL}", action)
    space.grant("dana", "kerberosprincipal:eve/h2.corp@CORP", "ADMIN")
    status, text = make(space, way, "dana", PRINCIPAL)
    assert (status, NEEDED in text) == (403, True)
    space.grant("dana", f"kerberosprincipal:{PRINCIPAL}", "ADMIN")
    assert make(space, way, "dana", PRINCIPAL)[0] == 200


@pytest.mark.parametrize("name", WAYS)
def test_the_principal_alone_makes_nothing(space: Wire, name: str) -> None:
    space.grant("dana", f"kerberosprincipal:{PRINCIPAL}", "ADMIN")
    status, text = make(space, WAYS[name], "dana", PRINCIPAL)
    assert (status, WAYS[name].needs[0] in text) == (403, True)


@pytest.mark.parametrize("name", WAYS)
def test_of_one_s_own_principal_nothing_is_asked(space: Wire, name: str) -> None:
    able(space, WAYS[name], "eve")
    assert make(space, WAYS[name], "eve", PRINCIPAL)[0] == 200


@pytest.mark.parametrize("name", WAYS)
def test_a_wildcard_gives_the_principals_that_it_covers(space: Wire, name: str) -> None:
    able(space, WAYS[name], "dana", "cid")
    space.grant("dana", "kerberosprincipal:eve/*@CORP", "ADMIN")
    space.grant("cid", "kerberosprincipal:eve@*", "ADMIN")
    assert make(space, WAYS[name], "cid", PRINCIPAL)[0] == 403
    assert make(space, WAYS[name], "dana", PRINCIPAL)[0] == 200


@pytest.mark.parametrize("name", INSIDE)
def test_the_principal_of_the_namespace_owns_what_names_none(owned: Wire, name: str) -> None:
    way = WAYS[name]
    able(owned, way, "dana")
    status, text = make(owned, way, "dana", None)
    assert (status, NEEDED in text) == (403, True)
    owned.grant("dana", f"kerberosprincipal:{PRINCIPAL}", "ADMIN")
    assert make(owned, way, "dana", None)[0] == 200


@pytest.mark.parametrize("name", INSIDE)
def test_one_s_own_principal_comes_before_that_of_the_namespace(owned: Wire, name: str) -> None:
    able(owned, WAYS[name], "dana")
    assert make(owned, WAYS[name], "dana", "dana@CORP")[0] == 200


@pytest.mark.parametrize("name", INSIDE)
def test_the_principal_of_the_namespace_counts_after_a_restart_too(owned: Wire, name: str) -> None:
    owned.reopened()
    able(owned, WAYS[name], "dana", "eve")
    assert make(owned, WAYS[name], "dana", None)[0] == 403
    assert make(owned, WAYS[name], "eve", None)[0] == 200


@pytest.mark.parametrize("name", WAYS)
def test_without_an_owner_nobody_is_asked_about(space: Wire, name: str) -> None:
    able(space, WAYS[name], "dana")
    assert make(space, WAYS[name], "dana", None)[0] == 200


@pytest.mark.parametrize("name", WAYS)
def test_in_the_older_profile_owners_are_not_asked_about(old: Wire, name: str) -> None:
    prepared(old)
    assert make(old, WAYS[name], "dana", PRINCIPAL)[0] == 403
    for id in ("instance:cdap", "namespace:sales"):
        old.grant("dana", id, "WRITE")
    old.grant("dana", "artifact:sales.etl", "READ")
    assert make(old, WAYS[name], "dana", PRINCIPAL)[0] == 200


@pytest.mark.parametrize("path", ["data/datasets/t", "streams/s"])
def test_what_is_made_in_the_namespace_system_has_no_owner_of_it(wire: Wire, path: str) -> None:
    for id in ("dataset:system.t", "stream:system.s"):
        wire.grant("dana", id, "ADMIN")
    assert (
        wire.status("PUT", f"namespaces/system/{path}", {"typeName": "table"}, user="dana") == 200
    )
