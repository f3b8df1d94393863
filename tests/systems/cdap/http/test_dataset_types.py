"""Dataset modules and types over the wire, in both profiles."""

from __future__ import annotations

from typing import Any

import pytest

from lakewarden.systems.cdap.http.creating import BUILT_IN_TYPES
from tests.systems.cdap.http.wire import BOSS, Wire

SPACE = "namespaces/sales"
DATA = f"{SPACE}/data"
MODULES = f"{DATA}/modules"
TYPES = f"{DATA}/types"
CUBES = f"{MODULES}/cubes"
CUBE = "com.acme.Cube"
SYSTEM = "namespaces/system/data"


def deploy(wire: Wire, name: str, class_name: str, **who: Any) -> tuple[int, str]:
    headers = {"X-Class-Name": class_name}
    return wire.ask("PUT", f"{MODULES}/{name}", b"jar", headers=headers, **who)


def names(wire: Wire, path: str, user: str) -> list[str]:
    return [one["name"] for one in wire.good("GET", path, user=user)]


def holds(wire: Wire, user: str) -> list[tuple[str, str]]:
    found = wire.good("GET", f"security/authorization/user/{user}/privileges", user=user)
    kinds = ((one["authorizable"]["entityType"], one["action"]) for one in found)
    return sorted(one for one in kinds if one[0].startswith("DATASET_"))


@pytest.fixture
def space(wire: Wire) -> Wire:
    """A namespace with the module `cubes` and its type."""
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    wire.grant(BOSS, "dataset_module:sales.cubes", "ADMIN")
    wire.good("PUT", SPACE)
    assert deploy(wire, "cubes", CUBE) == (200, "")
    return wire


@pytest.fixture
def old_space(old: Wire) -> Wire:
    """The same in the older profile."""
    old.grant(BOSS, "instance:cdap", "WRITE")
    old.good("PUT", SPACE)
    assert deploy(old, "cubes", CUBE) == (200, "")
    return old


def test_deploying_takes_admin_on_the_module_and_gives_nothing(space: Wire) -> None:
    status, text = deploy(space, "graphs", "com.acme.Graph", user="dana")
    assert status == 403
    assert "to perform actions '[ADMIN]' on entity 'dataset_module:sales.graphs'" in text
    space.grant("dana", "dataset_module:sales.graphs", "ADMIN")
    assert deploy(space, "graphs", "com.acme.Graph", user="dana") == (200, "")
    assert holds(space, "dana") == [("DATASET_MODULE", "ADMIN")]
    assert names(space, TYPES, "dana") == []


def test_in_the_older_profile_the_deployer_holds_all_on_module_and_type(old_space: Wire) -> None:
    old_space.grant("dana", "namespace:sales", "WRITE")
    assert deploy(old_space, "graphs", "com.acme.Graph", user="dana") == (200, "")
    actions = ("ADMIN", "EXECUTE", "READ", "WRITE")
    expected = [(kind, one) for kind in ("DATASET_MODULE", "DATASET_TYPE") for one in actions]
    assert holds(old_space, "dana") == expected
    assert names(old_space, TYPES, "dana") == ["com.acme.Graph"]


def test_a_module_brings_one_type_named_as_its_class(space: Wire) -> None:
    module = {"name": "cubes", "className": CUBE, "types": [CUBE]}
    space.grant(BOSS, f"dataset_type:sales.{CUBE}", "READ")
    assert space.good("GET", CUBES) == module
    assert space.good("GET", MODULES) == [module]
    assert space.good("GET", f"{TYPES}/{CUBE}") == {"name": CUBE, "modules": [module]}
    assert space.good("GET", TYPES) == [{"name": CUBE, "modules": [module]}]


def test_what_is_there_is_not_deployed_again(space: Wire) -> None:
    space.grant(BOSS, "dataset_module:sales.*", "ADMIN")
    assert deploy(space, "cubes", "com.acme.New")[0] == 409
    assert deploy(space, "more", CUBE) == (409, f"'dataset_type:sales.{CUBE}' already exists.")
    assert deploy(space, "more", "table")[0] == 409
    assert names(space, MODULES, BOSS) == ["cubes"]


def test_a_module_without_a_class_is_refused(space: Wire) -> None:
    space.grant(BOSS, "dataset_module:sales.graphs", "ADMIN")
    graphs = f"{MODULES}/graphs"
    assert space.ask("PUT", graphs, b"jar") == (400, "expected the header `X-Class-Name`")
    assert deploy(space, "graphs", "no class")[0] == 400
    assert space.status("PUT", graphs, b"jar", user="eve") == 403
    assert space.status("GET", graphs) == 404


@pytest.mark.parametrize("action", ["READ", "WRITE", "EXECUTE", "ADMIN"])
def test_any_action_shows_a_module_or_type_and_only_admin_deletes_the_module(
    space: Wire, action: str
) -> None:
    space.grant("dana", "dataset_module:sales.cubes", action)
    space.grant("tina", f"dataset_type:sales.{CUBE}", action)
    assert names(space, MODULES, "dana") == ["cubes"]
    assert names(space, TYPES, "tina") == [CUBE]
    assert names(space, TYPES, "dana") == names(space, MODULES, "tina") == []
    assert space.status("GET", CUBES, user="dana") == 200
    assert space.status("GET", f"{TYPES}/{CUBE}", user="tina") == 200
    assert space.status("GET", f"{TYPES}/{CUBE}", user="dana") == 403
    assert space.status("DELETE", CUBES, user="tina") == 403
    assert space.status("DELETE", CUBES, user="dana") == (200 if action == "ADMIN" else 403)


def test_in_the_older_profile_getting_takes_read_on_the_namespace_too(old_space: Wire) -> None:
    old_space.grant("dana", "dataset_module:sales.cubes", "READ")
    old_space.grant("dana", f"dataset_type:sales.{CUBE}", "READ")
    old_space.grant("runner", "dataset_module:sales.cubes", "EXECUTE")
    for path in (CUBES, f"{TYPES}/{CUBE}"):
        assert old_space.status("GET", path, user="dana") == 403
    old_space.grant("dana", "namespace:sales", "READ")
    for path in (CUBES, f"{TYPES}/{CUBE}"):
        assert old_space.status("GET", path, user="dana") == 200
    assert names(old_space, MODULES, "runner") == []


def test_a_module_that_is_not_there_is_told_only_to_who_would_see_it(space: Wire) -> None:
    space.grant("dana", "dataset_module:sales.none", "ADMIN")
    space.grant("dana", "dataset_type:sales.none", "READ")
    calls = [
        ("GET", f"{MODULES}/none"),
        ("DELETE", f"{MODULES}/none"),
        ("GET", f"{TYPES}/none"),
    ]
    for method, path in calls:
        assert space.status(method, path, user="eve") == 403
        assert space.status(method, path, user="dana") == 404


def test_the_type_goes_with_its_module_and_privileges_stay(space: Wire) -> None:
    space.grant("dana", f"dataset_type:sales.{CUBE}", "READ")
    space.good("DELETE", CUBES)
    assert space.status("GET", f"{TYPES}/{CUBE}", user="dana") == 404
    assert deploy(space, "cubes", CUBE) == (200, "")
    assert names(space, TYPES, "dana") == [CUBE]


def test_in_the_older_profile_privileges_on_both_go_with_a_module(old_space: Wire) -> None:
    old_space.grant("dana", f"dataset_type:sales.{CUBE}", "READ")
    old_space.grant("dana", "dataset_module:sales.cubes", "READ")
    old_space.good("DELETE", CUBES)
    assert holds(old_space, "dana") == holds(old_space, BOSS) == []


def test_a_module_of_whose_type_a_dataset_is_stays(space: Wire) -> None:
    space.grant(BOSS, f"dataset_type:sales.{CUBE}", "READ")
    space.grant(BOSS, "dataset:sales.t1", "ADMIN")
    space.good("PUT", f"{DATA}/datasets/t1", {"typeName": CUBE})
    status, text = space.ask("DELETE", CUBES)
    assert status == 409
    assert "'dataset:sales.t1' is of its type" in text
    space.grant("dana", "dataset_module:sales.cubes", "ADMIN")
    status, text = space.ask("DELETE", CUBES, user="dana")
    assert (status, "sales.t1" in text, "1 not shown to you is of its type" in text) == (
        *(409, False, True),
    )
    assert space.status("DELETE", MODULES) == 409
    assert names(space, MODULES, BOSS) == ["cubes"]
    space.good("DELETE", f"{DATA}/datasets/t1")
    space.good("DELETE", MODULES)
    assert names(space, MODULES, BOSS) == []


def test_delete_all_takes_admin_on_each_and_else_deletes_none(space: Wire) -> None:
    space.grant(BOSS, "dataset_module:sales.graphs", "ADMIN")
    deploy(space, "graphs", "com.acme.Graph")
    space.grant("dana", "dataset_module:sales.cubes", "ADMIN")
    status, text = space.ask("DELETE", MODULES, user="dana")
    assert status == 403
    assert "to perform actions '[ADMIN]' on entity 'dataset_module:sales.graphs'" in text
    assert names(space, MODULES, BOSS) == ["cubes", "graphs"]
    space.good("DELETE", MODULES)
    assert names(space, MODULES, BOSS) == []


def test_in_the_older_profile_what_may_go_goes_and_the_rest_is_told(old_space: Wire) -> None:
    old_space.grant("dana", "namespace:sales", "WRITE")
    deploy(old_space, "graphs", "com.acme.Graph", user="dana")
    status, body = old_space.ask("DELETE", MODULES, user="dana")
    assert status == 207
    assert body["deleted"] == ["dataset_module:sales.graphs"]
    assert [one["entity"] for one in body["errors"]] == ["dataset_module:sales.cubes"]
    assert names(old_space, TYPES, BOSS) == [CUBE]


def test_what_is_built_in_is_shown_to_everybody(either: Wire) -> None:
    assert names(either, f"{SYSTEM}/types", "eve") == list(BUILT_IN_TYPES)
    assert names(either, f"{SYSTEM}/modules", "eve") == ["core"]
    table = either.good("GET", f"{SYSTEM}/types/table", user="eve")
    assert [one["name"] for one in table["modules"]] == ["core"]
    assert "table" in either.good("GET", f"{SYSTEM}/modules/core", user="eve")["types"]
    assert either.status("GET", f"{SYSTEM}/types/none", user="eve") == 404
    headers = {"X-Class-Name": "com.acme.Mine"}
    for user in ("eve", BOSS):
        status = either.status("PUT", f"{SYSTEM}/modules/x", b"", user=user, headers=headers)
        assert status == 403
