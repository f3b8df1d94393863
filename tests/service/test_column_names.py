"""The columns that an engine may mean by a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import EntityRow, Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement import Effect, Matching, Statement
from lakewarden.kernel.statement_file import read_statements
from lakewarden.models import own
from lakewarden.service.column_names import ColumnNames, column_of
from lakewarden.service.limited_read import LimitedRead, limited_read
from lakewarden.service.realm import Realm
from lakewarden.service.state import People, RealmState
from lakewarden.service.system import System, load_system

DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,sales.orders,PROD)"
ANA = "urn:li:corpuser:ana"
VERSION_2 = "[version=2.0].[type=struct].[type=struct].iban.[type=string].country"
PLAIN = """
[model]
name = "plain"
title = "Names without parts"
version = "1"
source = "made for tests"
spelling = "plain"
denies = true
[types.table]
filtered = true
[types.column]
parent = "table"
masked = true
[privileges.READ]
on = ["table", "column"]
[operations.read]
on = "table"
rule = "READ"
[operations.value]
on = "column"
rule = "READ"
[access]
read = ["read"]
values = ["value"]
"""


def realm_of(
    system: System,
    entities: Sequence[tuple[Entity, Entity | None]],
    stated: Sequence[Statement | Mapping[str, Any]],
) -> RealmState:
    tables = [one for one in stated if not isinstance(one, Statement)]
    named = [{"id": f"s{n}", **one} for n, one in enumerate(tables)]
    statements = read_statements(named, system.model, system.spelling, "test")
    facts = Facts(
        entities=[EntityRow(*one) for one in entities],
        principals=[system.principal(ANA)],
        statements=[*statements, *(one for one in stated if isinstance(one, Statement))],
    )
    matrix = Matrix(compile(facts, system.model, system.spelling))
    return RealmState(Realm("one", system.model.name), system, matrix, People())


def field(path: str) -> str:
    return f"urn:li:schemaField:({DATASET},{path})"


def read(stated: Mapping[str, Any], *columns: str, stored: Sequence[str] = ()) -> LimitedRead:
    """The restricted read of a DataHub dataset with these columns."""
    system = load_system("datahub")
    dataset = Entity("dataset", DATASET)
    fields = [Entity("schemaField", field(path)) for path in stored]
    entities = [(dataset, None), *((one, dataset) for one in fields)]
    allowed = {"privileges": ["DATA_READ_ONLY"], "on": f"dataset:{DATASET}", "to": [f"user:{ANA}"]}
    realm = realm_of(system, entities, [allowed, stated])
    request = Request(system.principal(ANA), "", dataset, 0.0)
    return limited_read(realm, request, "duckdb", dict.fromkeys(columns, "VARCHAR"))


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("path", ["iban", "IBAN", "Iban.Country", VERSION_2])
def test_a_mask_on_a_field_of_datahub_binds_by_all_its_names(path: str, stored: bool) -> None:
    mask = {"effect": "mask", "on": f"schemaField:{field(path)}", "expression": "null"}
    for column in ("iban", "IBAN"):
        found = read(mask, column, "id", stored=[path] if stored else [])
        assert found.may_read
        assert found.masks == {column: "CAST(NULL AS VARCHAR)", "id": None}


@pytest.mark.parametrize("path", ["iban", "IBAN", "Iban.Country"])
def test_a_mask_by_the_name_of_a_field_binds_by_all_its_names(path: str) -> None:
    criterion = {"field": "URN", "condition": "EQUALS", "values": [field(path), "no name"]}
    found = read({"effect": "mask", "where": [criterion], "expression": "null"}, "IBAN", "id")
    assert found.masks == {"IBAN": "CAST(NULL AS VARCHAR)", "id": None}


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("name", ["t/iban", "t/IBAN", "T/Iban"])
def test_names_without_parts_are_alike_as_wholes(name: str, stored: bool) -> None:
    table, column = Entity("table", "t"), Entity("column", name)
    mask = {"effect": "mask", "on": f"column:{name}", "expression": "null"}
    rows = [(table, None), *([(column, table)] if stored else [])]
    realm = realm_of(load_system("plain", {}, own.of_text(PLAIN)), rows, [mask])
    names = ColumnNames(realm, table, lambda name: Entity("column", f"t/{name}"))
    assert column in names.candidates("iBan")
    assert column not in names.candidates("id")


@pytest.mark.parametrize("effect", ["deny", "mask"])
@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("name", ["t/iban", "t.Iban", "t:IBAN"])
def test_a_plain_name_is_read_behind_that_of_its_table(
    name: str, stored: bool, effect: str
) -> None:
    table, column = Entity("table", "t"), Entity("column", name)
    allowed = {"privileges": ["READ"], "on": "table:t", "to": ["user:ana"]}
    limit = {"effect": effect, "on": f"column:{name}", "to": ["user:ana"]}
    limit |= {"privileges": ["READ"]} if effect == "deny" else {"expression": "null"}
    rows = [(table, None), *([(column, table)] if stored else [])]
    realm = realm_of(load_system("plain", {}, own.of_text(PLAIN)), rows, [allowed, limit])
    request = Request(Principal(USER, "ana"), "", table, 0.0)
    found = limited_read(realm, request, "duckdb", {"iban": "VARCHAR", "id": "VARCHAR"})
    if effect == "deny":
        assert not found.may_read
    else:
        assert found.masks == {"iban": "CAST(NULL AS VARCHAR)", "id": None}


LAKE, ORDERS = Entity("metalake", "lk"), Entity("table", "lk:c.s.orders")
CATALOG, SCHEMA = Entity("catalog", "lk:c"), Entity("schema", "lk:c.s")
ABOVE = [(LAKE, None), (CATALOG, LAKE), (SCHEMA, CATALOG), (ORDERS, SCHEMA)]


def names_of(stored: Sequence[Entity], *stated: Statement) -> ColumnNames:
    realm = realm_of(load_system("gravitino"), [*ABOVE, *((one, ORDERS) for one in stored)], stated)
    return ColumnNames(realm, ORDERS, column_of(realm, ORDERS))


def test_a_wildcard_matches_names_of_other_case() -> None:
    ana = frozenset({Principal(USER, "ana")})
    scope = Matching("column", ("lk", "c", "s", "*", "IBAN*"))
    mask = Statement("mask", Effect.MASK, frozenset(), scope, ana, expression="null")
    names = names_of([], mask)
    assert [one.name for one in names.candidates("iban_code")] == [
        f"{ORDERS.name}.iban_code",
        f"{ORDERS.name}.IBANx",
    ]
    assert [one.name for one in names.candidates("id")] == [f"{ORDERS.name}.id"]


def test_a_part_is_meant_with_what_it_is_in_and_not_with_others() -> None:
    names = names_of(
        [Entity("column", f"{ORDERS.name}.{one}") for one in ("a", "A.b", "a.c", "A.b.d")]
    )
    meant = {one.name.removeprefix(f"{ORDERS.name}.") for one in names.candidates("a.b")}
    assert meant == {"a", "a.b", "A.b", "A.b.d"}
    assert names.candidates("")[0] == ORDERS
