"""Properties of the CDAP model of the releases 4.3 to 5.1, beyond its scenarios."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lakewarden import models
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.expression import Holds, May, Node, children
from lakewarden.kernel.model import ANY, Operation, Reach
from lakewarden.kernel.principal import ALL_USERS, MASTER
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import read_statements
from lakewarden.systems.cdap import names as spelling

CDAP = models.load("cdap")
OLDER = models.load("cdap_parent_write")
REGISTER = Path(__file__).parents[1] / "register" / "cdap.toml"
ROWS = tomllib.loads(REGISTER.read_text("utf-8"))["row"]
FOUR = frozenset({"READ", "WRITE", "EXECUTE", "ADMIN"})


def nodes(rule: Node) -> Iterator[Node]:
    yield rule
    for child in children(rule):
        yield from nodes(child)


def all_nodes(operation: Operation) -> Iterator[Node]:
    for rule in operation.rules.values():
        yield from nodes(rule)


def asked_about(operation: Operation) -> frozenset[str]:
    listed = frozenset(operation.rules)
    return frozenset({ANY}) if ANY in listed else listed


def built_in() -> tuple[Statement, ...]:
    tables = [
        {key: value for key, value in table.items() if key not in ("set", "editable")}
        for table in CDAP.defaults
    ]
    return read_statements(tables, CDAP, spelling, "cdap.toml", builtin=True)


def test_the_register_holds_nine_sentences_and_the_rows_of_every_table() -> None:
    ids = [row["id"] for row in ROWS]
    sentences = [f"CDL-SENT-{number}" for number in range(1, 10)]
    assert ids == sentences + [f"CDL-ROW-{number:02}" for number in range(1, 66)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_each_operation_of_a_row_is_declared_and_cites_the_row(row: dict[str, Any]) -> None:
    for name in row["operations"]:
        assert row["id"] in CDAP.operation(name).source


@pytest.mark.parametrize("name", sorted(CDAP.operations))
def test_each_operation_says_where_its_rule_comes_from(name: str) -> None:
    operation = CDAP.operations[name]
    assert operation.source or operation.note.startswith("no source")


def test_both_models_are_asked_the_same_questions_about_the_same_entities() -> None:
    def questions(operations: dict[str, Operation]) -> dict[str, object]:
        return {
            name: (asked_about(operation), dict(operation.targets), operation.filter)
            for name, operation in operations.items()
        }

    assert questions(dict(CDAP.operations)) == questions(dict(OLDER.operations))


def test_both_models_have_the_same_types_relations_and_grantable_privileges() -> None:
    assert dict(CDAP.types) == dict(OLDER.types)
    assert set(CDAP.relations) == set(OLDER.relations)
    for model in (CDAP, OLDER):
        assert {name for name, p in model.privileges.items() if p.grantable} == FOUR


def test_every_type_is_one_that_names_can_spell() -> None:
    assert set(CDAP.types) == set(spelling.TYPES)


@pytest.mark.parametrize("name", sorted(CDAP.privileges))
def test_every_privilege_gates_an_operation(name: str) -> None:
    assert any(Holds(name) in all_nodes(operation) for operation in CDAP.operations.values())


def test_nothing_inherits_and_no_success_changes_who_holds_what() -> None:
    assert all(CDAP.privileges[name].reach is Reach.EXACTLY for name in FOUR)
    assert not any(operation.effects for operation in CDAP.operations.values())
    assert not CDAP.binds_identity


def test_a_name_that_is_not_stored_is_judged_whatever_its_type() -> None:
    assert all(CDAP.judged(type) for type in CDAP.types)


def test_any_of_the_four_shows_the_entity_and_what_lies_above_it() -> None:
    visible = CDAP.privileges["VISIBLE"]
    assert set(visible.implied_by) == FOUR
    assert visible.reach is Reach.ABOVE
    assert not visible.grantable


@pytest.mark.parametrize("name", ["VISIBLE", "OPEN", "OPEN_CONTENTS"])
def test_what_follows_from_the_four_cannot_be_granted_by_hand(name: str) -> None:
    table = {"id": "x", "privileges": [name], "to": "user:ana", "on": "namespace:sales"}
    with pytest.raises(BadInput, match=f"`{name}` cannot be granted"):
        read_statements([table], CDAP, spelling, "test")


@pytest.mark.parametrize("name", [name for name in CDAP.operations if name.endswith(".list")])
def test_a_list_of_entities_shows_what_its_own_filter_lets_through(name: str) -> None:
    operation = CDAP.operations[name]
    if name == "stream_view.list":
        assert operation.filter is None, "a view has no privileges: its stream is asked about"
    elif name in ("privilege.list", "role.list"):
        assert operation.filter is None, "what is listed there is no entity"
    else:
        assert operation.filter == f"{name}.filter"


@pytest.mark.parametrize(
    ("several", "one"),
    [
        ("namespace.delete", "namespace.delete.contents"),
        ("artifact.clear_all", "artifact.delete"),
        ("application.delete_all", "application.delete"),
        ("stream.drop_all", "stream.delete"),
        ("dataset.drop_all", "dataset.drop"),
        ("dataset_module.delete_all", "dataset_module.delete"),
        ("core.delete_all", "core.delete"),
    ],
)
def test_deleting_several_asks_about_each_before_the_first_goes(several: str, one: str) -> None:
    operation = CDAP.operations[several]
    assert operation.filter == one
    assert operation.note.startswith("all or nothing")
    assert OLDER.operations[several].filter == one


@pytest.mark.parametrize(
    "name",
    [
        "namespace.create",
        "artifact.add",
        "application.deploy_contents",
        "stream.create",
        "dataset.create",
        "dataset_module.deploy",
        "secure_key.create",
        "core.create",
    ],
)
def test_creating_takes_admin_on_what_will_exist_and_nothing_else(name: str) -> None:
    assert set(CDAP.operations[name].rules.values()) == {Holds("ADMIN")}


def test_a_listing_inside_a_namespace_needs_the_namespace_to_be_visible() -> None:
    for operation in CDAP.operations.values():
        lists = operation.name.endswith(("list", "_all"))
        if lists and "namespace" in operation.rules:
            assert May("namespace.use") in nodes(operation.rules["namespace"]), operation.name


def test_the_user_of_an_owner_principal_is_the_text_before_its_host_and_realm() -> None:
    for name in ("eve", "eve@CORP", "eve/h1.corp@CORP"):
        assert CDAP.principal_kind(Entity("kerberosprincipal", name)) == ("user", "eve")


def test_only_everybody_and_the_master_user_are_given_something_from_the_start() -> None:
    for statement in built_in():
        assert statement.principals <= {ALL_USERS, MASTER}
        opens = {"OPEN", "OPEN_CONTENTS"}
        assert statement.privileges <= opens or statement.privileges == FOUR
        assert statement.principals == {MASTER} or statement.privileges <= opens


def test_the_master_user_holds_all_on_the_namespace_system_and_every_type_in_it() -> None:
    full = [statement.scope for statement in built_in() if statement.privileges == FOUR]
    types = {getattr(scope, "type", "namespace") for scope in full}
    assert types == {name for name, declared in CDAP.types.items() if declared.parents} | {
        "namespace"
    }
