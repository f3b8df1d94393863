"""Properties of the CDAP model of the releases 3.4 to 4.2, beyond its scenarios."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lakewarden import models
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.expression import Holds, Node, children
from lakewarden.kernel.model import Model, Reach, above
from lakewarden.kernel.statement_file import read_statements
from lakewarden.systems.cdap import names as spelling

NAME = "cdap_parent_write"
MODEL = models.load(NAME)
REGISTER = Path(__file__).parents[1] / "register" / f"{NAME}.toml"
ROWS = tomllib.loads(REGISTER.read_text("utf-8"))["row"]
FOUR = frozenset({"READ", "WRITE", "EXECUTE", "ADMIN"})


def nodes(rule: Node) -> Iterator[Node]:
    yield rule
    for child in children(rule):
        yield from nodes(child)


def text(model: Model, operation: str, type: str) -> str:
    return model.operations[operation].texts[type]


def changed_operations(setting: str, value: str) -> set[str]:
    other = models.load(NAME, {setting: value})
    assert set(other.operations) == set(MODEL.operations)
    return {
        name for name, operation in MODEL.operations.items() if operation != other.operation(name)
    }


def changed_privileges(setting: str, value: str) -> set[str]:
    other = models.load(NAME, {setting: value})
    return {name for name, found in MODEL.privileges.items() if found != other.privileges[name]}


def test_the_register_holds_sixty_nine_rows_and_ten_core_rules() -> None:
    ids = [row["id"] for row in ROWS]
    core = [f"CDP-CORE-{number:02}" for number in range(1, 11)]
    assert ids == [f"CDP-ROW-{number:02}" for number in range(1, 70)] + core


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_each_operation_of_a_row_is_declared_and_cites_the_row(row: dict[str, Any]) -> None:
    for name in row["operations"]:
        assert row["id"] in MODEL.operation(name).source


@pytest.mark.parametrize("name", sorted(MODEL.operations))
def test_each_operation_says_where_its_rule_comes_from(name: str) -> None:
    operation = MODEL.operations[name]
    assert operation.source or operation.note.startswith("no source")


@pytest.mark.parametrize("name", sorted(MODEL.privileges))
def test_every_privilege_gates_an_operation(name: str) -> None:
    rules = [rule for operation in MODEL.operations.values() for rule in operation.rules.values()]
    assert any(Holds(name) in nodes(rule) for rule in rules)


def test_the_creator_is_granted_all_wherever_the_page_says_so() -> None:
    promised = {name for row in ROWS if "ALL on" in row["says"] for name in row["operations"]}
    granting = {name for name, found in MODEL.operations.items() if "holds" in found.effects}
    assert granting == promised | {
        "application.deploy_contents",
        "program.create",
        "dataset_module.deploy",
        "dataset_type.create",
        "secure_key.create",
        "core.create",
    }


def test_grants_go_with_whatever_is_deleted() -> None:
    dropping = {name for name, found in MODEL.operations.items() if "drop" in found.effects}
    assert dropping == {
        "namespace.delete",
        "namespace.delete.contents",
        "artifact.delete",
        "application.delete",
        "stream.delete",
        "dataset.drop",
        "dataset_module.delete",
        "dataset_type.delete",
        "secure_key.delete",
        "core.delete",
    }


def test_a_row_about_one_entity_is_not_widened_by_the_core_rule_for_getting() -> None:
    for name in ("namespace", "artifact", "application"):
        assert text(MODEL, f"{name}.get", name) == "READ"
    for name in ("stream", "dataset"):
        assert text(MODEL, f"{name}.get", name) == "READ and READ @ namespace"


def test_lists_look_at_three_privileges_held_on_the_entity_itself() -> None:
    assert set(MODEL.privileges["LISTED"].implied_by) == FOUR - {"EXECUTE"}
    assert MODEL.privileges["LISTED"].reach is Reach.EXACTLY


def test_listing_all_namespaces_or_only_some_changes_only_their_filter() -> None:
    assert changed_operations("namespace_list", "filtered") == {"namespace.list.filter"}
    assert not changed_privileges("namespace_list", "filtered")
    filtered = models.load(NAME, {"namespace_list": "filtered"})
    assert text(MODEL, "namespace.list.filter", "namespace") == "anyone"
    assert text(filtered, "namespace.list.filter", "namespace") == "LISTED"


def test_the_action_for_creating_a_namespace_changes_only_that() -> None:
    assert changed_operations("instance_create_action", "admin") == {
        "namespace.create",
        "namespace.recreate",
    }
    assert not changed_privileges("instance_create_action", "admin")
    for value, privilege in (("write", "WRITE"), ("admin", "ADMIN")):
        model = models.load(NAME, {"instance_create_action": value})
        rule = model.operations["namespace.create"].rules["namespace"]
        assert [node for node in nodes(rule) if isinstance(node, Holds)] == [Holds(privilege)]


def test_propagation_changes_the_reach_of_the_four_and_nothing_else() -> None:
    assert not changed_operations("propagate_privileges", "on")
    assert changed_privileges("propagate_privileges", "on") == FOUR
    spread = models.load(NAME, {"propagate_privileges": "on"})
    assert all(spread.privileges[name].reach is Reach.BELOW for name in FOUR)
    assert all(MODEL.privileges[name].reach is Reach.EXACTLY for name in FOUR)


def test_no_chain_of_containment_reaches_the_instance() -> None:
    for type in set(MODEL.types) - {"instance"}:
        assert "instance" not in above(MODEL.types, type)


def test_a_setting_takes_only_its_own_values() -> None:
    with pytest.raises(BadInput, match="expected one of: all, filtered"):
        models.load(NAME, {"namespace_list": "some"})


def test_the_built_in_statements_can_be_read() -> None:
    tables = [
        {key: value for key, value in table.items() if key not in ("set", "editable")}
        for table in MODEL.defaults
    ]
    read = read_statements(tables, MODEL, spelling, f"{NAME}.toml", builtin=True)
    assert len(read) == len(MODEL.defaults)
