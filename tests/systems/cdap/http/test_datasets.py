"""Datasets over the wire: the requirements of creating, showing and dropping, in both profiles."""

from __future__ import annotations

from typing import Any

import pytest

from lakewarden.service import write_transaction
from lakewarden.service.state import State
from lakewarden.service.state_builder import after_effects
from tests.systems.cdap.http.wire import BOSS, Json, Wire

SPACE = "namespaces/sales"
DATA = f"{SPACE}/data"
DATASETS = f"{DATA}/datasets"
T1 = f"{DATASETS}/t1"
TABLE: Json = {"typeName": "table"}
CUBE: Json = {"typeName": "com.acme.Cube"}
CLASS = {"X-Class-Name": "com.acme.Cube"}
OWNED: Json = {**TABLE, "principal": "eve/h1.corp@CORP"}


def names(wire: Wire, user: str) -> list[str]:
    return [one["name"] for one in wire.good("GET", DATASETS, user=user)]


def grants(wire: Wire, user: str) -> list[str]:
    found = wire.good("GET", f"security/authorization/user/{user}/privileges", user=user)
    of_datasets = (one for one in found if one["authorizable"]["entityType"] == "DATASET")
    return sorted(one["action"] for one in of_datasets)


def put(wire: Wire, name: str, body: object = TABLE, **who: Any) -> tuple[int, str]:
    return wire.ask("PUT", f"{DATASETS}/{name}", body, **who)


@pytest.fixture
def space(wire: Wire) -> Wire:
    """A namespace with the table `t1`."""
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    wire.grant(BOSS, "dataset:sales.t1", "ADMIN")
    wire.good("PUT", SPACE)
    wire.good("PUT", T1, {**TABLE, "properties": {"ttl": "60"}, "description": "orders"})
    return wire


@pytest.fixture
def old_space(old: Wire) -> Wire:
    """The same in the older profile."""
    old.grant(BOSS, "instance:cdap", "WRITE")
    old.good("PUT", SPACE)
    old.good("PUT", T1, TABLE)
    return old


def test_creating_takes_admin_granted_ahead_and_gives_nothing(space: Wire) -> None:
    status, text = put(space, "t2")
    assert status == 403
    assert "to perform actions '[ADMIN]' on entity 'dataset:sales.t2'" in text
    space.grant("dana", "dataset:sales.t2", "ADMIN")
    assert put(space, "t2", user="dana") == (200, "")
    assert grants(space, "dana") == ["ADMIN"]


def test_in_the_older_profile_write_on_the_namespace_creates_and_the_creator_holds_all(
    old_space: Wire,
) -> None:
    old_space.grant("dana", "dataset:sales.t2", "ADMIN")
    assert put(old_space, "t2", user="dana")[0] == 403
    old_space.grant("eve", "namespace:sales", "WRITE")
    assert put(old_space, "t2", user="eve")[0] == 200
    assert grants(old_space, "eve") == ["ADMIN", "EXECUTE", "READ", "WRITE"]


def test_a_dataset_is_shown_with_its_type(space: Wire) -> None:
    row = {"name": "t1", "type": "table", "description": "orders", "properties": {"ttl": "60"}}
    assert space.good("GET", DATASETS) == [row]
    found = space.good("GET", T1)
    assert found["spec"] == {**row, "datasetSpecs": {}}
    assert found["type"]["name"] == "table"
    assert "principal" not in found


def test_what_is_there_is_not_created_again(space: Wire) -> None:
    assert put(space, "t1") == (409, "'dataset:sales.t1' already exists.")
    assert put(space, "t1", user="eve")[0] == 403
    assert space.good("GET", f"{T1}/properties") == {"ttl": "60"}


def test_a_type_is_said_and_is_there(space: Wire) -> None:
    space.grant(BOSS, "dataset:sales.t2", "ADMIN")
    space.grant(BOSS, "dataset_type:sales.none", "READ")
    assert put(space, "t2", {})[0] == 400
    assert put(space, "t2", {"typeName": "a*"})[0] == 400
    found = put(space, "t2", {"typeName": "none"})
    assert found == (404, "'dataset_type:sales.none' was not found.")
    assert names(space, BOSS) == ["t1"]


def test_a_dataset_in_no_namespace_is_not_created(wire: Wire) -> None:
    wire.grant(BOSS, "dataset:none.t1", "ADMIN")
    found = wire.ask("PUT", "namespaces/none/data/datasets/t1", TABLE)
    assert found == (404, "'namespace:none' was not found.")


@pytest.mark.parametrize("action", ["READ", "WRITE", "EXECUTE", "ADMIN"])
def test_a_custom_type_takes_any_action_on_the_type_and_none_on_its_module(
    space: Wire, action: str
) -> None:
    space.grant(BOSS, "dataset_module:sales.cubes", "ADMIN")
    space.good("PUT", f"{DATA}/modules/cubes", b"x", headers=CLASS)
    space.grant("dana", "dataset:sales.t2", "ADMIN")
    status, text = put(space, "t2", CUBE, user="dana")
    assert status == 403
    assert "any one of the actions '[READ, WRITE, EXECUTE, ADMIN]'" in text
    assert "on entity 'dataset_type:sales.com.acme.Cube'" in text
    space.grant("dana", "dataset_type:sales.com.acme.Cube", action)
    assert put(space, "t2", CUBE, user="dana") == (200, "")
    modules = space.good("GET", f"{DATASETS}/t2", user="dana")["type"]["modules"]
    assert modules == [{"name": "cubes", "className": "com.acme.Cube", "types": ["com.acme.Cube"]}]


def test_who_does_not_see_the_type_is_told_its_name_alone(space: Wire) -> None:
    space.grant(BOSS, "dataset_module:sales.cubes", "ADMIN")
    space.grant(BOSS, "dataset_type:sales.com.acme.Cube", "READ")
    space.grant(BOSS, "dataset:sales.t2", "ADMIN")
    space.good("PUT", f"{DATA}/modules/cubes", b"x", headers=CLASS)
    put(space, "t2", CUBE)
    space.grant("dana", "dataset:sales.t2", "READ")
    found = space.good("GET", f"{DATASETS}/t2", user="dana")
    assert found["type"] == {"name": "com.acme.Cube"}


def test_in_the_older_profile_nothing_is_asked_of_a_custom_type(old_space: Wire) -> None:
    old_space.good("PUT", f"{DATA}/modules/cubes", b"x", headers=CLASS)
    old_space.grant("dana", "namespace:sales", "WRITE")
    assert put(old_space, "t2", CUBE, user="dana") == (200, "")


def test_everybody_is_listed_what_he_holds_anything_on(space: Wire) -> None:
    space.grant(BOSS, "dataset:sales.*", "ADMIN")
    for name in ("t2", "com.acme.T3"):
        put(space, name)
    space.grant("runner", "dataset:sales.t1", "EXECUTE")
    space.grant("reader", "dataset:sales.com.acme.T3", "READ")
    space.grant("other", "stream:sales.none", "READ")
    assert names(space, BOSS) == ["com.acme.T3", "t1", "t2"]
    assert names(space, "runner") == ["t1"]
    assert names(space, "reader") == ["com.acme.T3"]
    assert names(space, "other") == []
    status, text = space.ask("GET", DATASETS, user="eve")
    assert status == 403
    assert "since the principal does not have any privilege on this namespace" in text


def test_in_the_older_profile_execute_does_not_list_and_getting_takes_read_on_both(
    old_space: Wire,
) -> None:
    for user, action in (("runner", "EXECUTE"), ("writer", "WRITE"), ("dana", "READ")):
        old_space.grant(user, "dataset:sales.t1", action)
    assert [names(old_space, user) for user in ("runner", "writer", "eve")] == [[], ["t1"], []]
    for method, path in [("GET", T1), ("GET", f"{T1}/properties"), ("POST", f"{T1}/admin/exists")]:
        status, text = old_space.ask(method, path, user="dana")
        assert status == 403
        assert "to perform actions '[READ]' on entity 'namespace:sales'" in text
    old_space.grant("dana", "namespace:sales", "READ")
    assert old_space.status("GET", T1, user="dana") == 200
    assert old_space.status("GET", T1, user="writer") == 403


def test_a_dataset_that_is_not_there_is_refused_without_a_privilege_and_not_found_with_one(
    space: Wire,
) -> None:
    none = f"{DATASETS}/none"
    space.grant("dana", "dataset:sales.none", "ADMIN")
    calls = [
        ("GET", none),
        ("DELETE", none),
        ("GET", f"{none}/properties"),
        ("PUT", f"{none}/properties"),
        ("POST", f"{none}/admin/truncate"),
        ("POST", f"{none}/admin/upgrade"),
    ]
    for method, path in calls:
        assert space.status(method, path, {}, user="eve") == 403
        found = space.ask(method, path, {}, user="dana")
        assert found == (404, "'dataset:sales.none' was not found.")


def test_whether_one_exists_is_told_to_whoever_would_see_it(space: Wire) -> None:
    space.grant("dana", "dataset:sales.*", "EXECUTE")
    for name, there in (("t1", True), ("none", False)):
        path = f"{DATASETS}/{name}/admin/exists"
        assert space.good("POST", path, user="dana") == {"result": there}
        assert space.status("POST", path, user="eve") == 403


@pytest.mark.parametrize("action", ["READ", "WRITE", "EXECUTE", "ADMIN"])
def test_any_action_shows_a_dataset_and_only_admin_manages_it(space: Wire, action: str) -> None:
    space.grant("dana", "dataset:sales.t1", action)
    assert space.status("GET", T1, user="dana") == 200
    assert space.good("GET", f"{T1}/properties", user="dana") == {"ttl": "60"}
    expected = 200 if action == "ADMIN" else 403
    for verb in ("truncate", "upgrade"):
        assert space.status("POST", f"{T1}/admin/{verb}", user="dana") == expected
    assert space.status("PUT", f"{T1}/properties", {"a": "b"}, user="dana") == expected
    assert space.status("DELETE", T1, user="dana") == expected


def test_other_properties_take_the_place_of_all_and_are_texts(space: Wire) -> None:
    space.good("PUT", f"{T1}/properties", {"a": "b"})
    assert space.good("GET", f"{T1}/properties") == {"a": "b"}
    assert space.status("PUT", f"{T1}/properties", {"a": 1}) == 400
    assert space.good("POST", f"{T1}/admin/upgrade") == {}
    assert space.status("POST", f"{T1}/admin/unknown") == 404


def test_in_the_older_profile_updating_takes_read_on_the_namespace_too(old_space: Wire) -> None:
    old_space.grant("dana", "dataset:sales.t1", "ADMIN")
    assert old_space.status("PUT", f"{T1}/properties", {}, user="dana") == 403
    assert old_space.status("POST", f"{T1}/admin/truncate", user="dana") == 200
    old_space.grant("dana", "namespace:sales", "READ")
    assert old_space.status("PUT", f"{T1}/properties", {}, user="dana") == 200


def test_operations_on_data_are_not_served_even_to_readers(space: Wire) -> None:
    assert space.status("POST", f"{T1}/data/get") == 403
    space.grant("dana", "dataset:sales.t1", "READ")
    assert space.status("POST", f"{T1}/data/get", user="dana") == 501


def test_privileges_outlive_a_dataset_and_count_again(space: Wire) -> None:
    space.grant("dana", "dataset:sales.t1", "READ")
    space.good("DELETE", T1)
    assert space.status("GET", T1, user="dana") == 404
    assert put(space, "t1") == (200, "")
    assert space.good("GET", f"{T1}/properties", user="dana") == {}


def test_in_the_older_profile_privileges_go_with_a_dataset(old_space: Wire) -> None:
    old_space.grant("dana", "dataset:sales.t1", "READ")
    old_space.good("DELETE", T1)
    assert grants(old_space, "dana") == grants(old_space, BOSS) == []


@pytest.mark.parametrize("path", [DATASETS, f"unrecoverable/{SPACE}/datasets"])
def test_drop_all_takes_admin_on_each_and_else_nothing_is_gone(space: Wire, path: str) -> None:
    space.grant(BOSS, "dataset:sales.*", "ADMIN")
    for name in ("t2", "t3"):
        put(space, name)
    space.grant("dana", "dataset:sales.t2", "ADMIN")
    status, text = space.ask("DELETE", path, user="dana")
    assert status == 403
    assert "to perform actions '[ADMIN]' on entity 'dataset:sales.t1'" in text
    assert text.endswith("missing: dataset:sales.t1, dataset:sales.t3")
    assert names(space, BOSS) == ["t1", "t2", "t3"]
    for name in ("t1", "t3"):
        space.grant("dana", f"dataset:sales.{name}", "ADMIN")
    assert space.ask("DELETE", path, user="dana") == (200, "")
    assert names(space, BOSS) == []


@pytest.mark.parametrize("path", [DATASETS, f"unrecoverable/{SPACE}/datasets"])
def test_in_the_older_profile_what_may_go_goes_and_the_rest_is_told(
    old_space: Wire, path: str
) -> None:
    old_space.grant("dana", "namespace:sales", "WRITE")
    put(old_space, "mine", user="dana")
    status, body = old_space.ask("DELETE", path, user="dana")
    assert status == 207
    assert body["deleted"] == ["dataset:sales.mine"]
    (kept,) = body["errors"]
    assert kept["entity"] == "dataset:sales.t1"
    assert "to perform actions '[ADMIN]' on entity 'dataset:sales.t1'" in kept["error"]
    status, body = old_space.ask("DELETE", path, user="eve")
    assert (status, body["deleted"]) == (207, [])
    assert old_space.ask("DELETE", path) == (200, "")


def test_an_owner_takes_admin_on_the_principal_unless_it_is_oneself(space: Wire) -> None:
    for user in ("dana", "eve"):
        space.grant(user, "dataset:sales.owned", "ADMIN")
    status, text = put(space, "owned", OWNED, user="dana")
    assert status == 403
    assert "'[ADMIN]' on entity 'kerberosprincipal:eve/h1.corp@CORP'" in text
    assert put(space, "owned", OWNED, user="eve") == (200, "")
    found = space.good("GET", f"{DATASETS}/owned", user="dana")
    assert found["principal"] == OWNED["principal"]


def test_in_the_older_profile_any_principal_may_be_made_the_owner(old_space: Wire) -> None:
    assert put(old_space, "owned", OWNED) == (200, "")


def test_a_deployed_application_gives_its_deployer_nothing_of_what_it_creates(
    space: Wire,
) -> None:
    needed = {"artifact:sales.etl": "ADMIN", "application:sales.shop": "ADMIN"}
    made = {f"{type}:sales.{name}": "ADMIN" for type, name in (("dataset", "t9"), ("stream", "s9"))}
    for id, action in {**needed, **made}.items():
        space.grant("dana", id, action)
    space.grant("dana", "artifact:sales.etl", "READ")
    headers = {"Artifact-Version": "1.0"}
    space.good("POST", f"{SPACE}/artifacts/etl", b"x", user="dana", headers=headers)
    programs = [{"type": "workflow", "name": "nightly"}]
    config = {"programs": programs, "datasets": ["t9"], "streams": ["s9"]}
    body = {"artifact": {"name": "etl", "version": "1.0"}, "config": config}
    space.good("PUT", f"{SPACE}/apps/shop", body, user="dana")
    assert grants(space, "dana") == ["ADMIN"]
    assert names(space, "dana") == ["t9"]
    shop = f"{SPACE}/apps/shop"
    assert space.good("GET", shop, user="dana")["programs"] == []
    space.grant("dana", "program:sales.shop.workflow.nightly", "EXECUTE")
    (program,) = space.good("GET", shop, user="dana")["programs"]
    assert program["name"] == "nightly"


def test_privileges_on_a_namespace_are_none_on_its_datasets(either: Wire) -> None:
    either.grant(BOSS, "instance:cdap", "WRITE")
    either.grant(BOSS, "namespace:sales", "ADMIN")
    either.grant(BOSS, "dataset:sales.t1", "ADMIN")
    either.good("PUT", SPACE)
    either.grant(BOSS, "namespace:sales", "WRITE")
    either.good("PUT", T1, TABLE)
    either.grant("dana", "namespace:sales")
    assert names(either, "dana") == []
    for method, path in [("GET", T1), ("POST", f"{T1}/admin/truncate"), ("DELETE", T1)]:
        assert either.status(method, path, user="dana") == 403


def test_in_the_older_profile_write_or_admin_lists_but_shows_no_details(old_space: Wire) -> None:
    old_space.grant("reader", "namespace:sales", "READ")
    assert names(old_space, "reader") == []
    for action in ("WRITE", "ADMIN"):
        old_space.grant(action, "dataset:sales.t1", action)
        old_space.grant(action, "namespace:sales", "READ")
        assert names(old_space, action) == ["t1"]
        assert old_space.status("GET", T1, user=action) == 403


def test_what_was_granted_ahead_stays_when_somebody_creates_it(old_space: Wire) -> None:
    old_space.grant("dana", "dataset:sales.t2", "READ")
    put(old_space, "t2")
    assert grants(old_space, "dana") == ["READ"]
    assert names(old_space, "dana") == ["t2"]


def test_in_the_older_profile_the_creator_alone_holds_what_an_owner_does_not(
    old_space: Wire,
) -> None:
    put(old_space, "owned", OWNED)
    assert grants(old_space, "eve") == []
    assert names(old_space, "eve") == []


def test_creating_in_a_namespace_that_one_does_not_see_is_refused(space: Wire) -> None:
    status, text = put(space, "t2", user="eve")
    assert status == 403
    assert "is not authorized to perform action" in text


def test_however_many_are_dropped_the_realm_is_rebuilt_once(
    either: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    for id in ("namespace:sales", "dataset:sales.*"):
        either.grant(BOSS, id)
    either.grant(BOSS, "instance:cdap", "WRITE")
    either.good("PUT", SPACE)
    for number in range(4):
        name = f"t{number}"
        either.good("PUT", f"{DATASETS}/{name}", TABLE)
        either.grant(BOSS, f"dataset:sales.{name}")
    rebuilt: list[int] = []

    def counted(*arguments: Any) -> State:
        rebuilt.append(len(arguments[1]))
        return after_effects(*arguments)

    monkeypatch.setattr(write_transaction, "after_effects", counted)
    either.good("DELETE", DATASETS)
    assert either.good("GET", DATASETS) == []
    # The drops are one change; in the older profile, the removal of their grants is another.
    assert len(rebuilt) <= 2
    assert rebuilt[0] == 4
