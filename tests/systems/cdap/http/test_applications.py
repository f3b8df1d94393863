"""Applications over the wire: the requirements and effects of a deployment, in both profiles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from lakewarden.kernel.change import EntityAdded
from lakewarden.kernel.entity import Entity
from lakewarden.service.actor import SYSTEM
from lakewarden.systems.cdap.http.deploying import latest
from lakewarden.systems.cdap.http.versions import VERSIONS
from tests.systems.cdap.http.wire import BOSS, REALM, Json, Wire

SPACE = "namespaces/sales"
APPS = f"{SPACE}/apps"
SHOP = f"{APPS}/shop"
CONFIG: Json = {
    "programs": [
        {"type": "workflow", "name": "nightly", "description": "every night"},
        {"type": "Service", "name": "api"},
    ],
    "datasets": ["t1", "t2"],
    "streams": ["s1"],
}
REQUEST: Json = {"artifact": {"name": "etl", "version": "1.0", "scope": "USER"}, "config": CONFIG}
NEEDED: Mapping[str, str] = {
    "application:sales.shop": "ADMIN",
    "artifact:sales.etl": "READ",
    "dataset:sales.t1": "ADMIN",
    "dataset:sales.t2": "ADMIN",
    "stream:sales.s1": "ADMIN",
}
"""The requirements of deploying `REQUEST` in the later profile."""


def upload(wire: Wire, name: str = "etl", version: str = "1.0", **who: Any) -> None:
    headers = {"Artifact-Version": version}
    wire.good("POST", f"{SPACE}/artifacts/{name}", b"x", headers=headers, **who)


@pytest.fixture
def space(wire: Wire) -> Wire:
    """A namespace with the artifact `etl`, and `dana`, who may deploy `REQUEST`."""
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    wire.good("PUT", SPACE)
    wire.grant(BOSS, "artifact:sales.*", "ADMIN")
    upload(wire)
    for id, action in NEEDED.items():
        wire.grant("dana", id, action)
    return wire


@pytest.fixture
def old_space(old: Wire) -> Wire:
    """The same in the older profile."""
    old.grant(BOSS, "instance:cdap", "WRITE")
    old.good("PUT", SPACE)
    upload(old)
    old.grant("dana", "namespace:sales", "WRITE")
    old.grant("dana", "artifact:sales.etl", "READ")
    return old


def held(wire: Wire, user: str) -> set[str]:
    """The types and last parts of a user's ids."""
    found = wire.good("GET", f"security/authorization/user/{user}/privileges", user=user)
    ids = [one["authorizable"] for one in found]
    return {f"{id['entityType']}:{list(id['entityParts'].values())[-1]}" for id in ids}


def test_an_application_is_deployed_with_all_that_it_declares(space: Wire) -> None:
    assert space.good("PUT", SHOP, REQUEST, user="dana") == "Deploy Complete"
    space.grant("dana", "program:sales.shop.*", "EXECUTE")
    detail = space.good("GET", SHOP, user="dana")
    assert json.loads(detail.pop("configuration")) == CONFIG
    assert detail == {
        "name": "shop",
        "appVersion": "-SNAPSHOT",
        "description": "",
        "artifact": {"name": "etl", "version": "1.0", "scope": "USER"},
        "streams": [{"name": "s1"}],
        "datasets": [{"name": "t1", "type": "table"}, {"name": "t2", "type": "table"}],
        "programs": [
            {"type": "Service", "app": "shop", "name": "api", "description": ""},
            {"type": "Workflow", "app": "shop", "name": "nightly", "description": "every night"},
        ],
        "plugins": [],
    }


def test_a_configuration_may_come_as_text(space: Wire) -> None:
    space.good("PUT", SHOP, {**REQUEST, "config": json.dumps(CONFIG)}, user="dana")
    assert len(space.good("GET", SHOP, user="dana")["datasets"]) == 2


@pytest.mark.parametrize("id", NEEDED)
def test_deploying_takes_each_of_what_is_needed(space: Wire, id: str) -> None:
    space.revoke("dana", id)
    before = space.service.state.revision
    status, text = space.ask("PUT", SHOP, REQUEST, user="dana")
    assert status == 403
    assert f"on entity '{id}'" in text
    assert space.service.state.revision == before


def test_what_is_there_already_is_not_asked_for(space: Wire) -> None:
    space.good("PUT", SHOP, REQUEST, user="dana")
    for id in ("dataset:sales.t1", "stream:sales.s1"):
        space.revoke("dana", id)
    assert space.status("PUT", SHOP, REQUEST, user="dana") == 200


def test_deploying_gives_nothing(space: Wire) -> None:
    before = held(space, "dana")
    space.good("PUT", SHOP, REQUEST, user="dana")
    assert held(space, "dana") == before
    assert space.good("GET", SHOP, user="dana")["programs"] == []


def test_in_the_older_profile_whoever_deploys_holds_all_that_came_of_it(old_space: Wire) -> None:
    old_space.good("PUT", SHOP, REQUEST, user="dana")
    assert held(old_space, "dana") == {
        *("NAMESPACE:sales", "ARTIFACT:etl", "APPLICATION:shop", "DATASET:t1", "DATASET:t2"),
        *("STREAM:s1", "PROGRAM:workflow.nightly", "PROGRAM:service.api"),
    }


def test_in_the_older_profile_redeploying_is_updating(old_space: Wire) -> None:
    old_space.good("PUT", SHOP, REQUEST)
    status, text = old_space.ask("PUT", SHOP, REQUEST, user="dana")
    assert status == 403
    assert "to perform actions '[ADMIN]' on entity 'application:sales.shop'" in text
    old_space.grant("dana", "application:sales.shop", "ADMIN")
    more = {**CONFIG, "programs": [*CONFIG["programs"], {"type": "worker", "name": "w"}]}
    old_space.good("PUT", SHOP, {**REQUEST, "config": more}, user="dana")
    assert "PROGRAM:worker.w" in held(old_space, "dana")
    assert "PROGRAM:service.api" not in held(old_space, "dana")


def test_the_detail_shows_only_what_lists_would_show(space: Wire) -> None:
    space.good("PUT", SHOP, REQUEST, user="dana")
    space.grant("eve", "program:sales.shop.service.api", "READ")
    space.grant("eve", "dataset:sales.t2", "EXECUTE")
    detail = space.good("GET", SHOP, user="eve")
    assert [one["name"] for one in detail["programs"]] == ["api"]
    assert [one["name"] for one in detail["datasets"]] == ["t2"]
    assert detail["streams"] == []
    config = {"programs": [CONFIG["programs"][1]], "datasets": ["t2"], "streams": []}
    assert json.loads(detail["configuration"]) == config
    for id in ("dataset:sales.t1", "program:sales.shop.*", "stream:sales.s1"):
        space.grant("eve", id, "WRITE")
    whole = space.good("GET", SHOP, user="dana")["configuration"]
    assert space.good("GET", SHOP, user="eve")["configuration"] == whole


def test_an_application_is_listed_to_who_sees_it_or_anything_in_it(space: Wire) -> None:
    space.good("PUT", SHOP, REQUEST, user="dana")
    space.grant("eve", "program:sales.shop.flow.never", "READ")
    space.grant("bob", "dataset:sales.t1", "READ")
    assert space.good("GET", APPS, user="eve") == [
        {
            "type": "App",
            "name": "shop",
            "version": "-SNAPSHOT",
            "description": "",
            "artifact": {"name": "etl", "version": "1.0", "scope": "USER"},
        }
    ]
    assert space.good("GET", APPS, user="bob") == []
    assert space.status("GET", APPS, user="zed") == 403
    status, text = space.ask("GET", SHOP, user="bob")
    assert (status, text) == (
        403,
        "Principal 'Principal{name='bob', type=USER, kerberosPrincipal=null}' does not have"
        " privileges to access entity 'application:sales.shop' (operation 'application.get')",
    )


def test_lists_are_narrowed_by_artifact(space: Wire) -> None:
    space.good("PUT", SHOP, REQUEST, user="dana")
    for query, count in (
        ("artifactName=etl,other", 1),
        ("artifactName=other", 0),
        ("artifactVersion=1.0", 1),
        ("artifactName=etl&artifactVersion=2.0", 0),
    ):
        assert len(space.good("GET", f"{APPS}?{query}", user="dana")) == count, query


def test_a_privilege_on_the_artifact_is_on_all_its_versions(space: Wire) -> None:
    upload(space, version="2.0")
    newer = {**REQUEST, "artifact": {"name": "etl", "version": "2.0"}}
    assert space.status("PUT", SHOP, newer, user="dana") == 200


def test_an_artifact_that_is_not_there_is_404(space: Wire) -> None:
    newer = {**REQUEST, "artifact": {"name": "etl", "version": "9.9"}}
    assert space.status("PUT", SHOP, newer, user="dana") == 404
    space.grant("dana", "artifact:sales.none", "READ")
    none = {**REQUEST, "artifact": {"name": "none", "version": "1.0"}}
    assert space.ask("PUT", SHOP, none, user="dana") == (
        404,
        "'artifact:sales.none' was not found.",
    )


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"artifact": {"name": "etl"}},
        {"artifact": {"version": "1.0"}},
        {**REQUEST, "artifact": {"name": "etl", "version": "1.0", "scope": "MINE"}},
        {**REQUEST, "config": "no json"},
        {**REQUEST, "config": {"programs": [{"type": "query", "name": "q"}]}},
        {**REQUEST, "config": {"programs": ["nightly"]}},
        {**REQUEST, "config": {"datasets": ["a b"]}},
        {**REQUEST, "principal": "eve/@"},
        {**REQUEST, "principal": ""},
    ],
)
def test_what_cannot_be_deployed_is_400(space: Wire, body: Json) -> None:
    assert space.status("PUT", SHOP, body, user="dana") == 400


def test_a_file_is_deployed_as_artifact_and_application_at_once(space: Wire) -> None:
    headers = {"X-Archive-Name": "data-mart-2.1.jar", "X-App-Config": json.dumps(CONFIG)}
    status = space.status("POST", APPS, b"x", headers=headers, user="dana")
    assert status == 403
    for id in ("application:sales.data-mart", "artifact:sales.data-mart"):
        assert space.status("POST", APPS, b"x", headers=headers, user="dana") == 403
        space.grant("dana", id, "ADMIN")
    assert space.status("POST", APPS, b"x", headers=headers, user="dana") == 200
    found = space.good("GET", f"{APPS}/data-mart", user="dana")
    assert found["artifact"] == {"name": "data-mart", "version": "2.1", "scope": "USER"}
    assert space.status("POST", APPS, b"x", headers=headers, user="dana") == 409


def test_in_the_older_profile_a_file_takes_write_on_the_namespace_and_gives_both(
    old_space: Wire,
) -> None:
    headers = {"X-Archive-Name": "mart-1.jar"}
    assert old_space.status("POST", APPS, b"x", headers=headers, user="eve") == 403
    old_space.good("POST", APPS, b"x", headers=headers, user="dana")
    assert {"APPLICATION:mart", "ARTIFACT:mart"} <= held(old_space, "dana")
    old_space.grant("bob", "namespace:sales", "WRITE")
    headers = {"X-Archive-Name": "mart-2.jar"}
    assert old_space.status("POST", APPS, b"x", headers=headers, user="bob") == 403


@pytest.mark.parametrize("name", ["", "mart.jar", "-1.0.jar", "mart-"])
def test_a_file_without_name_and_version_is_400(space: Wire, name: str) -> None:
    assert space.status("POST", APPS, b"x", headers={"X-Archive-Name": name}, user="dana") == 400


def test_updating_takes_admin_and_a_privilege_on_the_artifact(space: Wire) -> None:
    space.good("PUT", SHOP, REQUEST, user="dana")
    upload(space, version="2.0")
    body = {"artifact": {"name": "etl", "version": "2.0"}}
    space.grant("eve", "application:sales.shop", "ADMIN")
    assert space.status("POST", f"{SHOP}/update", body, user="eve") == 403
    assert space.status("POST", f"{SHOP}/update", {}, user="eve") == 403
    space.good("POST", f"{SHOP}/update", body, user="dana")
    detail = space.good("GET", SHOP, user="dana")
    assert detail["artifact"]["version"] == "2.0"
    assert json.loads(detail["configuration"]) == CONFIG
    absent = f"{APPS}/none/update"
    space.grant("dana", "application:sales.none", "ADMIN")
    assert space.status("POST", absent, body, user="dana") == 404


def test_in_the_older_profile_updating_takes_admin_alone(old_space: Wire) -> None:
    old_space.good("PUT", SHOP, REQUEST)
    old_space.grant("eve", "application:sales.shop", "ADMIN")
    assert old_space.status("POST", f"{SHOP}/update", {"config": {}}, user="eve") == 200
    assert old_space.status("POST", f"{SHOP}/update", {}, user="dana") == 403


def test_programs_that_are_declared_no_more_go(space: Wire) -> None:
    space.good("PUT", SHOP, REQUEST, user="dana")
    space.grant("dana", "program:sales.shop.*", "READ")
    fewer = {**CONFIG, "programs": CONFIG["programs"][:1]}
    space.good("POST", f"{SHOP}/update", {"config": fewer}, user="dana")
    programs = space.good("GET", SHOP, user="dana")["programs"]
    assert [one["name"] for one in programs] == ["nightly"]


def test_a_version_that_was_deployed_is_later_than_one_that_was_brought_in() -> None:
    kept = {"-SNAPSHOT": {}, "1": {"deployed": 2.0}, "2": {"deployed": 10.0}}
    assert latest({VERSIONS: kept}) == {"deployed": 10.0}
    assert latest({VERSIONS: {"1": {"deployed": 2.0}, "-SNAPSHOT": {}}}) == {"deployed": 2.0}
    assert latest({}) == latest({VERSIONS: {}}) == {}


def test_versions_are_kept_side_by_side_as_one_entity(space: Wire) -> None:
    space.good("POST", f"{SHOP}/versions/1/create", REQUEST, user="dana")
    assert space.status("POST", f"{SHOP}/versions/1/create", REQUEST, user="dana") == 409
    space.good("POST", f"{SHOP}/versions/2/create", {**REQUEST, "config": {}}, user="dana")
    assert space.good("GET", f"{SHOP}/versions", user="dana") == ["1", "2"]
    assert len(space.good("GET", f"{SHOP}/versions/1", user="dana")["datasets"]) == 2
    assert space.good("GET", SHOP, user="dana")["appVersion"] == "2"
    assert space.status("GET", f"{SHOP}/versions/3", user="dana") == 404
    assert space.status("GET", f"{SHOP}/versions/3", user="eve") == 403
    space.good("DELETE", f"{SHOP}/versions/1", user="dana")
    space.good("DELETE", f"{SHOP}/versions/2", user="dana")
    assert space.status("GET", SHOP, user="dana") == 404


def test_deleting_takes_admin_and_the_privileges_outlast_it(space: Wire) -> None:
    space.good("PUT", SHOP, REQUEST, user="dana")
    space.grant("eve", "application:sales.shop", "READ", "WRITE", "EXECUTE")
    assert space.status("DELETE", SHOP, user="eve") == 403
    assert space.status("DELETE", SHOP, user="dana") == 200
    assert space.ask("DELETE", SHOP, user="dana") == (
        404,
        "'application:sales.shop' was not found.",
    )
    assert held(space, "eve") == {"APPLICATION:shop"}
    space.good("PUT", SHOP, REQUEST, user="dana")
    assert space.status("GET", SHOP, user="eve") == 200


def test_in_the_older_profile_deleting_takes_the_privileges_along(old_space: Wire) -> None:
    old_space.good("PUT", SHOP, REQUEST, user="dana")
    old_space.good("DELETE", SHOP, user="dana")
    kept = {"NAMESPACE:sales", "ARTIFACT:etl", "DATASET:t1", "DATASET:t2", "STREAM:s1"}
    assert held(old_space, "dana") == kept


def test_deleting_all_without_admin_on_one_deletes_none(space: Wire) -> None:
    for name in ("shop", "mail"):
        space.grant("dana", f"application:sales.{name}", "ADMIN")
        space.good("PUT", f"{APPS}/{name}", {**REQUEST, "config": {}}, user="dana")
    space.revoke("dana", "application:sales.mail")
    status, text = space.ask("DELETE", APPS, user="dana")
    assert (status, "on entity 'application:sales.mail'" in text) == (403, True)
    assert space.status("GET", SHOP, user="dana") == 200
    space.grant("eve", "dataset:sales.t1", "READ")
    _, text = space.ask("DELETE", APPS, user="eve")
    assert text.endswith("\nmissing: application:sales.mail, application:sales.shop")
    space.grant("dana", "application:sales.mail", "ADMIN")
    assert space.status("DELETE", APPS, user="dana") == 200
    assert space.good("GET", APPS, user="dana") == []


def test_a_namespace_with_something_of_somebody_else_in_it_is_not_deleted(space: Wire) -> None:
    space.good("PUT", SHOP, REQUEST, user="dana")
    path = "unrecoverable/namespaces/sales"
    status, text = space.ask("DELETE", path)
    assert status == 403
    assert text.startswith("Principal 'Principal{name='boss'")
    assert "missing: application:sales.shop, dataset:sales.t1" in text
    assert space.status("DELETE", path, user="dana") == 403
    for id in ("application:sales.*", "dataset:sales.*", "stream:sales.*"):
        space.grant(BOSS, id, "ADMIN")
    assert space.status("DELETE", path) == 200
    space.grant(BOSS, "namespace:sales", "ADMIN")
    space.good("PUT", SPACE)
    assert space.good("GET", APPS) == []


def test_in_the_older_profile_the_contents_go_with_the_namespace(old_space: Wire) -> None:
    old_space.good("PUT", SHOP, REQUEST, user="dana")
    assert old_space.status("DELETE", "unrecoverable/namespaces/sales", user="dana") == 403
    old_space.good("DELETE", "unrecoverable/namespaces/sales")
    assert held(old_space, "dana") == set()


def test_datasets_of_a_namespace_are_dropped_all_at_once(space: Wire) -> None:
    space.good("PUT", SHOP, REQUEST, user="dana")
    path = "unrecoverable/namespaces/sales/datasets"
    space.revoke("dana", "dataset:sales.t2")
    assert space.status("DELETE", path, user="dana") == 403
    assert len(space.good("GET", SHOP, user="dana")["datasets"]) == 1
    space.grant("dana", "dataset:sales.t2", "ADMIN")
    assert space.status("DELETE", path, user="dana") == 200
    assert space.good("GET", SHOP, user="dana")["datasets"] == []


def test_deploying_as_a_principal_takes_admin_on_it_and_the_owner_creates(space: Wire) -> None:
    owned = {**REQUEST, "principal": "eve/h@CORP"}
    assert space.status("PUT", SHOP, owned, user="dana") == 403
    space.grant("dana", "kerberosprincipal:eve/h@CORP", "ADMIN")
    status, text = space.ask("PUT", SHOP, owned, user="dana")
    assert (status, "name='eve'" in text, "dataset:sales.t1" in text) == (403, True, True)
    for id in ("dataset:sales.*", "stream:sales.*"):
        space.grant("eve", id, "ADMIN")
    for id in ("dataset:sales.t1", "dataset:sales.t2", "stream:sales.s1"):
        space.revoke("dana", id)
    assert space.status("PUT", SHOP, owned, user="dana") == 200
    assert space.good("GET", SHOP, user="dana")["principal"] == "eve/h@CORP"


def test_one_may_deploy_as_oneself(space: Wire) -> None:
    assert space.status("PUT", SHOP, {**REQUEST, "principal": "dana@CORP"}, user="dana") == 200


def test_the_owner_of_an_application_is_never_changed(space: Wire) -> None:
    space.good("PUT", SHOP, {**REQUEST, "principal": "dana@CORP"}, user="dana")
    for principal in ("dana@OTHER", None):
        body = {**REQUEST, "principal": principal}
        assert space.status("PUT", SHOP, body, user="dana") == 403
        assert space.status("POST", f"{SHOP}/update", {"principal": principal}, user="dana") == 403
    same = {"principal": "dana@CORP"}
    assert space.status("POST", f"{SHOP}/update", same, user="dana") == 200


def test_the_principal_of_the_namespace_owns_what_is_deployed_there(wire: Wire) -> None:
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    wire.grant(BOSS, "kerberosprincipal:eve@CORP", "ADMIN")
    config = {"principal": "eve@CORP", "keytabURI": "file:///k"}
    wire.good("PUT", SPACE, {"config": config})
    wire.grant(BOSS, "artifact:sales.etl", "ADMIN")
    upload(wire)
    wire.grant("dana", "application:sales.shop", "ADMIN")
    wire.grant("dana", "artifact:sales.etl", "READ")
    wire.grant("dana", "namespace:sales", "READ")
    status, text = wire.ask("PUT", SHOP, REQUEST, user="dana")
    assert (status, "'kerberosprincipal:eve@CORP'" in text) == (403, True)
    wire.grant("dana", "kerberosprincipal:eve@CORP", "ADMIN")
    assert wire.status("PUT", SHOP, REQUEST, user="dana") == 403
    for id in ("dataset:sales.*", "stream:sales.*"):
        wire.grant("eve", id, "ADMIN")
    assert wire.status("PUT", SHOP, REQUEST, user="dana") == 200


def test_a_module_that_comes_along_takes_admin_on_it_and_on_its_type(space: Wire) -> None:
    config = {
        "modules": [{"name": "cubes", "className": "com.acme.Cube"}],
        "datasets": [{"name": "t1", "type": "com.acme.Cube"}],
    }
    body = {**REQUEST, "config": config}
    for id in ("dataset_module:sales.cubes", "dataset_type:sales.com.acme.Cube"):
        status, text = space.ask("PUT", SHOP, body, user="dana")
        assert (status, f"'[ADMIN]' on entity '{id}'" in text) == (403, True)
        space.grant("dana", id, "ADMIN")
    space.good("PUT", SHOP, body, user="dana")
    assert space.good("GET", SHOP, user="dana")["datasets"] == [
        {"name": "t1", "type": "com.acme.Cube"}
    ]


def test_a_dataset_of_a_custom_type_takes_any_privilege_on_it(space: Wire) -> None:
    config = {"datasets": [{"name": "t1", "type": "com.acme.Cube"}]}
    body = {**REQUEST, "config": config}
    status, text = space.ask("PUT", SHOP, body, user="dana")
    assert status == 403
    assert (
        "to perform any one of the actions '[READ, WRITE, EXECUTE, ADMIN]' on entity"
        " 'dataset_type:sales.com.acme.Cube'"
    ) in text
    space.grant("dana", "dataset_type:sales.com.acme.Cube", "EXECUTE")
    assert space.status("PUT", SHOP, body, user="dana") == 404


def test_preferences_of_an_application_and_its_programs_are_merged(space: Wire) -> None:
    space.good("PUT", SHOP, REQUEST, user="dana")
    nightly = f"{SHOP}/workflows/nightly"
    space.grant("dana", "program:sales.shop.workflow.nightly", "ADMIN")
    space.good("PUT", f"{SPACE}/preferences", {"a": "ns", "b": "ns"})
    space.good("PUT", f"{SHOP}/preferences", {"b": "app", "c": "app"}, user="dana")
    space.good("PUT", f"{nightly}/preferences", {"c": "program"}, user="dana")
    merged = space.good("GET", f"{nightly}/preferences?resolved=true", user="dana")
    assert merged == {"a": "ns", "b": "app", "c": "program"}
    assert space.status("GET", f"{SHOP}/queries/nightly/preferences", user="dana") == 404
    space.grant("dana", "stream:sales.s1", "ADMIN")
    space.good("PUT", f"{SPACE}/streams/s1/preferences", {"z": "1"}, user="dana")
    assert space.good("GET", f"{SPACE}/streams/s1/preferences", user="dana") == {"z": "1"}


def test_what_is_null_is_what_is_not_said(space: Wire) -> None:
    artifact = {**REQUEST["artifact"], "scope": None}
    nothing = dict.fromkeys(("programs", "datasets", "streams", "modules"))
    body = {"artifact": artifact, "config": nothing, "principal": None}
    assert space.status("PUT", SHOP, body, user="dana") == 200


def test_the_owner_of_the_namespace_may_be_repeated_and_no_other_named(wire: Wire) -> None:
    for id in ("namespace:sales", "artifact:sales.etl", "application:sales.shop"):
        wire.grant(BOSS, id)
    for user in ("eve", "ben"):
        wire.grant(BOSS, f"kerberosprincipal:{user}@CORP", "ADMIN")
        wire.grant(user, "stream:sales.s1", "ADMIN")
    wire.good("PUT", SPACE, {"config": {"principal": "eve@CORP", "keytabURI": "file:///k"}})
    upload(wire)
    body = {**REQUEST, "config": {"streams": ["s1"]}}
    for principal, status in ((None, 200), ("eve@CORP", 200), ("ben@CORP", 403), (None, 200)):
        assert wire.status("PUT", SHOP, {**body, "principal": principal}) == status


def test_what_an_application_finds_has_its_owner(space: Wire) -> None:
    for id in ("dataset:sales.t1", "kerberosprincipal:eve@CORP", "kerberosprincipal:ben@CORP"):
        space.grant("dana", id, "ADMIN")
    table = {"typeName": "table", "principal": "eve@CORP"}
    space.good("PUT", f"{SPACE}/data/datasets/t1", table, user="dana")
    for principal in (None, "ben@CORP"):
        body = {**REQUEST, "config": {"datasets": ["t1"]}, "principal": principal}
        status, text = space.ask("PUT", SHOP, body, user="dana")
        assert (status, "'dataset:sales.t1' exists already" in text) == (403, True)
    body = {**REQUEST, "config": {"datasets": ["t1"]}, "principal": "eve@CORP"}
    assert space.status("PUT", SHOP, body, user="dana") == 200


def test_a_module_that_is_there_already_opens_no_other_type(space: Wire) -> None:
    space.grant(BOSS, "dataset_module:sales.*", "ADMIN")
    for module, type in (("cubes", "com.acme.Cube"), ("vaults", "com.acme.Vault")):
        path = f"{SPACE}/data/modules/{module}"
        space.good("PUT", path, b"x", headers={"X-Class-Name": type})
    body: Json = {**REQUEST, "config": {"datasets": [{"name": "t1", "type": "com.acme.Vault"}]}}
    for module in ("cubes", "vaults"):
        body["config"]["modules"] = [{"name": module, "className": "com.acme.Vault"}]
        status, text = space.ask("PUT", SHOP, body, user="dana")
        assert (status, "on entity 'dataset_type:sales.com.acme.Vault'" in text) == (403, True)
    space.grant("dana", "dataset_type:sales.com.acme.Vault", "READ")
    assert space.status("PUT", SHOP, body, user="dana") == 200


def test_no_module_that_comes_along_brings_a_type_that_is_built_in(space: Wire) -> None:
    for id in ("dataset_module:sales.m", "dataset_type:sales.table"):
        space.grant("dana", id, "ADMIN")
    body = {**REQUEST, "config": {"modules": [{"name": "m", "className": "table"}]}}
    assert space.ask("PUT", SHOP, body, user="dana") == (409, "the type 'table' is built in")


def test_data_of_an_application_have_the_owner_that_was_said_and_no_other(wire: Wire) -> None:
    owner = {"principal": "eve@CORP", "keytabURI": "file:///k"}
    for id in ("namespace:sales", "kerberosprincipal:eve@CORP", "artifact:sales.etl"):
        wire.grant(BOSS, id, "ADMIN")
    wire.good("PUT", SPACE, {"config": owner})
    upload(wire)
    for user in (BOSS, "eve"):
        for id in ("application:sales.*", "dataset:sales.*", "stream:sales.*"):
            wire.grant(user, id, "ADMIN")
    wire.good("PUT", SHOP, REQUEST)
    assert "principal" not in wire.good("GET", f"{SPACE}/data/datasets/t1")
    wire.good("PUT", f"{SPACE}/streams/s1")
    wire.good("PUT", f"{SPACE}/streams/s1/properties", {"ttl": 60})
    config = {"datasets": ["t3"], "streams": ["s3"]}
    wire.good("PUT", f"{APPS}/own", {**REQUEST, "config": config, "principal": "eve@CORP"})
    for path in ("data/datasets/t3", "streams/s3"):
        assert wire.good("GET", f"{SPACE}/{path}")["principal"] == "eve@CORP"


def test_an_application_of_a_fixed_version_is_updated_in_it(space: Wire) -> None:
    space.good("POST", f"{SHOP}/versions/1/create", REQUEST, user="dana")
    space.good("POST", f"{SHOP}/update", {"config": {"datasets": ["t2"]}}, user="dana")
    detail = space.good("GET", f"{SHOP}/versions/1", user="dana")
    assert [one["name"] for one in detail["datasets"]] == ["t2"]


def test_an_update_without_a_known_artifact_says_what_it_lacks(space: Wire) -> None:
    added = EntityAdded(Entity("application", "sales.shop"), Entity("namespace", "sales"))
    assert space.ask("POST", f"{SHOP}/update", {}, user="dana") == (
        404,
        "'application:sales.shop' was not found.",
    )
    space.service.write(SYSTEM, lambda transaction: transaction.change(REALM, added))
    assert space.status("POST", f"{SHOP}/update", {}, user="eve") == 403
    status, text = space.ask("POST", f"{SHOP}/update", {}, user="dana")
    assert (status, "expected an `artifact`" in text) == (400, True)
    artifact = {"artifact": REQUEST["artifact"]}
    space.good("POST", f"{SHOP}/update", artifact, user="dana")
    space.good("POST", f"{SHOP}/update", {}, user="dana")


def test_who_is_not_shown_what_runs_is_told_how_much_does(space: Wire) -> None:
    space.good("PUT", SHOP, REQUEST, user="dana")
    space.grant("eve", "program:sales.shop.*", "EXECUTE")
    for program in ("services/api", "workflows/nightly"):
        space.good("POST", f"{SHOP}/{program}/start", user="eve")
    space.grant("dana", "program:sales.shop.service.api", "READ")
    fewer = {**REQUEST, "config": {}}
    shown = "'program:sales.shop.service.api', 1 not shown to you"
    for method, body in (("DELETE", None), ("PUT", fewer)):
        status, text = space.ask(method, SHOP, body, user="dana")
        assert (status, text.endswith(f"still running: {shown}")) == (409, True)
