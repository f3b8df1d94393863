"""A grant on a descendant makes ancestors visible: also on a deleted or future descendant.

Tests every list and detail that shows a namespace or an application. In the older profile, grants
on descendants have no such effect: there a list checks the entity itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from tests.systems.cdap.http.wire import BOSS, Wire

SALES: Final = "namespaces/sales"
SHOP: Final = f"{SALES}/apps/shop"
KIND: Final = "com.acme.Cube"
PROGRAM: Final = "program:sales.shop.workflow.nightly"

CONFIG: Final = {
    "programs": [{"type": "workflow", "name": "nightly"}],
    "datasets": ["orders"],
    "streams": ["clicks"],
}
ARTIFACT: Final = {"artifact": {"name": "etl", "version": "1.0"}}

INSIDE: Final = (
    *("apps", "artifacts", "streams", "securekeys", "workflows", "services", "flows"),
    *("data/datasets", "data/modules", "data/types", "mapreduce", "spark", "workers"),
)
"""Lists in a namespace, which require visibility of the namespace."""

BELOW: Final = ("", "/preferences", "/metadata", "/metadata/properties", "/metadata/tags")
"""Details of a namespace and of an application."""

OF_APPLICATION: Final = ("/versions", "/plugins", "/schedules")

Drop = Callable[[Wire], Any]


def _without_program(wire: Wire) -> None:
    wire.good("PUT", SHOP, {**ARTIFACT, "config": {}})


CHILDREN: Final[dict[str, Drop]] = {
    "dataset:sales.orders": lambda wire: wire.good("DELETE", f"{SALES}/data/datasets/orders"),
    "stream:sales.clicks": lambda wire: wire.good("DELETE", f"{SALES}/streams/clicks"),
    "securekey:sales.dbpass": lambda wire: wire.good("DELETE", f"{SALES}/securekeys/dbpass"),
    "dataset_module:sales.cubes": lambda wire: wire.good("DELETE", f"{SALES}/data/modules/cubes"),
    f"dataset_type:sales.{KIND}": lambda wire: wire.good("DELETE", f"{SALES}/data/modules/cubes"),
    "artifact:sales.old": lambda wire: wire.good("DELETE", f"{SALES}/artifacts/old/versions/1.0"),
    "application:sales.shop": lambda wire: wire.good("DELETE", SHOP),
    PROGRAM: _without_program,
}
"""A child of each type in a namespace, and the request that drops it."""

AHEAD: Final = (
    *("dataset:sales.never", "stream:sales.never", "securekey:sales.never", "profile:sales.never"),
    *("dataset_module:sales.never", "dataset_type:sales.com.acme.Never", "artifact:sales.never"),
    *(
        "application:sales.never",
        "program:sales.never.flow.was",
        "dataset:sales.*",
        "stream:s*s.n?",
    ),
    *("securekey:sales.n*", "artifact:sales.?", "application:sales.n*", "program:sales.n*.*"),
    *("dataset_type:sales.com.*", "dataset_module:s?les.*", "program:sales.*.flow.was"),
)
"""Names and patterns of missing entities, all in `sales` only."""

OF_SHOP: Final = (
    *("program:sales.shop.flow.never", "program:sales.shop.*", "program:sales.shop.worker.*"),
    *("program:sales.sh?p.spark.x*", "program:s*s.shop.service.never"),
)


def build(wire: Wire) -> Wire:
    """Two namespaces with an application each; one of them has an object of every type."""
    wire.grant(BOSS, "instance:cdap")
    for place in ("sales", "hr"):
        for id in ("artifact:{}.*", "application:{}.*", "program:{}.*.*", "dataset:{}.*"):
            wire.grant(BOSS, id.format(place))
        for id in ("stream:{}.*", "securekey:{}.*", "dataset_module:{}.*", "dataset_type:{}.*"):
            wire.grant(BOSS, id.format(place))
        wire.grant(BOSS, f"namespace:{place}")
        wire.good("PUT", f"namespaces/{place}")
        for name in ("etl", "old"):
            path = f"namespaces/{place}/artifacts/{name}"
            wire.good("POST", path, b"x", headers={"Artifact-Version": "1.0"})
        for app in ("shop", "mail"):
            config = CONFIG if app == "shop" else {}
            path = f"namespaces/{place}/apps/{app}"
            wire.good("PUT", path, {**ARTIFACT, "config": config})
    wire.good("PUT", f"{SALES}/securekeys/dbpass", {"data": "x"})
    wire.good("PUT", f"{SALES}/data/modules/cubes", b"x", headers={"X-Class-Name": KIND})
    return wire


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """A server of the later profile, on which nothing is dropped."""
    with Wire(tmp_path_factory.mktemp("shared")) as one:
        yield build(one)


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """The same for the older profile, with filtered lists of namespaces."""
    settings = {"namespace_list": "filtered"}
    folder = tmp_path_factory.mktemp("older")
    with Wire(folder, profile="cdap_parent_write", settings=settings) as one:
        yield build(one)


def _hits(wire: Wire, user: str, place: str, path: str) -> Iterator[tuple[str, bool]]:
    """Whether searches show the namespace, or its application, at a path."""
    wanted = path.rpartition("/")[2]
    for where in ("", f"namespaces/{place}/"):
        found = wire.good("GET", f"{where}metadata/search?query=*", user=user)["results"]
        ids = [row["entityId"] for row in found]
        mine = (id for id in ids if id["namespace"] == place)
        of_type = (
            id
            for id in mine
            if id["entity"] == ("APPLICATION" if "/apps/" in path else "NAMESPACE")
        )
        yield f"search {where}", any(id.get("application", place) == wanted for id in of_type)


def namespace_seen(wire: Wire, user: str, place: str) -> dict[str, bool]:
    """The lists and details, each with whether it shows the namespace."""
    path = f"namespaces/{place}"
    listed = [one["name"] for one in wire.good("GET", "namespaces", user=user)]
    details = {below: wire.status("GET", f"{path}{below}", user=user) for below in BELOW}
    inside = {below: wire.status("GET", f"{path}/{below}", user=user) for below in INSIDE}
    assert {*details.values(), *inside.values()} <= {200, 403}
    return {
        "list": place in listed,
        **{below: status == 200 for below, status in {**details, **inside}.items()},
        **dict(_hits(wire, user, place, path)),
    }


def application_seen(wire: Wire, user: str, place: str, app: str) -> dict[str, bool]:
    """The same for an application."""
    path = f"namespaces/{place}/apps/{app}"
    status, rows = wire.ask("GET", f"namespaces/{place}/apps", user=user)
    below = (*BELOW, *OF_APPLICATION)
    details = {one: wire.status("GET", f"{path}{one}", user=user) for one in below}
    assert set(details.values()) <= {200, 403}
    return {
        "list": status == 200 and app in [row["name"] for row in rows],
        **{one: status == 200 for one, status in details.items()},
        **dict(_hits(wire, user, place, path)),
    }


def everywhere(seen: dict[str, bool]) -> bool:
    """Whether all of them show it, or none."""
    assert len(set(seen.values())) == 1, seen
    return next(iter(seen.values()))


@pytest.mark.by_day(5)
@pytest.mark.parametrize("action", ["READ", "EXECUTE"])
@pytest.mark.parametrize("id", CHILDREN)
def test_grants_on_a_dropped_child_still_show_what_was_above_it(
    wire: Wire, id: str, action: str
) -> None:
    build(wire)
    wire.grant("dana", id, action)
    assert everywhere(namespace_seen(wire, "dana", "sales"))
    CHILDREN[id](wire)
    wire.reopened()
    assert everywhere(namespace_seen(wire, "dana", "sales"))
    assert not everywhere(namespace_seen(wire, "dana", "hr"))
    assert everywhere(application_seen(wire, "dana", "sales", "mail")) is False
    if id == PROGRAM:
        assert everywhere(application_seen(wire, "dana", "sales", "shop"))
    wire.revoke("dana", id, action)
    assert not everywhere(namespace_seen(wire, "dana", "sales"))


@pytest.mark.by_day(6)
@pytest.mark.parametrize("id", AHEAD)
def test_grants_on_what_is_not_there_yet_show_the_namespace(shared: Wire, id: str) -> None:
    shared.grant("ahead", id, "EXECUTE")
    assert everywhere(namespace_seen(shared, "ahead", "sales"))
    assert not everywhere(namespace_seen(shared, "ahead", "hr"))
    shared.revoke("ahead", id, "EXECUTE")
    assert not everywhere(namespace_seen(shared, "ahead", "sales"))


@pytest.mark.parametrize("id", OF_SHOP)
def test_grants_on_programs_that_are_not_there_yet_show_the_application(
    shared: Wire, id: str
) -> None:
    shared.grant("ahead", id, "WRITE")
    assert everywhere(application_seen(shared, "ahead", "sales", "shop"))
    assert everywhere(namespace_seen(shared, "ahead", "sales"))
    assert not everywhere(application_seen(shared, "ahead", "sales", "mail"))
    assert not everywhere(application_seen(shared, "ahead", "hr", "shop"))
    shared.revoke("ahead", id, "WRITE")
    assert not everywhere(application_seen(shared, "ahead", "sales", "shop"))


def test_a_wildcard_for_the_namespace_shows_all_of_them(shared: Wire) -> None:
    shared.grant("wide", "program:*.shop.flow.never", "READ")
    for place in ("sales", "hr"):
        assert everywhere(namespace_seen(shared, "wide", place))
        assert everywhere(application_seen(shared, "wide", place, "shop"))
        assert not everywhere(application_seen(shared, "wide", place, "mail"))


@pytest.mark.parametrize("id", [*AHEAD, *CHILDREN, *OF_SHOP])
def test_in_the_older_profile_nothing_is_seen_from_below(older: Wire, id: str) -> None:
    older.grant("ahead", id)
    names = [one["name"] for one in older.good("GET", "namespaces", user="ahead")]
    assert names == []
    assert older.status("GET", SALES, user="ahead") == 403
    apps = [one["name"] for one in older.good("GET", f"{SALES}/apps", user="ahead")]
    assert apps == (["shop"] if id == "application:sales.shop" else [])
    older.revoke("ahead", id)
