"""The sources of a dataset that is a view, from its query."""

from __future__ import annotations

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.aspects.view_reads import view_reads

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


def view(name: str, platform: str = "trino") -> Entity:
    return Entity("dataset", ORDERS.format(platform=platform, name=name))


def logic(sql: object, language: str = "SQL") -> dict[str, object]:
    return {"materialized": False, "viewLogic": sql, "viewLanguage": language}


def table(name: str, platform: str = "trino") -> str:
    return f"dataset:{ORDERS.format(platform=platform, name=name)}"


def column(name: str, of: str, platform: str = "trino") -> str:
    return f"schemaField:urn:li:schemaField:({ORDERS.format(platform=platform, name=of)},{name})"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("orders", "lake.sales.orders"),
        ("eu.orders", "lake.eu.orders"),
        ("other.eu.orders", "other.eu.orders"),
    ],
)
def test_a_name_has_the_parts_of_the_view_in_front(written: str, read: str) -> None:
    found = view_reads(view("lake.sales.v"), logic(f"select iban from {written}"))
    assert found == (table(read), column("iban", read))


def test_an_instance_of_a_platform_stays_in_front() -> None:
    found = view_reads(view("prod.lake.sales.v"), logic("select * from lake.eu.orders"))
    assert found == (table("prod.lake.eu.orders"),)


@pytest.mark.parametrize(
    ("platform", "sql", "name"),
    [
        ("mssql", "select [iban] from [sales].[orders]", "sales.orders"),
        ("bigquery", "select iban from `sales.orders`", "sales.orders"),
        ("unity-catalog", "select iban from `sales`.orders", "sales.orders"),
        ("mysql", "select `iban` from `sales`.`orders`", "sales.orders"),
    ],
)
def test_the_platform_says_whose_sql_it_is(platform: str, sql: str, name: str) -> None:
    found = view_reads(view("sales.v", platform), logic(sql))
    assert found == (table(name, platform), column("iban", name, platform))


def test_a_statement_that_makes_the_view_is_read_too() -> None:
    made = logic("create view v as select o.iban from orders o join clients c on o.id = c.id")
    assert table("lake.sales.clients") in view_reads(view("lake.sales.v"), made)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "select 1",
        {},
        logic("select iban from orders", "LookML"),
        logic("select from where"),
        logic({"a": 1}),
        logic("{{ config() }} select * from {{ ref('orders') }}"),
        logic('select iban from "a,b"."or(ders"'),
    ],
)
def test_what_is_no_query_reads_nothing(value: object) -> None:
    assert view_reads(view("lake.sales.v"), value) == ()


def test_only_datasets_are_views() -> None:
    chart = Entity("chart", "urn:li:chart:(looker,a)")
    assert view_reads(chart, logic("select iban from orders")) == ()


def test_avro_wraps_a_text() -> None:
    wrapped = {"viewLogic": {"string": "select 1 from orders"}, "viewLanguage": {"string": "sql"}}
    assert view_reads(view("lake.sales.v"), wrapped) == (table("lake.sales.orders"),)
