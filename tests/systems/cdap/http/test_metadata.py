"""Metadata over the wire: who may read and write which, and that it is stored (K10)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.cdap.http.estate import (
    ALL,
    CLICKS,
    ETL,
    NIGHTLY,
    ORDERS,
    SHOP,
    SPACE,
    build,
    give,
    lets,
)
from tests.systems.cdap.http.wire import BOSS, Wire

SUBJECTS = {
    "namespace:sales": SPACE,
    "artifact:sales.etl": ETL,
    "application:sales.shop": SHOP,
    "program:sales.shop.workflow.nightly": NIGHTLY,
    "dataset:sales.orders": ORDERS,
    "stream:sales.clicks": CLICKS,
}
"""All entities with their own metadata, and their paths."""

SCHEDULE = f"{SHOP}/schedules/daily"
VIEW = f"{CLICKS}/views/plain"
VERSION = f"{SHOP}/versions/2.0"


@pytest.fixture
def estate(either: Wire) -> Wire:
    """The estate in either profile."""
    return either.built(build)


@pytest.fixture
def new(wire: Wire) -> Wire:
    """The estate in the later profile."""
    return wire.built(build)


def with_parts(wire: Wire) -> Wire:
    """The estate with a schedule and a view."""
    program = {"programName": "nightly", "programType": "WORKFLOW"}
    trigger = {"type": "TIME", "cronExpression": "0 * * * *"}
    wire.good("PUT", SCHEDULE, {"program": program, "trigger": trigger})
    assert wire.status("PUT", VIEW, {"format": {"name": "text"}}) == 201
    return wire


def put(wire: Wire, path: str, **who: Any) -> None:
    wire.good("POST", f"{path}/metadata/properties", {"owner": "ana", "level": "2"}, **who)
    wire.good("POST", f"{path}/metadata/tags", ["daily", "pii"], **who)


def of_users(wire: Wire, path: str, **who: Any) -> tuple[dict[str, str], list[str]]:
    (found,) = wire.good("GET", f"{path}/metadata?scope=user", **who)
    assert found["scope"] == "USER"
    return found["properties"], found["tags"]


@pytest.mark.parametrize("id", SUBJECTS)
def test_what_is_said_of_a_thing_is_kept(estate: Wire, id: str) -> None:
    path = SUBJECTS[id]
    put(estate, path)
    estate.reopened()
    assert of_users(estate, path) == ({"owner": "ana", "level": "2"}, ["daily", "pii"])
    assert estate.good("GET", f"{path}/metadata/tags?scope=user") == ["daily", "pii"]
    properties = estate.good("GET", f"{path}/metadata/properties?scope=user")
    assert properties == {"owner": "ana", "level": "2"}


@pytest.mark.parametrize("id", SUBJECTS)
def test_admin_writes_metadata(estate: Wire, id: str) -> None:
    give(estate, id)
    for below, body in (("/properties", {"k": "v"}), ("/tags", ["t"])):
        assert lets(estate, "POST", f"{SUBJECTS[id]}/metadata{below}", body) == {"keeper"}
    for below in ("/properties/k", "/properties", "/tags/t", "/tags", ""):
        assert lets(estate, "DELETE", f"{SUBJECTS[id]}/metadata{below}") == {"keeper"}


@pytest.mark.parametrize("id", SUBJECTS)
def test_any_privilege_reads_metadata_in_the_later_profile(new: Wire, id: str) -> None:
    give(new, id)
    for below in ("", "/properties", "/tags"):
        found = lets(new, "GET", f"{SUBJECTS[id]}/metadata{below}")
        assert found == {"reader", "writer", "runner", "keeper"}


@pytest.mark.parametrize("id", SUBJECTS)
def test_read_reads_metadata_in_the_older_profile(old: Wire, id: str) -> None:
    build(old)
    give(old, id)
    for below in ("", "/properties", "/tags"):
        assert lets(old, "GET", f"{SUBJECTS[id]}/metadata{below}") == {"reader"}


def test_a_privilege_below_reads_metadata_of_what_is_above(new: Wire) -> None:
    new.grant("eve", "program:sales.shop.workflow.nightly", "EXECUTE")
    assert new.status("GET", f"{SHOP}/metadata", user="eve") == 200
    assert new.status("GET", f"{SPACE}/metadata", user="eve") == 200
    assert new.status("GET", f"{ORDERS}/metadata", user="eve") == 403


def test_properties_are_added_and_removed_one_by_one(new: Wire) -> None:
    put(new, ORDERS)
    new.good("POST", f"{ORDERS}/metadata/properties", {"level": "3", "unit": "eur"})
    new.good("DELETE", f"{ORDERS}/metadata/properties/owner")
    new.good("DELETE", f"{ORDERS}/metadata/properties/absent")
    assert of_users(new, ORDERS) == ({"level": "3", "unit": "eur"}, ["daily", "pii"])
    new.good("DELETE", f"{ORDERS}/metadata/properties")
    assert of_users(new, ORDERS) == ({}, ["daily", "pii"])


def test_tags_are_added_and_removed_one_by_one(new: Wire) -> None:
    put(new, ORDERS)
    new.good("POST", f"{ORDERS}/metadata/tags", ["daily", "weekly"])
    new.good("DELETE", f"{ORDERS}/metadata/tags/pii")
    assert of_users(new, ORDERS)[1] == ["daily", "weekly"]
    new.good("DELETE", f"{ORDERS}/metadata/tags")
    assert of_users(new, ORDERS) == ({"owner": "ana", "level": "2"}, [])


def test_all_of_it_is_removed_at_once(new: Wire) -> None:
    put(new, ORDERS)
    new.good("DELETE", f"{ORDERS}/metadata")
    assert of_users(new, ORDERS) == ({}, [])


def test_the_platform_tells_what_it_knows(new: Wire) -> None:
    put(new, ORDERS)
    assert new.good("GET", f"{ORDERS}/metadata") == [
        {
            "entityId": {"namespace": "sales", "dataset": "orders", "entity": "DATASET"},
            "scope": "USER",
            "properties": {"owner": "ana", "level": "2"},
            "tags": ["daily", "pii"],
        },
        {
            "entityId": {"namespace": "sales", "dataset": "orders", "entity": "DATASET"},
            "scope": "SYSTEM",
            "properties": {"entity-name": "orders", "type": "table"},
            "tags": [],
        },
    ]
    both = new.good("GET", f"{ORDERS}/metadata/properties")
    assert both == {"entity-name": "orders", "type": "table", "owner": "ana", "level": "2"}
    assert new.good("GET", f"{NIGHTLY}/metadata/tags") == ["Workflow"]
    system = new.good("GET", f"{SPACE}/metadata/properties?scope=SYSTEM")
    assert system == {"entity-name": "sales", "description": "what is sold"}


def test_ids_of_programs_tell_type_and_version(new: Wire) -> None:
    assert new.good("GET", f"{NIGHTLY}/metadata?scope=user")[0]["entityId"] == {
        "namespace": "sales",
        "application": "shop",
        "version": "-SNAPSHOT",
        "type": "Workflow",
        "program": "nightly",
        "entity": "PROGRAM",
    }
    assert new.good("GET", f"{ETL}/metadata?scope=user")[0]["entityId"]["version"] == "1.0"


@pytest.mark.parametrize("path", [SCHEDULE, VIEW])
def test_a_part_is_asked_about_on_what_it_belongs_to(new: Wire, path: str) -> None:
    with_parts(new)
    above = "application:sales.shop" if path == SCHEDULE else "stream:sales.clicks"
    give(new, above)
    assert lets(new, "POST", f"{path}/metadata/tags", ["t"]) == {"keeper"}
    found = lets(new, "GET", f"{path}/metadata")
    assert found == {"reader", "writer", "runner", "keeper"}
    assert of_users(new, path) == ({}, ["t"])
    assert new.good("GET", f"{path}/metadata?scope=user")[0]["entityId"]["entity"] == (
        "SCHEDULE" if path == SCHEDULE else "STREAM_VIEW"
    )


@pytest.mark.parametrize("path", [SCHEDULE, VIEW])
def test_metadata_of_a_part_goes_with_it_and_is_not_shown_as_part_of_it(
    new: Wire, path: str
) -> None:
    with_parts(new)
    before = new.good("GET", path)
    put(new, path)
    assert new.good("GET", path) == before
    new.good("DELETE", path)
    assert new.status("GET", f"{path}/metadata") == 404


def test_versions_have_metadata_of_their_own(new: Wire) -> None:
    headers = {"Artifact-Version": "2.0"}
    new.good("POST", f"{SPACE}/artifacts/etl", b"x", headers=headers)
    other = f"{SPACE}/artifacts/etl/versions/2.0"
    put(new, ETL)
    assert of_users(new, other) == ({}, [])
    body = {"artifact": {"name": "etl", "version": "1.0"}}
    new.good("POST", f"{SHOP}/versions/2.0/create", body)
    put(new, VERSION)
    assert of_users(new, SHOP) == ({}, [])
    assert of_users(new, VERSION)[1] == ["daily", "pii"]
    put(new, SHOP)
    new.good("DELETE", f"{VERSION}/metadata")
    assert of_users(new, f"{SHOP}/versions/-SNAPSHOT")[1] == ["daily", "pii"]


def test_metadata_of_a_version_outlasts_that_it_is_written_over(new: Wire) -> None:
    app, artifact = f"{SHOP}/versions/2-SNAPSHOT", f"{SPACE}/artifacts/etl"
    body = {"artifact": {"name": "etl", "version": "2-SNAPSHOT"}}
    paths = (app, f"{artifact}/versions/2-SNAPSHOT")
    for times in range(2):
        new.good("POST", artifact, b"x", headers={"Artifact-Version": "2-SNAPSHOT"})
        new.good("POST", f"{app}/create", body)
        for path in paths:
            if not times:
                new.good("POST", f"{path}/metadata/tags", ["pii"])
            assert new.good("GET", f"{path}/metadata/tags") == ["pii"]


def test_a_version_that_is_not_there_is_not_found(new: Wire) -> None:
    assert new.status("GET", f"{SPACE}/artifacts/etl/versions/9/metadata") == 404
    assert new.status("POST", f"{SHOP}/versions/9/metadata/tags", ["t"]) == 404


def test_refused_before_not_found(new: Wire) -> None:
    path = f"{SPACE}/data/datasets/absent/metadata"
    assert new.status("GET", path, user="eve") == 403
    assert new.status("GET", path) == 404
    assert new.status("POST", f"{path}/tags", ["t"]) == 404


def test_metadata_survives_a_deployment_and_not_a_deletion(new: Wire) -> None:
    put(new, SHOP)
    body = {"artifact": {"name": "etl", "version": "1.0"}, "config": {}}
    new.good("PUT", SHOP, body)
    assert of_users(new, SHOP)[1] == ["daily", "pii"]
    new.good("DELETE", SHOP)
    new.good("PUT", SHOP, body)
    assert of_users(new, SHOP) == ({}, [])


@pytest.mark.parametrize(
    ("below", "body"),
    [
        ("properties", ["a"]),
        ("properties", {"a": 1}),
        ("properties", {"a b": "c"}),
        ("properties", {"tags": "c"}),
        ("properties", {"k" * 51: "c"}),
        ("tags", {"a": "b"}),
        ("tags", ["a b"]),
        ("tags", [""]),
        ("tags?scope=system", ["a"]),
        ("tags?scope=odd", ["a"]),
    ],
)
def test_what_is_no_metadata_is_400_and_changes_nothing(new: Wire, below: str, body: Any) -> None:
    assert new.status("POST", f"{ORDERS}/metadata/{below}", body) == 400
    assert of_users(new, ORDERS) == ({}, [])


def test_a_grant_on_everything_else_writes_no_metadata(new: Wire) -> None:
    for id in ALL:
        if not id.startswith("dataset"):
            new.grant("eve", id)
    assert new.status("POST", f"{ORDERS}/metadata/tags", ["t"], user="eve") == 403
    assert new.status("POST", f"{ORDERS}/metadata/tags", ["t"], user=BOSS) == 200
