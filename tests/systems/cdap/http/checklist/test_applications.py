"""Items 7 to 13, 16, 25 and 26: artifacts, applications, programs, schedules, owners.

SOURCE: cdap reference 6; cdapio/cdap at v5.1.2, AuthorizationTest, DefaultAuthorizationEnforcer
and ProgramLifecycleServiceAuthorizationTest; cdapio/cdap-integration-tests,
BasicAppAuthorizationTest.
"""

from __future__ import annotations

from typing import Final

import pytest

from tests.systems.cdap.http.saying import (
    NOT_ALLOWED,
    NOT_SHOWN,
    SPACE,
    application,
    held,
    names,
    program,
    refused,
    space,
    upload,
)
from tests.systems.cdap.http.shop import API, APP, NIGHTLY, PEOPLE, lets
from tests.systems.cdap.http.wire import BOSS, Wire

CUBES: Final = {"name": "cubes", "className": "com.acme.Cube"}
EVERYTHING: Final = application(
    programs=[program("workflow", "nightly")],
    datasets=["t1", {"name": "t2", "type": "com.acme.Cube"}],
    streams=["s1"],
    modules=[CUBES],
)
NEEDED: Final = (
    "application:sales.mart",
    "artifact:sales.etl",
    "dataset:sales.t1",
    "dataset:sales.t2",
    "stream:sales.s1",
    "dataset_module:sales.cubes",
    "dataset_type:sales.com.acme.Cube",
)
"""The ids on which a full deployment requires ADMIN, and any privilege on the artifact."""

MART: Final = f"{SPACE}/apps/mart"


@pytest.fixture
def market(wire: Wire) -> Wire:
    """A namespace with the artifact `etl`; `dana` holds ADMIN on everything required."""
    space(wire)
    wire.grant(BOSS, "artifact:sales.etl", "ADMIN")
    assert upload(wire) == 200
    for id in NEEDED:
        wire.grant("dana", id, "ADMIN")
    return wire


@pytest.mark.parametrize("id", NEEDED)
def test_07_deploying_is_refused_without_any_one_of_what_it_needs(market: Wire, id: str) -> None:
    market.revoke("dana", id)
    text = refused(market, "dana", "PUT", MART, EVERYTHING)
    assert "is not authorized to perform" in text
    assert f"on entity '{id}'" in text
    market.grant("dana", id, "ADMIN")
    assert market.status("PUT", MART, EVERYTHING, user="dana") == 200


def test_08_an_application_goes_with_admin_and_the_privileges_stay(market: Wire) -> None:
    market.good("PUT", MART, EVERYTHING, user="dana")
    market.grant("eve", "application:sales.mart", "READ", "WRITE")
    assert NOT_ALLOWED in refused(market, "eve", "DELETE", MART)
    market.grant("eve", "application:sales.mart", "ADMIN")
    before = held(market, "eve"), held(market, "dana")
    assert market.status("DELETE", MART, user="eve") == 200
    assert market.status("GET", MART, user="eve") == 404
    assert (held(market, "eve"), held(market, "dana")) == before
    market.good("PUT", MART, EVERYTHING, user="dana")
    assert market.status("GET", MART, user="eve") == 200


def test_09_deleting_all_applications_without_admin_on_one_deletes_none(market: Wire) -> None:
    for name in ("one", "two"):
        market.grant("dana", f"application:sales.{name}", "ADMIN")
        market.good("PUT", f"{SPACE}/apps/{name}", application(), user="dana")
    market.grant("eve", "application:sales.one", "ADMIN")
    refused(market, "eve", "DELETE", f"{SPACE}/apps")
    assert names(market, f"{SPACE}/apps", "dana") == ["one", "two"]
    market.grant("eve", "application:sales.two", "ADMIN")
    assert market.status("DELETE", f"{SPACE}/apps", user="eve") == 200
    assert names(market, f"{SPACE}/apps", "dana") == []


def test_10_the_detail_shows_visible_programs_and_datasets_alone(market: Wire) -> None:
    market.good("PUT", MART, EVERYTHING, user="dana")
    market.grant("eve", "program:sales.mart.workflow.nightly", "EXECUTE")
    market.grant("eve", "dataset:sales.t1", "READ")
    market.grant("bob", "application:sales.mart", "READ")
    shown = market.good("GET", MART, user="eve")
    assert [one["name"] for one in shown["programs"]] == ["nightly"]
    assert [one["name"] for one in shown["datasets"]] == ["t1"]
    assert shown["streams"] == []
    shown = market.good("GET", MART, user="bob")
    assert shown["programs"] == shown["datasets"] == shown["streams"] == []
    assert NOT_SHOWN in refused(market, "zed", "GET", MART)


def test_11_without_admin_an_artifact_is_neither_changed_nor_deleted(market: Wire) -> None:
    version = f"{SPACE}/artifacts/etl/versions/1.0"
    market.grant("eve", "artifact:sales.etl", "READ", "WRITE", "EXECUTE")
    market.good("PUT", f"{version}/properties", {"a": "1"})
    for method, below in (("PUT", "/properties"), ("DELETE", "/properties"), ("DELETE", "")):
        refused(market, "eve", method, f"{version}{below}", {"b": "2"})
    assert market.good("GET", f"{version}/properties", user="eve") == {"a": "1"}
    market.grant("eve", "artifact:sales.etl", "ADMIN")
    market.good("PUT", f"{version}/properties", {"b": "2"}, user="eve")
    market.good("DELETE", f"{version}/properties", user="eve")
    assert market.status("DELETE", version, user="eve") == 200


def test_12_execute_runs_and_admin_sets_a_program(shop: Wire) -> None:
    for path in (NIGHTLY, API):
        assert lets(shop, "POST", f"{path}/start") == {"runner"}
        assert lets(shop, "POST", f"{path}/stop") == {"runner"}
        assert lets(shop, "PUT", f"{path}/runtimeargs", {"a": "1"}) == {"keeper"}
    assert lets(shop, "PUT", f"{API}/instances", {"instances": 2}) == {"keeper"}
    assert shop.good("GET", f"{API}/runtimeargs", user="keeper") == {"a": "1"}
    for below in ("", "/status", "/runs", "/runtimeargs", "/instances"):
        assert "stranger" not in lets(shop, "GET", f"{API}{below}")


DAILY: Final = f"{APP}/schedules/daily"
SCHEDULE: Final = {
    "program": {"programName": "nightly", "programType": "WORKFLOW"},
    "trigger": {"type": "TIME", "cronExpression": "0 4 * * *"},
}


def test_13_a_schedule_takes_its_program_s_execute_and_its_application_s_admin(shop: Wire) -> None:
    shop.grant("owner", "application:sales.shop", "ADMIN")
    assert lets(shop, "PUT", DAILY, SCHEDULE) == set()
    shop.good("PUT", DAILY, SCHEDULE, user="owner")
    assert lets(shop, "GET", f"{DAILY}/status") == set(PEOPLE)
    assert lets(shop, "POST", f"{DAILY}/resume") == {"runner"}
    assert shop.good("GET", f"{DAILY}/status", user="reader") == {"status": "SCHEDULED"}
    refused(shop, "owner", "POST", f"{DAILY}/suspend")
    assert lets(shop, "POST", f"{DAILY}/suspend") == {"runner"}
    assert lets(shop, "POST", f"{DAILY}/update", {"description": "d"}) == set()
    shop.good("POST", f"{DAILY}/update", {"description": "d"}, user="owner")
    assert lets(shop, "DELETE", DAILY) == set()
    assert shop.status("DELETE", DAILY, user="owner") == 200


def test_16_whoever_deploys_is_listed_no_program_until_something_is_granted(shop: Wire) -> None:
    assert names(shop, f"{SPACE}/workflows", BOSS) == []
    shop.grant(BOSS, "program:sales.shop.workflow.nightly", "EXECUTE")
    assert names(shop, f"{SPACE}/workflows", BOSS) == ["nightly"]
    assert names(shop, f"{SPACE}/services", BOSS) == []


def test_25_whoever_deploys_cannot_start_and_whoever_starts_cannot_schedule(shop: Wire) -> None:
    text = refused(shop, BOSS, "POST", f"{NIGHTLY}/start")
    assert "to perform actions '[EXECUTE]' on entity 'program:sales.shop.workflow.nightly'" in text
    text = refused(shop, "runner", "PUT", DAILY, SCHEDULE)
    assert "to perform actions '[ADMIN]' on entity 'application:sales.shop'" in text


def test_26_naming_an_owner_takes_admin_on_it_unless_it_is_oneself(market: Wire) -> None:
    stream = f"{SPACE}/streams/s1"
    owned = {"principal": "svc/h1.corp@CORP"}
    text = refused(market, "dana", "PUT", stream, owned)
    assert "'[ADMIN]' on entity 'kerberosprincipal:svc/h1.corp@CORP'" in text
    assert market.status("PUT", stream, {"principal": "dana/h9@CORP"}, user="dana") == 200
    market.grant("dana", "kerberosprincipal:svc/h1.corp@CORP", "ADMIN")
    dataset = f"{SPACE}/data/datasets/t1"
    body = {"typeName": "table", **owned}
    assert market.status("PUT", dataset, body, user="dana") == 200


def test_26_what_an_impersonated_application_creates_takes_the_owner_s_admin(market: Wire) -> None:
    market.grant("dana", "kerberosprincipal:svc@CORP", "ADMIN")
    body = {**application(datasets=["t1"]), "principal": "svc@CORP"}
    text = refused(market, "dana", "PUT", MART, body)
    assert "name='svc'" in text
    assert "'[ADMIN]' on entity 'dataset:sales.t1'" in text
    market.revoke("dana", "dataset:sales.t1")
    market.grant("svc", "dataset:sales.t1", "ADMIN")
    assert market.status("PUT", MART, body, user="dana") == 200
