"""Statements in files: the meaning of each key, and the errors."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.model_file import read
from lakewarden.kernel.principal import (
    ALL_USERS,
    ANY_GROUP,
    MASTER,
    SERVICE_ADMINS,
    Principal,
    members_of,
)
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.statement import (
    Anything,
    Condition,
    Criterion,
    Effect,
    Matching,
    On,
    Owners,
    Scope,
    Statement,
    Where,
)
from lakewarden.kernel.statement_file import (
    check_realm,
    principal_text,
    read_entity,
    read_principal,
    read_statement,
    read_statements,
    write_statement,
)
from lakewarden.kernel.toml_section import Section

HEAD = """
[model]
name = "tiny"
title = "Tiny"
version = "1"
source = "made up"
spelling = "tiny"
denies = true
[types.lake]
[types.table]
parent = "lake"
[types.column]
parent = "table"
[privileges.READ]
on = ["lake", "table"]
aliases = ["LOOK"]
[privileges.WRITE]
on = "table"
[privileges.MANAGE]
[privileges.ANYWHERE]
on = "any"
[privileges.SEEN]
on = "any"
implied_by = "READ"
grantable = false
[fields.KIND]
origin = "type"
aliases = "SORT"
"""
BARE = read(tomllib.loads(HEAD), "tiny.toml")
MODEL = replace(
    BARE,
    types={
        name: replace(declared, filtered=name == "table", masked=name == "column")
        for name, declared in BARE.types.items()
    },
)
ONLY_ALLOWS = read(tomllib.loads(HEAD.replace("denies = true", "")), "tiny.toml")
ANA = Principal("user", "ana")


class Dotted:
    """Names are parts separated by dots; each type accepts any name."""

    def parse(self, type: str, text: str) -> Entity:
        if not text:
            raise BadInput("expected a name")
        return Entity(type, text)

    def parent(self, entity: Entity) -> Entity | None:
        raise NotImplementedError

    def parts(self, entity: Entity) -> tuple[str, ...]:
        return tuple(entity.name.split("."))

    def pattern(self, type: str, text: str) -> tuple[str, ...]:
        if not text:
            raise BadInput("expected a pattern")
        return tuple(text.split("."))


SPELLING = Dotted()


def one(**keys: Any) -> Statement:
    (statement,) = read_statements([{"id": "s", **keys}], MODEL, SPELLING, "tiny.toml")
    return statement


def refusal(**keys: Any) -> str:
    with pytest.raises(BadInput) as refused:
        one(**keys)
    return str(refused.value)


def test_a_file_is_for_one_realm_or_says_none() -> None:
    for table in ({}, {"realm": "lake"}):
        section = Section(table, "f")
        check_realm(section, "lake")
        assert not section.names()
    with pytest.raises(BadInput, match=r"^f\.realm: is for realm `other`, not `lake`$"):
        check_realm(Section({"realm": "other"}, "f"), "lake")


def test_a_statement_that_comes_by_itself_is_named_by_its_place() -> None:
    table = {"id": "s", "privileges": "READ", "to": "user:ana"}
    assert read_statement(table, MODEL, SPELLING, "body") == one(privileges="READ", to="user:ana")
    with pytest.raises(BadInput, match=r"^body\.privileges"):
        read_statement({**table, "privileges": 1}, MODEL, SPELLING, "body")


def test_a_statement_says_only_what_it_must() -> None:
    assert one(privileges="READ", to="user:ana") == Statement(
        id="s",
        effect=Effect.ALLOW,
        privileges=frozenset({"READ"}),
        scope=Anything(),
        principals=frozenset({ANA}),
    )


def test_a_statement_says_all_that_it_can() -> None:
    full = one(
        effect="deny",
        title="quiet hours",
        privileges=["READ", "WRITE"],
        to=["user:ana", "group:staff", "owners:urn:x"],
        on="table:lk.t",
        constraint=[{"field": "kind", "condition": "STARTS_WITH", "values": "tag"}],
        valid_from=5,
        valid_until=datetime(2030, 1, 1, tzinfo=UTC),
        active=False,
    )
    assert full == Statement(
        id="s",
        effect=Effect.DENY,
        privileges=frozenset({"READ", "WRITE"}),
        scope=On(Entity("table", "lk.t")),
        principals=frozenset({ANA, Principal("group", "staff")}),
        owners=Owners(frozenset({"urn:x"})),
        constraint=(Criterion("KIND", Condition.STARTS_WITH, ("tag",)),),
        valid_from=5.0,
        valid_until=1893456000.0,
        active=False,
        title="quiet hours",
    )


@pytest.mark.parametrize(
    ("keys", "scope"),
    [
        ({}, Anything()),
        ({"on": "lake:lk"}, On(Entity("lake", "lk"))),
        ({"matching": "table:lk.*"}, Matching("table", ("lk", "*"))),
        ({"where": []}, Where(())),
        (
            {"where": [{"field": "SORT", "values": ["a", "b"]}]},
            Where((Criterion("KIND", Condition.EQUALS, ("a", "b")),)),
        ),
        (
            {"where": [{"field": "KIND", "condition": "NOT_EQUALS"}]},
            Where((Criterion("KIND", Condition.NOT_EQUALS, ()),)),
        ),
    ],
    ids=["anything", "on", "matching", "everything", "equals", "not equals"],
)
def test_a_scope_is_one_of_four(keys: dict[str, Any], scope: Scope) -> None:
    assert one(privileges="READ", **keys).scope == scope


@pytest.mark.parametrize(
    ("text", "principal"),
    [
        ("user:ana", ANA),
        ("group:staff", Principal("group", "staff")),
        ("role:lk:readers", Principal("role", "lk:readers")),
        ("user:urn:li:corpuser:ana", Principal("user", "urn:li:corpuser:ana")),
        ("members:lk", members_of("lk")),
        ("all-users", ALL_USERS),
        ("any-group", ANY_GROUP),
        ("service-admins", SERVICE_ADMINS),
        ("master", MASTER),
    ],
)
def test_a_principal_is_written_as_it_is_read(text: str, principal: Principal) -> None:
    assert read_principal(text) == principal
    assert principal_text(principal) == text


@pytest.mark.parametrize("text", ["", "ana", "user:", "members:", "members", "team:a", "ALL-USERS"])
def test_what_is_no_principal_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_principal(text)
    assert str(refused.value) == (
        "expected `user:NAME`, `group:NAME`, `role:NAME`, `members:NAME`, `all-users`, "
        f"`any-group`, `service-admins`, `master`, got `{text}`"
    )


def test_an_entity_is_a_type_and_a_name() -> None:
    assert read_entity("table:lk.t:x", MODEL, SPELLING) == Entity("table", "lk.t:x")
    with pytest.raises(BadInput, match=r"^expected `type:name`, got `table`$"):
        read_entity("table", MODEL, SPELLING)
    with pytest.raises(
        Unknown, match=r"^unknown type `row`; expected one of: column, lake, table$"
    ):
        read_entity("row:x", MODEL, SPELLING)


@pytest.mark.parametrize(
    ("to", "owners"),
    [
        ("owners", Owners(None)),
        ("owners:urn:a", Owners(frozenset({"urn:a"}))),
        (["owners:a", "owners:b"], Owners(frozenset({"a", "b"}))),
        (["owners:a", "owners"], Owners(None)),
        ([], None),
    ],
    ids=["any", "one type", "two types", "one type and any", "none"],
)
def test_owners_may_act(to: Any, owners: Owners | None) -> None:
    statement = one(privileges="READ", to=to)
    assert statement.owners == owners
    assert statement.principals == frozenset()


def test_an_alias_is_kept_as_given() -> None:
    assert one(privileges=["LOOK"], on="lake:lk").privileges == {"LOOK"}


def test_a_privilege_binds_to_its_types_only() -> None:
    assert one(privileges="ANYWHERE", on="lake:lk").privileges == {"ANYWHERE"}
    at = "tiny.toml: statement[0].privileges"
    assert (
        refusal(privileges="WRITE", on="lake:lk")
        == f"{at}: `WRITE` binds to table, not to a `lake`"
    )
    assert (
        refusal(privileges="MANAGE", on="lake:lk")
        == f"{at}: `MANAGE` binds to no entity, not to a `lake`"
    )


def test_only_built_in_statements_may_name_what_nobody_can_grant() -> None:
    table = {"id": "s", "privileges": "SEEN"}
    assert (
        refusal(privileges="SEEN") == "tiny.toml: statement[0].privileges: `SEEN` cannot be granted"
    )
    (built_in,) = read_statements([table], MODEL, SPELLING, "tiny.toml", builtin=True)
    assert built_in.privileges == {"SEEN"}


def test_an_empty_name_never_means_everything() -> None:
    at = "tiny.toml: statement[0]"
    assert refusal(on="") == f"{at}.on: expected a non-empty string"
    assert refusal(matching="") == f"{at}.matching: expected a non-empty string"
    assert refusal(on="table:") == f"{at}.on: expected a name"
    assert refusal(matching="table:") == f"{at}.matching: expected a pattern"
    assert refusal(to="owners:").startswith(f"{at}.to: expected `user:NAME`")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"id": ""}, ".id: expected a non-empty string"),
        ({"effect": "maybe"}, ".effect: unknown `maybe`; expected one of: allow, deny"),
        ({"privileges": "GAZE"}, ".privileges: unknown privilege `GAZE`; `lakewarden operations`"),
        ({"privileges": 3}, ".privileges: expected a string or a list of strings"),
        ({"to": "ana"}, ".to: expected `user:NAME`"),
        ({"on": "row:x"}, ".on: unknown type `row`"),
        ({"on": "lk"}, ".on: expected `type:name`, got `lk`"),
        ({"on": 3}, ".on: expected a non-empty string"),
        ({"matching": "row:x"}, ".matching: unknown type `row`"),
        ({"on": "lake:lk", "where": []}, ": expected one of `on`, `matching` and `where`"),
        ({"on": "lake:lk", "matching": "lake:*"}, ": expected one of `on`, `matching` and `where"),
        ({"where": "all"}, ".where: expected a list of tables"),
        ({"where": [{"field": "SIZE"}]}, ".where[0].field: unknown field `SIZE`; expected one of"),
        (
            {"where": [{"field": "KIND", "condition": "LIKE"}]},
            ".where[0].condition: unknown `LIKE`",
        ),
        ({"where": [{"field": "KIND", "value": "a"}]}, ".where[0]: unknown key `value`"),
        ({"constraint": 3}, ".constraint: expected a list of tables"),
        ({"valid_from": "soon"}, ".valid_from: expected seconds or a date-time with an offset"),
        ({"valid_from": 10**400}, ".valid_from: expected seconds or a date-time with an offset"),
        ({"valid_from": True}, ".valid_from: expected seconds or a date-time with an offset"),
        ({"valid_until": float("nan")}, ".valid_until: expected seconds or a date-time with an o"),
        ({"valid_until": datetime(2030, 1, 1)}, ".valid_until: expected seconds or a date-time"),
        ({"valid_until": date(2030, 1, 1)}, ".valid_until: expected seconds or a date-time with"),
        ({"active": "yes"}, ".active: expected true or false"),
        ({"title": 3}, ".title: expected a non-empty string"),
        ({"privilege": "READ"}, ": unknown key `privilege`"),
    ],
    ids=range(25),
)
def test_a_mistake_is_told_with_its_place(keys: dict[str, Any], expected: str) -> None:
    assert refusal(**keys).startswith(f"tiny.toml: statement[0]{expected}")


def test_a_model_without_deny_refuses_one() -> None:
    table = {"id": "s", "effect": "deny", "privileges": "READ"}
    with pytest.raises(BadInput, match=r"^tiny\.toml: statement\[0\]\.effect: Tiny has no DENY$"):
        read_statements([table], ONLY_ALLOWS, SPELLING, "tiny.toml")


def test_a_filter_and_a_mask_have_an_expression_and_exceptions() -> None:
    full = one(
        effect="mask",
        title="bank accounts",
        to=["group:staff"],
        on="lake:lk",
        expression="last4",
        valid_from=5,
        active=False,
        **{"except": ["user:ana", "owners:urn:x"]},
    )
    assert full == Statement(
        id="s",
        effect=Effect.MASK,
        privileges=frozenset(),
        scope=On(Entity("lake", "lk")),
        principals=frozenset({Principal("group", "staff")}),
        valid_from=5.0,
        active=False,
        title="bank accounts",
        exceptions=frozenset({ANA}),
        except_owners=Owners(frozenset({"urn:x"})),
        expression="last4",
    )
    assert full.named == {ANA, Principal("group", "staff")}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"on": "table:t"}, ".expression: expected a non-empty string"),
        ({"on": "table:t", "expression": "x", "privileges": "READ"}, ": unknown key `privileges`"),
        ({"on": "table:t", "expression": "x", "constraint": []}, ": unknown key `constraint`"),
        ({"expression": "x"}, ": expected one of `on`, `matching` and `where`"),
        ({"on": "column:c", "expression": "x"}, ".on: nothing in a `column` has rows to filter"),
        ({"on": "table:t", "expression": "x", "except": ["ana"]}, ".except: expected `user:NAME`"),
    ],
    ids=range(6),
)
def test_a_mistake_in_a_filter_is_told_with_its_place(keys: dict[str, Any], expected: str) -> None:
    assert refusal(effect="filter", **keys).startswith(f"tiny.toml: statement[0]{expected}")


@pytest.mark.parametrize(("effect", "what"), [("filter", "rows to filter"), ("mask", "columns to")])
def test_a_model_without_rows_or_columns_refuses_them(effect: str, what: str) -> None:
    table = {"id": "s", "effect": effect, "on": "table:t", "expression": "x"}
    with pytest.raises(BadInput, match=rf"^tiny\.toml: statement\[0\]\.effect: Tiny has no {what}"):
        read_statements([table], BARE, SPELLING, "tiny.toml")


def test_an_exception_of_a_grant_is_refused() -> None:
    assert "unknown key `except`" in refusal(privileges="READ", **{"except": ["user:ana"]})


def test_statements_keep_their_order_and_their_ids_apart() -> None:
    read_back = read_statements([{"id": "b"}, {"id": "a"}], MODEL, SPELLING, "tiny.toml")
    assert [statement.id for statement in read_back] == ["b", "a"]
    assert Facts(statements=read_back).statements == read_back
    with pytest.raises(BadInput) as refused:
        read_statements([{"id": "a"}, {"id": "a"}], MODEL, SPELLING, "tiny.toml")
    assert str(refused.value) == "tiny.toml: statement[1]: id `a` is used twice"


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(BadInput, match=r"^tiny\.toml: statement\[0\]: expected a table$"):
        read_statements(["READ"], MODEL, SPELLING, "tiny.toml")


def test_a_statement_is_in_force_between_its_times_while_it_is_active() -> None:
    bounded = one(valid_from=5, valid_until=9)
    assert [bounded.applies(now) for now in (4.9, 5, 8.9, 9)] == [False, True, True, False]
    assert one().applies(0)
    assert not one(active=False).applies(0)


@pytest.mark.parametrize(
    "table",
    [
        {"id": "plain"},
        {"id": "deny", "effect": "deny", "privileges": ["READ"], "to": ["user:ana", "all-users"]},
        {"id": "on", "title": "A title", "to": ["owners"], "on": "table:a.b"},
        {"id": "matching", "to": ["owners:made", "owners:tech"], "matching": "table:a.*"},
        {
            "id": "where",
            "where": [{"field": "KIND", "condition": "EQUALS", "values": ["table"]}],
            "constraint": [{"field": "KIND", "condition": "STARTS_WITH", "values": ["t", "l"]}],
        },
        {"id": "bounded", "valid_from": 5.0, "valid_until": 9.0, "active": False},
        {"id": "filter", "effect": "filter", "on": "table:a.b", "expression": "x = 1"},
        {
            "id": "mask",
            "effect": "mask",
            "to": ["user:ana"],
            "except": ["all-users", "owners"],
            "where": [{"field": "KIND", "condition": "EQUALS", "values": ["column"]}],
            "expression": "null",
        },
    ],
    ids=lambda table: table["id"],
)
def test_every_key_is_written_as_it_was_read(table: dict[str, object]) -> None:
    (statement,) = read_statements([table], MODEL, SPELLING, "tiny.toml")
    written = write_statement(statement)
    obliges = table.get("effect") in ("filter", "mask")
    whole = {"effect": "allow", "to": [], **({} if obliges else {"privileges": []}), **table}
    assert {**written, "to": set(texts(written))} == {**whole, "to": set(texts(whole))}
    assert read_statements([written], MODEL, SPELLING, "tiny.toml") == (statement,)


def texts(table: Mapping[str, object]) -> list[str]:
    to = table["to"]
    assert isinstance(to, list)
    return to


NAMES = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=5)
PRINCIPALS = st.one_of(
    st.sampled_from([ALL_USERS, ANY_GROUP, SERVICE_ADMINS, MASTER]),
    st.builds(Principal, st.sampled_from(["user", "group", "role"]), NAMES),
    st.builds(members_of, NAMES),
)
CRITERIA = st.lists(
    st.builds(Criterion, st.just("KIND"), st.sampled_from(Condition), st.lists(NAMES).map(tuple)),
    max_size=2,
).map(tuple)
SCOPES = st.one_of(
    st.just(Anything()),
    st.builds(On, st.builds(Entity, st.just("table"), NAMES)),
    st.builds(Matching, st.just("table"), st.lists(NAMES | st.just("*"), min_size=1).map(tuple)),
    st.builds(Where, CRITERIA),
)
TIMES = st.none() | st.floats(0, 2e9)
OWNERS = st.none() | st.builds(Owners, st.none() | st.frozensets(NAMES, min_size=1, max_size=2))
STATEMENTS = st.builds(
    Statement,
    id=NAMES,
    effect=st.sampled_from([Effect.ALLOW, Effect.DENY]),
    privileges=st.frozensets(st.sampled_from(["READ", "LOOK", "WRITE"])),
    scope=SCOPES,
    principals=st.frozensets(PRINCIPALS, max_size=3),
    owners=OWNERS,
    constraint=st.none() | CRITERIA,
    valid_from=TIMES,
    valid_until=TIMES,
    active=st.booleans(),
    title=st.just("") | NAMES,
)


OBLIGATIONS = st.builds(
    Statement,
    id=NAMES,
    effect=st.sampled_from([Effect.FILTER, Effect.MASK]),
    privileges=st.just(frozenset()),
    scope=SCOPES.filter(lambda scope: not isinstance(scope, (Anything, On))),
    principals=st.frozensets(PRINCIPALS, max_size=3),
    owners=OWNERS,
    valid_from=TIMES,
    valid_until=TIMES,
    active=st.booleans(),
    title=st.just("") | NAMES,
    exceptions=st.frozensets(PRINCIPALS, max_size=3),
    except_owners=OWNERS,
    expression=NAMES,
)


@given(STATEMENTS | OBLIGATIONS)
def test_a_written_statement_is_read_back_as_the_same(statement: Statement) -> None:
    written = write_statement(statement)
    assert read_statements([written], MODEL, SPELLING, "tiny.toml") == (statement,)
