"""Items 6, 14, 15, 17 to 19 and 22: streams, datasets, search, secure keys, system artifacts.

SOURCE: cdap reference 6; cdapio/cdap at v5.1.2, AuthorizationTest, DatasetServiceAuthorizationTest,
MetadataAdminAuthorizationTest, DefaultSecureStoreServiceTest, SystemArtifactsAuthorizationTest;
cdapio/cdap-integration-tests, BasicAuthorizationTest.
"""

from __future__ import annotations

from typing import Final

import pytest

from tests.systems.cdap.http.saying import NOT_ALLOWED, SPACE, held, names, refused, space
from tests.systems.cdap.http.wire import BOSS, RUNNER, Wire

CLICKS: Final = f"{SPACE}/streams/clicks"
DATASETS: Final = f"{SPACE}/data/datasets"
TABLE: Final = {"typeName": "table"}
KEYS: Final = f"{SPACE}/securekeys"


@pytest.fixture
def sales(wire: Wire) -> Wire:
    """A namespace with a stream that `boss` has created."""
    space(wire)
    wire.grant(BOSS, "stream:sales.clicks", "ADMIN")
    wire.good("PUT", CLICKS)
    return wire


def test_06_creating_a_stream_that_exists_works_with_admin_and_changes_nothing(
    sales: Wire,
) -> None:
    sales.grant("dana", "stream:sales.clicks", "ADMIN")
    sales.grant("eve", "stream:sales.clicks", "READ", "WRITE", "EXECUTE")
    before = [held(sales, user) for user in (BOSS, "dana", "eve")]
    assert sales.status("PUT", CLICKS, user="dana") == 200
    refused(sales, "eve", "PUT", CLICKS)
    assert [held(sales, user) for user in (BOSS, "dana", "eve")] == before


def test_14_datasets_are_listed_by_any_privilege_and_dropped_all_or_none(wire: Wire) -> None:
    space(wire)
    for name in ("t1", "t2", "t3"):
        wire.grant("dana", f"dataset:sales.{name}", "ADMIN")
        wire.good("PUT", f"{DATASETS}/{name}", TABLE, user="dana")
    wire.grant("eve", "dataset:sales.t1", "EXECUTE")
    wire.grant("eve", "dataset:sales.t3", "READ")
    assert names(wire, DATASETS, "dana") == ["t1", "t2", "t3"]
    assert names(wire, DATASETS, "eve") == ["t1", "t3"]
    assert names(wire, DATASETS, BOSS) == []
    for user in ("eve", BOSS):
        refused(wire, user, "DELETE", DATASETS)
    wire.grant("eve", "dataset:sales.t1", "ADMIN")
    wire.grant("eve", "dataset:sales.t3", "ADMIN")
    assert "on entity 'dataset:sales.t2'" in refused(wire, "eve", "DELETE", DATASETS)
    assert names(wire, DATASETS, "dana") == ["t1", "t2", "t3"]
    assert wire.status("DELETE", DATASETS, user="dana") == 200
    assert names(wire, DATASETS, "dana") == []


@pytest.mark.parametrize(
    ("method", "below", "body", "action"),
    [
        ("GET", "", None, "READ"),
        ("GET", "/properties", None, "WRITE"),
        ("PUT", "/properties", {}, "ADMIN"),
        ("DELETE", "", None, "ADMIN"),
        ("POST", "/admin/truncate", None, "ADMIN"),
    ],
)
def test_15_an_absent_dataset_is_403_without_and_404_with_the_privilege(
    wire: Wire, method: str, below: str, body: object, action: str
) -> None:
    space(wire)
    refused(wire, "dana", method, f"{DATASETS}/none{below}", body)
    wire.grant("dana", "dataset:sales.none", action)
    status, text = wire.ask(method, f"{DATASETS}/none{below}", body, user="dana")
    assert (status, text) == (404, "'dataset:sales.none' was not found.")


def test_17_who_holds_privileges_sees_hits_and_a_stranger_none(sales: Wire) -> None:
    sales.good("POST", f"{CLICKS}/metadata/tags", ["pii"])
    for path in (f"{SPACE}/metadata/search?query=pii", "metadata/search?query=pii"):
        (hit,) = sales.good("GET", path)["results"]
        assert hit["entityId"]["stream"] == "clicks"
        assert sales.good("GET", path, user="zed")["results"] == []


def test_18_admin_makes_and_lists_a_key_and_read_alone_reads_it(wire: Wire) -> None:
    space(wire)
    wire.grant("maker", "securekey:sales.db", "ADMIN")
    wire.grant("dana", "securekey:sales.db", "READ")
    body = {"description": "of the database", "data": "open sesame"}
    refused(wire, "dana", "PUT", f"{KEYS}/db", body)
    wire.good("PUT", f"{KEYS}/db", body, user="maker")
    assert names(wire, KEYS, "maker") == names(wire, KEYS, "dana") == ["db"]
    assert NOT_ALLOWED in refused(wire, "maker", "GET", f"{KEYS}/db")
    assert wire.good("GET", f"{KEYS}/db", user="dana") == "open sesame"
    refused(wire, "dana", "DELETE", f"{KEYS}/db")
    assert wire.status("DELETE", f"{KEYS}/db", user="maker") == 200


def test_19_system_artifacts_are_everybody_s_and_refreshed_by_admins_of_system(
    wire: Wire,
) -> None:
    system = "namespaces/system/artifacts"
    refused(wire, "dana", "POST", system)
    wire.grant("dana", "namespace:system", "ADMIN")
    assert wire.status("POST", system, user="dana") == 200
    assert wire.status("POST", system, user=RUNNER) == 200
    found = wire.good("GET", system, user="zed")
    assert found == wire.good("GET", system, user="dana") != []
    for one in found:
        version = f"{system}/{one['name']}/versions/{one['version']}"
        assert wire.good("GET", version, user="zed")["scope"] == "SYSTEM"
        refused(wire, "zed", "DELETE", version)


def test_22_admin_alone_neither_writes_nor_reads_and_only_admin_drops(sales: Wire) -> None:
    for user, action in (("reader", "READ"), ("writer", "WRITE")):
        sales.grant(user, "stream:sales.clicks", action)
    for user in (BOSS, "reader"):
        refused(sales, user, "POST", CLICKS, b"an event")
    assert sales.status("POST", CLICKS, b"an event", user="writer") == 200
    for user in (BOSS, "writer"):
        refused(sales, user, "GET", f"{CLICKS}/events")
    (event,) = sales.good("GET", f"{CLICKS}/events", user="reader")
    assert event["body"] == "an event"
    for user in ("reader", "writer"):
        refused(sales, user, "DELETE", CLICKS)
        refused(sales, user, "POST", f"{CLICKS}/truncate")
    assert sales.status("DELETE", CLICKS) == 200
