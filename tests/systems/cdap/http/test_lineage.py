"""Lineage over the wire: programs and their data; hidden entities are not named or followed."""

from __future__ import annotations

import pytest

from tests.systems.cdap.http.estate import (
    CLICKS,
    NIGHTLY,
    ORDERS,
    SHOP,
    SPACE,
    Clock,
    build,
    give,
    lets,
)
from tests.systems.cdap.http.wire import BOSS, Json, Wire

PROGRAMS = "program:sales.*.*"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def new(wire: Wire, clock: Clock) -> Wire:
    """The estate in the later profile, deployed at the clock's start."""
    wire.service.clock = clock
    return build(wire)


def lineage(wire: Wire, path: str = ORDERS, query: str = "", user: str = BOSS) -> Json:
    found: Json = wire.good("GET", f"{path}/lineage{query}", user=user)
    return found


def edges(wire: Wire, path: str = ORDERS, query: str = "", user: str = BOSS) -> set[str]:
    found = lineage(wire, path, query, user)
    return {f"{one['data']} {one['program']}" for one in found["relations"]}


SHOP_S = {
    "dataset.sales.orders workflow.sales.shop.nightly",
    "dataset.sales.orders service.sales.shop.api",
    "stream.sales.clicks workflow.sales.shop.nightly",
    "stream.sales.clicks service.sales.shop.api",
}
BOOKS_S = {
    "dataset.sales.orders spark.sales.books.closing",
    "dataset.sales.sums spark.sales.books.closing",
}


def test_lineage_leads_over_programs_to_other_data(new: Wire) -> None:
    assert edges(new) == SHOP_S | BOOKS_S
    assert edges(new, CLICKS) == SHOP_S | BOOKS_S


def test_levels_are_steps_from_data_to_data(new: Wire) -> None:
    assert edges(new, CLICKS, "?levels=1") == SHOP_S
    assert edges(new, CLICKS, "?levels=2") == SHOP_S | BOOKS_S


def test_nodes_tell_their_ids(new: Wire) -> None:
    found = lineage(new, f"{SPACE}/data/datasets/notes")
    (program,) = found["programs"].values()
    assert program["entityId"]["type"] == "Worker"
    assert found["data"] == {
        "dataset.sales.notes": {
            "entityId": {"namespace": "sales", "dataset": "notes", "entity": "DATASET"}
        }
    }
    (edge,) = found["relations"]
    assert edge == {
        "data": "dataset.sales.notes",
        "program": "worker.sales.aside.scribe",
        "access": "unknown",
        "runs": [],
        "components": [],
    }


def test_both_paths_of_a_dataset_lead_there(new: Wire) -> None:
    assert lineage(new, f"{SPACE}/datasets/orders") == lineage(new)


def test_runs_that_went_on_in_the_span_are_told(new: Wire, clock: Clock) -> None:
    new.good("POST", f"{NIGHTLY}/start")
    clock.now += 60
    new.good("POST", f"{NIGHTLY}/stop")
    (run,) = new.good("GET", f"{NIGHTLY}/runs")
    begun = int(clock.now) - 60

    def runs(query: str) -> set[str]:
        found = lineage(new, CLICKS, query)["relations"]
        return {run for edge in found for run in edge["runs"]}

    assert runs("") == {run["runid"]}
    assert runs(f"?start={begun + 30}&end={begun + 31}") == {run["runid"]}
    assert runs(f"?start={begun + 100}&end={begun + 200}") == set()


def test_before_the_deployment_nothing_worked_on_anything(new: Wire, clock: Clock) -> None:
    at = int(clock.now)
    assert edges(new, ORDERS, f"?start=0&end={at}") == set()
    assert edges(new, ORDERS, f"?start=0&end={at + 1}") == SHOP_S | BOOKS_S
    assert edges(new, ORDERS, "?start=now-1d&end=now%2B1m") == SHOP_S | BOOKS_S


def test_only_visible_nodes_are_told(new: Wire) -> None:
    new.grant("eve", "dataset:sales.orders", "READ")
    assert edges(new, user="eve") == set()
    assert list(lineage(new, user="eve")["data"]) == ["dataset.sales.orders"]
    new.grant("eve", "program:sales.shop.workflow.nightly", "EXECUTE")
    assert edges(new, user="eve") == {"dataset.sales.orders workflow.sales.shop.nightly"}
    new.grant("eve", "stream:sales.clicks", "WRITE")
    assert edges(new, user="eve") == {
        "dataset.sales.orders workflow.sales.shop.nightly",
        "stream.sales.clicks workflow.sales.shop.nightly",
    }


def test_nothing_hidden_is_stepped_through(new: Wire) -> None:
    new.grant("eve", "stream:sales.clicks", "READ")
    new.grant("eve", "dataset:sales.sums", "READ")
    new.grant("eve", PROGRAMS, "READ")
    assert edges(new, CLICKS, user="eve") == {one for one in SHOP_S if one.startswith("stream")}


def test_what_is_declared_no_more_works_on_it_no_more(new: Wire) -> None:
    body: Json = {"artifact": {"name": "etl", "version": "1.0"}, "config": {"streams": ["clicks"]}}
    new.good("PUT", SHOP, body)
    assert edges(new) == BOOKS_S


@pytest.mark.parametrize(
    ("id", "path"), [("dataset:sales.orders", ORDERS), ("stream:sales.clicks", CLICKS)]
)
def test_who_views_lineage(either: Wire, id: str, path: str) -> None:
    build(either)
    give(either, id)
    is_old = either.service.state.realm("cdap").realm.model == "cdap_parent_write"
    everybody = {"reader", "writer", "runner", "keeper"}
    assert lets(either, "GET", f"{path}/lineage") == ({"reader"} if is_old else everybody)


def test_in_the_older_profile_execute_shows_no_program(old: Wire) -> None:
    build(old)
    old.grant("eve", "dataset:sales.orders", "READ")
    old.grant("eve", PROGRAMS, "EXECUTE")
    assert edges(old, user="eve") == set()
    old.grant("eve", PROGRAMS, "READ")
    assert len(edges(old, user="eve")) == 3


def test_runs_are_told_to_those_only_who_may_see_the_history(old: Wire) -> None:
    build(old)
    old.good("POST", f"{NIGHTLY}/start")
    old.grant("eve", "stream:sales.clicks", "READ")
    old.grant("eve", "program:sales.shop.workflow.nightly", "WRITE")
    (edge,) = lineage(old, CLICKS, user="eve")["relations"]
    assert edge["runs"] == []
    old.grant("eve", "program:sales.shop.workflow.nightly", "READ")
    (edge,) = lineage(old, CLICKS, user="eve")["relations"]
    assert len(edge["runs"]) == 1


@pytest.mark.parametrize(
    "query",
    [
        "levels=0",
        "levels=101",
        "levels=x",
        "start=x",
        "start=-1",
        "end=now-",
        "end=now-1y",
        "start=20&end=10",
        "start=99999999999999999",
    ],
)
def test_what_is_no_span_or_level_is_400(new: Wire, query: str) -> None:
    assert new.status("GET", f"{ORDERS}/lineage?{query}") == 400


def test_refused_before_not_found(new: Wire) -> None:
    path = f"{SPACE}/streams/absent/lineage"
    assert new.status("GET", path, user="eve") == 403
    assert new.status("GET", path) == 404
