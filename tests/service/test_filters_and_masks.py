"""Filters and masks in policy files: read, planned, applied, exported and read back."""

from __future__ import annotations

from typing import Any

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.statement import Effect
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.effective_read import (
    ReadLimits,
    effective_read,
    limits_notes,
    limits_of_read,
)
from lakewarden.service.policy import PolicyContext, read_policy, written
from lakewarden.service.system import load_system
from lakewarden.service.warden import Warden

SYSTEM = load_system("gravitino")
ABOUT = PolicyContext("lake", SYSTEM, lambda _: True)
FILTER = {
    "id": "own",
    "on": "table:lk:c.s.orders",
    "except": ["role:lk:auditors"],
    "where": "region = $user.name",
}
MASK = {"id": "iban", "on": "column:lk:c.s.orders.iban", "with": "last4", "to": ["group:sales"]}


def test_policy_files_have_filters_and_masks() -> None:
    policy = read_policy([("a.toml", {"filter": [FILTER], "mask": [MASK]})], ABOUT)
    own, iban = policy.statements["own"], policy.statements["iban"]
    assert (own.effect, own.expression, own.principals) == (
        Effect.FILTER,
        "region = $user.name",
        frozenset(),
    )
    assert (iban.effect, iban.expression) == (Effect.MASK, "last4")
    table = written(policy, "lake")
    assert table["filter"] == [FILTER]
    assert table["mask"] == [MASK]
    assert read_policy([("b.toml", table)], ABOUT) == policy


def test_resources_may_be_chosen_by_criteria() -> None:
    hub = load_system("datahub")
    criteria = [{"field": "TAG", "condition": "EQUALS", "values": ["urn:li:tag:pii"]}]
    tables: dict[str, Any] = {
        "filter": [{"id": "f", "where": criteria, "expression": "a = 1"}],
        "mask": [{"id": "m", "where": criteria, "with": "hash"}],
    }
    about = PolicyContext("hub", hub, lambda _: True)
    policy = read_policy([("a.toml", tables)], about)
    table = written(policy, "hub")
    assert table["filter"] == tables["filter"]
    assert table["mask"] == tables["mask"]
    assert read_policy([("b.toml", table)], about) == policy


@pytest.mark.parametrize(
    ("section", "table", "problem"),
    [
        ("filter", {**FILTER, "effect": "allow"}, "`effect` does not belong in a filter"),
        ("mask", {**MASK, "privileges": ["X"]}, "`privileges` does not belong in a mask"),
        ("filter", {**FILTER, "expression": "a = 1"}, "expected either `where` or `expression`"),
        ("filter", {**FILTER, "where": "now() = a"}, "expected one of the functions"),
        ("mask", {**MASK, "with": "hide"}, "expected null, redact"),
        ("mask", {**MASK, "with": 5}, "mask[0].expression: expected a non-empty string"),
        ("mask", {**MASK, "id": "urn:li:dataHubPolicy:x"}, "must not be a URN"),
        ("mask", "text", "expected a table"),
        ("filter", {"id": "x", "on": FILTER["on"]}, "expression"),
    ],
)
def test_what_is_malformed_is_refused(section: str, table: object, problem: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_policy([("a.toml", {section: [table]})], ABOUT)
    assert problem in str(refused.value)
    assert "a.toml" in str(refused.value)


def test_null_of_yaml_is_the_mask() -> None:
    policy = read_policy([("a.yaml", {"mask": [{**MASK, "with": None}]})], ABOUT)
    assert policy.statements["iban"].expression == "null"


def test_the_lists_have_to_be_lists() -> None:
    with pytest.raises(BadInput, match="expected a list of tables"):
        read_policy([("a.toml", {"mask": MASK})], ABOUT)


def test_a_system_without_rows_has_neither() -> None:
    about = PolicyContext("c", load_system("cdap"), lambda _: True)
    with pytest.raises(BadInput, match="has no rows to filter"):
        read_policy([("a.toml", {"filter": [{**FILTER, "on": "dataset:n.d"}]})], about)


def lake() -> Warden:
    entities = ["metalake:lk", "catalog:lk:c", "schema:lk:c.s", "table:lk:c.s.orders"]
    entities += ["column:lk:c.s.orders.iban", "column:lk:c.s.orders.id"]
    stored = [SYSTEM.entity(text) for text in entities]
    files = [("a.toml", {"filter": [FILTER], "mask": [{**MASK, "to": []}]})]
    policy = read_policy(files, ABOUT)
    facts = Facts(
        entities=[EntityRow(one, SYSTEM.spelling.parent(one)) for one in stored],
        statements=[*policy.statements.values()],
    )
    return Warden("gravitino", facts)


def test_sight_says_what_binds() -> None:
    matrix = lake().matrix
    request = lake().request("ana", "", "table:lk:c.s.orders")
    seen = effective_read(matrix, request)
    assert not seen.may_read
    assert seen.operation == "table.load"
    assert [one.id for one in seen.filters] == ["own"]
    assert [(one.column.name, one.counting.id) for one in seen.columns] == [
        ("lk:c.s.orders.iban", "iban")
    ]
    assert seen.stored == 2
    with pytest.raises(BadInput, match="a schema has no rows; types that have: table, view"):
        effective_read(matrix, lake().request("ana", "", "schema:lk:c.s"))


def test_a_note_counts_what_binds_and_names_some_of_it() -> None:
    policy = read_policy([("a.toml", {"filter": [FILTER], "mask": [MASK]})], ABOUT)
    own, iban = policy.statements["own"], policy.statements["iban"]
    orders = SYSTEM.entity("table:lk:c.s.orders")
    ana, sales = Principal("user", "ana"), Principal("group", "sales")
    assert limits_notes(None, ana) == ()
    assert limits_notes(ReadLimits(orders, (own,), ()), ana) == (
        "1 row filter (own) binds where it is read: `lakewarden see ana table:lk:c.s.orders`",
    )
    assert limits_notes(ReadLimits(orders, (), (iban,) * 7), sales) == (
        "7 column masks (iban, iban, iban, iban, iban, 2 more) bind where it is read:"
        " `lakewarden see group:sales table:lk:c.s.orders`",
    )
    dataset = Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:hive,s.t,PROD)")
    (note,) = limits_notes(ReadLimits(dataset, (own,), ()), ana)
    assert note.endswith(f"`lakewarden see ana '{dataset.name}'`")


def test_who_may_not_read_a_table_is_told_of_no_limits() -> None:
    """A user with another permission on it."""
    files = [("a.toml", {"filter": [FILTER]})]
    statements = read_policy(files, ABOUT).statements.values()
    stored = [SYSTEM.entity(text) for text in ("metalake:lk", "catalog:lk:c", "schema:lk:c.s")]
    orders = SYSTEM.entity("table:lk:c.s.orders")
    entities = [EntityRow(one, SYSTEM.spelling.parent(one)) for one in (*stored, orders)]
    grants = [
        {"id": f"g{n}", "privileges": [privilege], "on": on, "to": ["user:bo", "user:ana"]}
        for n, (privilege, on) in enumerate(
            [("USE_CATALOG", "catalog:lk:c"), ("USE_SCHEMA", "schema:lk:c.s")]
        )
    ]
    grants += [
        {"id": f"{name}-{privilege}", "privileges": [privilege], "on": "table:lk:c.s.orders",
         "to": [f"user:{name}"]}
        for name, privilege in (
             ("bo", "INSERT_ROWS"), ("ana", "INSERT_ROWS"), ("ana", "SELECT_TABLE"))
    ]  # fmt: skip
    allowing = read_statements(grants, SYSTEM.model, SYSTEM.spelling, "test")
    members = [MembershipRow(Principal("user", name), members_of("lk")) for name in ("bo", "ana")]
    facts = Facts(entities=entities, memberships=members, statements=[*statements, *allowing])
    warden = Warden("gravitino", facts)
    writing = [
        limits_of_read(warden.matrix, warden.request(name, "table.write", "table:lk:c.s.orders"))
        for name in ("bo", "ana")
    ]
    assert [one is None for one in writing] == [True, False]
    assert warden.check("bo", "table.write", "table:lk:c.s.orders").allow
