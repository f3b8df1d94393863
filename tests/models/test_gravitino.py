"""Properties of the Gravitino model, beyond its scenarios."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lakewarden import models
from lakewarden.kernel.expression import Every, Holds, May, Node, NotDenied, children
from lakewarden.kernel.model import NONE, Model, Operation, Reach

SEED = models.load("gravitino")
NEXT = models.load("gravitino", {"mode": "next"})
REGISTER = Path(__file__).parents[1] / "register" / "gravitino.toml"
ROWS = tomllib.loads(REGISTER.read_text("utf-8"))["row"]
API_ROWS = [row for row in ROWS if "operations" in row]
PRIVILEGE_ROWS = [row for row in ROWS if "privileges" in row]

OWNED_IN_SEED = {
    "metalake",
    "catalog",
    "schema",
    "table",
    "topic",
    "fileset",
    "role",
    "model",
    "tag",
    "job_template",
    "job",
}
OWNED_IN_CODE = {"policy", "view", "function"}
NEVER_OWNED = {"column", "user", "group"}
LEAVES = {"table", "topic", "fileset", "model", "view", "function"}
FIRST_VERBS = {"create", "register", "run"}


def nodes(rule: Node) -> Iterator[Node]:
    yield rule
    for child in children(rule):
        yield from nodes(child)


def all_nodes(operation: Operation) -> Iterator[Node]:
    for rule in operation.rules.values():
        yield from nodes(rule)


def named_privileges(model: Model) -> set[str]:
    return {
        node.privilege
        for operation in model.operations.values()
        for node in all_nodes(operation)
        if isinstance(node, (Holds, NotDenied))
    }


# The rows.


def test_the_register_holds_every_row_in_document_order() -> None:
    wanted = [f"GRA-API-{number:02}" for number in range(1, 95)]
    wanted += [f"GRA-PRIV-{number:02}" for number in range(1, 30)]
    assert [row["id"] for row in ROWS] == wanted
    assert (len(API_ROWS), len(PRIVILEGE_ROWS)) == (94, 29)


@pytest.mark.parametrize("row", API_ROWS, ids=lambda row: row["id"])
def test_the_first_operation_of_a_row_cites_it(row: dict[str, Any]) -> None:
    assert row["id"] in SEED.operation(row["operations"][0]).source


@pytest.mark.parametrize("row", PRIVILEGE_ROWS, ids=lambda row: row["id"])
def test_the_privilege_of_a_row_cites_it(row: dict[str, Any]) -> None:
    (word,) = row["privileges"]
    assert row["id"] in SEED.privilege(word).source


def test_each_row_is_about_operations_or_privileges_of_its_own() -> None:
    firsts = [row["operations"][0] for row in API_ROWS]
    assert len(set(firsts)) == len(firsts)
    words = [word for row in PRIVILEGE_ROWS for word in row["privileges"]]
    assert len(set(words)) == 29


def test_the_privileges_of_the_page_are_those_of_the_model_and_their_older_names() -> None:
    page = {word for row in PRIVILEGE_ROWS for word in row["privileges"]}
    ours = {
        word
        for privilege in SEED.privileges.values()
        if privilege.grantable and not {"next", "database"} & set(privilege.flags)
        for word in (privilege.name, *privilege.aliases)
    }
    assert page == ours


# Privileges.


@pytest.mark.parametrize("model", [SEED, NEXT], ids=["seed", "next"])
def test_each_privilege_gates_an_operation(model: Model) -> None:
    assert set(model.privileges) - named_privileges(model) == set()
    assert not any(privilege.asked for privilege in model.privileges.values())


def test_the_deprecated_names_are_other_spellings() -> None:
    assert dict(SEED.spelled) == {
        "CREATE_MODEL": "REGISTER_MODEL",
        "CREATE_MODEL_VERSION": "LINK_MODEL_VERSION",
    }
    assert SEED.privilege("CREATE_MODEL") is SEED.privileges["REGISTER_MODEL"]


def test_privileges_reach_what_lies_below_and_imply_nothing() -> None:
    for privilege in SEED.privileges.values():
        assert privilege.reach is Reach.BELOW
        assert privilege.implied_by == ()


def test_every_privilege_may_be_granted_on_the_metalake() -> None:
    for privilege in SEED.privileges.values():
        assert "metalake" in privilege.on or privilege.name == "SELECT_COLUMN"


def test_only_membership_is_nothing_that_a_role_may_hold() -> None:
    held = {privilege.name for privilege in SEED.privileges.values() if not privilege.grantable}
    assert held == {"MEMBER"}
    assert SEED.membership_types == {"metalake"}


def test_privileges_on_data_name_the_kind_of_catalog_that_they_fit() -> None:
    families = {"table": "relational", "topic": "messaging", "fileset": "fileset", "model": "model"}
    own = [one for one in SEED.privileges.values() if "database" not in one.flags]
    for privilege in own:
        for leaf, family in families.items():
            if leaf in privilege.on or privilege.name == f"CREATE_{leaf.upper()}":
                assert privilege.flags == (family,), privilege.name
    assert SEED.privilege("REGISTER_MODEL").flags == ("model",)


def test_the_newer_mode_lets_grants_be_managed_below_the_metalake_and_changes_nothing_else() -> (
    None
):
    changed = {n for n in SEED.privileges if SEED.privileges[n] != NEXT.privileges[n]}
    assert changed == {"MANAGE_GRANTS"}
    assert SEED.privilege("MANAGE_GRANTS").on == {"metalake"}
    assert NEXT.privilege("MANAGE_GRANTS").on == {"metalake", "catalog", "schema", *LEAVES}
    asked = {n for n in SEED.operations if SEED.operations[n] != NEXT.operations[n]}
    assert asked == {"privilege.grant"}
    assert SEED.types == NEXT.types


# Owners.


def test_what_has_owners_is_the_pages_list_and_what_the_code_adds() -> None:
    owned = {declared.name for declared in SEED.types.values() if declared.owned}
    assert owned == OWNED_IN_SEED | OWNED_IN_CODE
    assert set(SEED.types) - owned == NEVER_OWNED


@pytest.mark.parametrize("type", sorted(OWNED_IN_SEED | OWNED_IN_CODE))
def test_whatever_has_an_owner_gets_one_when_it_is_made(type: str) -> None:
    made = [SEED.operations.get(f"{type}.{verb}") for verb in sorted(FIRST_VERBS)]
    (operation,) = [found for found in made if found is not None]
    assert "owner" in operation.effects


def test_nothing_else_gives_anybody_an_owner() -> None:
    giving = [name for name, found in SEED.operations.items() if "owner" in found.effects]
    assert {name.rpartition(".")[2] for name in giving} == FIRST_VERBS
    assert len(giving) == len(OWNED_IN_SEED | OWNED_IN_CODE)


@pytest.mark.parametrize("name", ["owner.set", "owner.load", "privilege.grant", "privilege.revoke"])
def test_owners_and_grants_are_asked_of_every_object(name: str) -> None:
    objects = OWNED_IN_SEED | OWNED_IN_CODE | {"column"}
    assert set(SEED.operation(name).rules) == objects == set(SEED.operation("object.access").rules)


def test_whoever_makes_a_metalake_is_also_in_it() -> None:
    having = [name for name, found in SEED.operations.items() if "member" in found.effects]
    assert having == ["metalake.create"]


# Operations.


def test_membership_is_asked_first_of_everything_inside_a_metalake() -> None:
    ungated = {name for name, operation in SEED.operations.items() if not operation.gated}
    assert ungated == {
        "lineage.send",
        "metalake.create",
        "metalake.list",
        "metalake.load",
        "server.configs",
        "server.health",
        "server.me",
        "server.version",
    }
    for name in ungated - {"metalake.load"}:
        assert set(SEED.operations[name].rules) == {NONE}
    assert SEED.operations["metalake.load"].rules == {"metalake": Holds("MEMBER")}


def test_a_list_is_asked_of_a_container_and_filters_what_is_directly_inside() -> None:
    for name, operation in SEED.operations.items():
        if operation.filter is None or operation.type in (None, NONE):
            continue
        for listed in SEED.operation(operation.filter).rules:
            at_home = operation.type in SEED.types[listed].parents
            assert at_home or name in ("tag.objects.list", "policy.objects.list"), name


def test_every_type_has_a_list_that_shows_what_one_may_load() -> None:
    for type in set(SEED.types) - {"column"}:
        assert SEED.operation(f"{type}.list").filter == f"{type}.load"
        assert set(SEED.operation(f"{type}.load").rules) == {type}


def test_what_is_dropped_goes_with_all_that_was_said_about_it() -> None:
    for type in set(SEED.types) - {"column", "job", "user", "group"}:
        assert "drop" in SEED.operation(f"{type}.drop").effects
    for type in ("user", "group"):
        assert SEED.operation(f"{type}.remove").effects == ("drop", "drop principal")


@pytest.mark.parametrize("what", ["tag", "policy"])
def test_associating_nothing_is_a_question_of_its_own(what: str) -> None:
    plural = {"tag": "tags", "policy": "policies"}[what]
    some = SEED.operation(f"object.{plural}.associate")
    none = SEED.operation(f"object.{plural}.associate_none")
    assert some.lists == {plural: frozenset({what})}
    assert none.lists == {}
    for type, rule in some.rules.items():
        assert any(isinstance(node, Every) for node in nodes(rule))
        assert May("object.access") in nodes(rule)
        assert May("object.access") in nodes(none.rules[type])


def test_only_newer_sources_have_views_functions_and_their_privileges() -> None:
    newer = {name for name, operation in SEED.operations.items() if operation.since}
    assert {name for name in SEED.operations if name.startswith(("view.", "function."))} <= newer
    assert {SEED.operations[name].since for name in newer} == {"next"}
    flagged = {name for name, declared in SEED.privileges.items() if "next" in declared.flags}
    assert flagged == {
        "CREATE_VIEW",
        "SELECT_VIEW",
        "REGISTER_FUNCTION",
        "EXECUTE_FUNCTION",
        "MODIFY_FUNCTION",
    }


def test_no_two_operations_have_the_same_title() -> None:
    titles = [operation.title for operation in SEED.operations.values()]
    assert sorted(titles) == sorted(set(titles))


def test_statements_die_with_their_entity_and_unknown_names_are_denied() -> None:
    assert SEED.binds_identity
    assert SEED.denies
    assert not any(SEED.judged(type) for type in SEED.types)
    assert SEED.granting == "privilege.grant"
