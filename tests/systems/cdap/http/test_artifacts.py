"""Artifacts over the wire, in both profiles."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.cdap.http.wire import BOSS, RUNNER, Json, Wire

ARTIFACTS = "namespaces/sales/artifacts"
ETL = f"{ARTIFACTS}/etl"
V1 = f"{ETL}/versions/1.0"


def upload(wire: Wire, path: str, version: str = "1.0", **who: Any) -> int:
    return wire.status("POST", path, b"bytes", headers={"Artifact-Version": version}, **who)


@pytest.fixture
def shelf(wire: Wire) -> Wire:
    """A namespace with the artifact `etl`, created by `maker`, and the system artifacts."""
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    wire.good("PUT", "namespaces/sales")
    wire.grant("maker", "artifact:sales.etl", "ADMIN")
    assert upload(wire, ETL, user="maker") == 200
    wire.good("POST", "namespaces/system/artifacts", user=RUNNER)
    return wire


def listed(wire: Wire, user: str, query: str = "") -> list[str]:
    return [one["name"] for one in wire.good("GET", ARTIFACTS + query, user=user)]


def test_adding_takes_admin_on_the_artifact(shelf: Wire) -> None:
    status, text = shelf.ask(
        "POST", f"{ARTIFACTS}/other", b"x", headers={"Artifact-Version": "1"}, user="maker"
    )
    assert (status, text) == (
        403,
        "Principal 'Principal{name='maker', type=USER, kerberosPrincipal=null}' is not authorized"
        " to perform actions '[ADMIN]' on entity 'artifact:sales.other'"
        " (operation 'artifact.add')",
    )


def test_a_fixed_version_is_added_once_and_a_snapshot_again_and_again(shelf: Wire) -> None:
    assert upload(shelf, ETL, user="maker") == 409
    assert upload(shelf, ETL, "1.1-SNAPSHOT", user="maker") == 200
    assert upload(shelf, ETL, "1.1-SNAPSHOT", user="maker") == 200
    assert shelf.good("GET", f"{ETL}?scope=user", user="maker") == [
        {"name": "etl", "version": "1.0", "scope": "USER"},
        {"name": "etl", "version": "1.1-SNAPSHOT", "scope": "USER"},
    ]


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"", {"Artifact-Version": "1"}),
        (b"x", {}),
        (b"x", {"Artifact-Version": "a/b"}),
        (b"x", {"Artifact-Version": "2", "Artifact-Plugins": "{"}),
    ],
)
def test_an_upload_that_says_too_little_is_400(shelf: Wire, body: bytes, headers: Json) -> None:
    assert shelf.status("POST", ETL, body, headers=headers, user="maker") == 400


def test_what_an_artifact_extends_and_brings_is_told_again(shelf: Wire) -> None:
    plugins = '[{"type": "source", "name": "csv"}]'
    headers = {
        "Artifact-Version": "2",
        "Artifact-Extends": "a[1,2)/b[1,2)",
        "Artifact-Plugins": plugins,
    }
    shelf.good("POST", ETL, b"x", headers=headers, user="maker")
    found = shelf.good("GET", f"{ETL}/versions/2", user="maker")
    assert found["classes"] == {"apps": [], "plugins": [{"type": "source", "name": "csv"}]}


def test_a_privilege_is_on_all_versions_at_once(shelf: Wire) -> None:
    upload(shelf, ETL, "2.0", user="maker")
    shelf.grant("dana", "artifact:sales.etl", "EXECUTE")
    for version in ("1.0", "2.0"):
        assert shelf.status("GET", f"{ETL}/versions/{version}", user="dana") == 200
    assert shelf.status("GET", f"{ETL}/versions/3.0", user="dana") == 404
    assert shelf.status("GET", f"{ETL}/versions/3.0", user="eve") == 403


def test_everybody_is_shown_the_system_artifacts_and_only_some_the_others(shelf: Wire) -> None:
    system = ["cdap-data-pipeline", "cdap-data-streams"]
    shelf.grant("eve", "dataset:sales.other", "READ")
    assert listed(shelf, "maker") == ["etl", *system]
    assert listed(shelf, "maker", "?scope=user") == ["etl"]
    assert listed(shelf, "maker", "?scope=system") == system
    assert listed(shelf, "eve") == system
    one = "namespaces/system/artifacts/cdap-data-pipeline/versions/5.1.2"
    assert shelf.good("GET", one, user="zed")["scope"] == "SYSTEM"
    here = f"{ARTIFACTS}/cdap-data-pipeline/versions/5.1.2?scope=system"
    assert shelf.good("GET", here, user="zed")["scope"] == "SYSTEM"
    assert len(shelf.good("GET", "namespaces/system/artifacts", user="zed")) == 2


def test_listing_in_a_namespace_that_one_does_not_see_is_refused(shelf: Wire) -> None:
    status, text = shelf.ask("GET", ARTIFACTS, user="zed")
    assert status == 403
    assert "since the principal does not have any privilege on this namespace" in text


def test_the_versions_of_what_is_not_shown_are_404(shelf: Wire) -> None:
    shelf.grant("eve", "dataset:sales.other", "READ")
    assert shelf.status("GET", ETL, user="eve") == 404


def test_an_unknown_scope_is_400(shelf: Wire) -> None:
    assert shelf.status("GET", f"{ARTIFACTS}?scope=all", user="maker") == 400


def test_system_artifacts_are_refreshed_by_admins_of_the_system_namespace(shelf: Wire) -> None:
    path = "namespaces/system/artifacts"
    assert shelf.status("POST", path, user="maker") == 403
    shelf.grant("dana", "namespace:system", "ADMIN")
    assert shelf.status("POST", path, user="dana") == 200
    assert shelf.status("DELETE", f"{path}/cdap-data-pipeline/versions/5.1.2", user="dana") == 403


def test_properties_are_written_read_and_deleted(shelf: Wire) -> None:
    path = f"{V1}/properties"
    shelf.good("PUT", path, {"a": "1", "b": "2"}, user="maker")
    shelf.good("PUT", f"{path}/c", b"three", user="maker")
    assert shelf.good("GET", path, user="maker") == {"a": "1", "b": "2", "c": "three"}
    assert shelf.good("GET", f"{path}?keys=a,x", user="maker") == {"a": "1"}
    assert shelf.good("GET", f"{path}/c", user="maker") == "three"
    shelf.good("DELETE", f"{path}/c", user="maker")
    assert shelf.status("GET", f"{path}/c", user="maker") == 404
    shelf.good("DELETE", path, user="maker")
    assert shelf.good("GET", path, user="maker") == {}
    assert shelf.status("PUT", f"{ETL}/versions/9/properties", {}, user="maker") == 404
    assert shelf.status("PUT", path, ["a"], user="maker") == 400


def test_without_admin_no_property_is_written_or_removed_and_nothing_deleted(shelf: Wire) -> None:
    shelf.grant("dana", "artifact:sales.etl", "READ", "WRITE", "EXECUTE")
    path = f"{V1}/properties"
    for method, at in (("PUT", path), ("DELETE", path), ("PUT", f"{path}/a"), ("DELETE", V1)):
        assert shelf.status(method, at, {}, user="dana") == 403
    assert shelf.good("GET", path, user="dana") == {}


def test_the_artifact_goes_with_its_last_version_and_its_grants_stay(shelf: Wire) -> None:
    upload(shelf, ETL, "2.0", user="maker")
    shelf.good("DELETE", V1, user="maker")
    assert listed(shelf, "maker", "?scope=user") == ["etl"]
    shelf.good("DELETE", f"{ETL}/versions/2.0", user="maker")
    assert shelf.status("DELETE", f"{ETL}/versions/2.0", user="maker") == 404
    assert upload(shelf, ETL, user="maker") == 200


def test_in_the_older_profile_only_a_new_artifact_is_given_to_who_adds_it(old: Wire) -> None:
    old.grant(BOSS, "instance:cdap", "WRITE")
    old.good("PUT", "namespaces/sales")
    for user in (BOSS, "dana"):
        old.grant(user, "namespace:sales", "WRITE")
    assert upload(old, ETL) == 200
    assert upload(old, ETL, "2.0", user="dana") == 200
    assert old.status("DELETE", V1, user="dana") == 403
    old.good("DELETE", V1)
    old.good("DELETE", f"{ETL}/versions/2.0")
    mine = old.good("GET", "security/authorization/user/boss/privileges")
    assert {one["authorizable"]["entityType"] for one in mine} == {"INSTANCE", "NAMESPACE"}


def test_clearing_takes_admin_on_each_and_is_all_or_nothing(shelf: Wire) -> None:
    shelf.grant("maker", "artifact:sales.*", "READ")
    shelf.grant("other", "artifact:sales.feeds", "ADMIN")
    assert upload(shelf, f"{ARTIFACTS}/feeds", user="other") == 200
    status, text = shelf.ask("DELETE", ARTIFACTS, user="maker")
    assert status == 403
    assert "to perform actions '[ADMIN]' on entity 'artifact:sales.feeds'" in text
    assert listed(shelf, "maker", "?scope=user") == ["etl", "feeds"]
    shelf.grant("maker", "artifact:sales.feeds", "ADMIN")
    assert shelf.status("DELETE", ARTIFACTS, user="maker") == 200
    assert listed(shelf, "maker", "?scope=user") == []


def test_in_the_older_profile_clearing_deletes_what_may_go_and_tells_the_rest(old: Wire) -> None:
    old.grant(BOSS, "instance:cdap", "WRITE")
    old.good("PUT", "namespaces/sales")
    old.grant("dana", "namespace:sales", "WRITE")
    assert upload(old, ETL) == upload(old, f"{ARTIFACTS}/feeds", user="dana") == 200
    status, answer = old.ask("DELETE", ARTIFACTS, user="dana")
    assert (status, answer["deleted"]) == (207, ["artifact:sales.feeds"])
    assert [one["entity"] for one in answer["errors"]] == ["artifact:sales.etl"]
    assert "'[ADMIN]' on entity 'artifact:sales.etl'" in answer["errors"][0]["error"]
    assert old.ask("DELETE", ARTIFACTS, user="eve")[0] == 207
    assert listed(old, BOSS) == ["etl"]
    assert old.status("DELETE", ARTIFACTS) == 200
