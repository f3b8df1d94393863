"""The filters and masks for an engine's columns, by their types."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from lakewarden.config.engines import SparkRealm
from lakewarden.expressions.masks import parse_mask
from lakewarden.gateway.access import Access
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.service.actor import Actor
from lakewarden.service.read_limits import column_mask, mask_value, row_filters
from tests.http.test_renames import split

ORDERS = "spark_catalog", "sales", "orders"
SQL = "sql 'case when region = ''eu'' then iban end'"


def access(limit: Mapping[str, str]) -> Access:
    realm = split("spark", "AlterTable", limit)
    settings = SparkRealm(metalake="one", catalogs={}, database="sales")
    return Access(realm, realm.system.engines["spark"], settings, Actor("ana"), 0.0)


def filtered(expression: str) -> Mapping[str, str]:
    return {"effect": "filter", "on": "table:orders", "expression": expression}


@pytest.mark.parametrize(
    ("expression", "type", "shown"),
    [
        ("region = 'eu'", "string", "`region` = 'eu'"),
        ("region = 'eu'", "char(2)", "`region` = 'eu'"),
        ("region = 'eu'", "string collate UTF8_LCASE", "FALSE"),
        ("region like 'e%'", "string collate UTF8_LCASE", "FALSE"),
        ("region is null", "string collate UTF8_LCASE", "`region` IS NULL"),
    ],
)
def test_spark_compares_no_strings_by_a_collation(expression: str, type: str, shown: str) -> None:
    columns = {"Region": type, "iban": "string"}
    assert access(filtered(expression)).filters(ORDERS, columns) == [shown]


@pytest.mark.parametrize(
    ("type", "is_shown"), [("string", True), ("string collate UNICODE", False)]
)
def test_a_mask_that_reads_another_column_compares_no_strings_by_a_collation(
    type: str, is_shown: bool
) -> None:
    limited = access({"effect": "mask", "on": "column:orders/iban", "expression": SQL})
    shown = limited.mask(ORDERS, "iban", {"iban": "string", "region": type})
    assert shown is not None
    assert (shown != "NULL") == is_shown


def test_duckdb_is_told_of_columns_that_are_strings() -> None:
    limit = filtered("region = other and note + 1 = 2")
    realm = split("trino", "RenameTable", limit)
    request = Request(Principal(USER, "ana"), "", Entity("table", "orders"), 0.0)
    columns = {"REGION": "VARCHAR", "other": "ENUM('a')", "note": "VARCHAR"}
    (condition,) = row_filters(realm, request, "duckdb", columns)
    strings = '(CAST("region" AS TEXT) COLLATE C) = (CAST("other" AS TEXT) COLLATE C)'
    # DuckDB reports an expression that does not fit, and refuses the read.
    assert condition == f'({strings}) AND (("note" + 1) = 2)'
    realm = split(
        "trino", "RenameTable", {"effect": "mask", "on": "column:orders/iban", "expression": SQL}
    )
    request = Request(Principal(USER, "ana"), "", Entity("column", "orders/iban"), 0.0)
    shown = column_mask(
        realm, [request], "duckdb", "iban", "VARCHAR", {**columns, "iban": "VARCHAR"}
    )
    assert shown is not None
    assert "(CAST(\"region\" AS TEXT) COLLATE C) = 'eu'" in shown


@pytest.mark.parametrize(
    ("engine", "type", "constant", "shown"),
    [
        ("trino", "tinyint", "127", "CAST(127 AS tinyint)"),
        ("trino", "tinyint", "-128", "CAST(-128 AS tinyint)"),
        ("trino", "tinyint", "128", "CAST(NULL AS tinyint)"),
        ("trino", "integer", "-2147483649", "CAST(NULL AS integer)"),
        ("trino", "bigint", "2147483648", "CAST(2147483648 AS bigint)"),
        ("trino", "decimal(5,2)", "-999.99", "CAST(-999.99 AS decimal(5,2))"),
        ("trino", "decimal(5,2)", "999.995", "CAST(NULL AS decimal(5,2))"),
        ("trino", "decimal(38,10)", "9" * 28, f"CAST({'9' * 28} AS decimal(38,10))"),
        ("mysql", "int(10) unsigned", "4294967295", "CAST(4294967295 AS SIGNED)"),
        ("mysql", "int(10) unsigned", "-1", "CAST(NULL AS SIGNED)"),
        ("trino", "varchar(1)", "128", "CAST('128' AS varchar(1))"),
        ("trino", "integer", "x", "CAST(NULL AS integer)"),
    ],
)
def test_a_constant_for_which_a_column_has_no_room_is_null(
    engine: str, type: str, constant: str, shown: str
) -> None:
    """Otherwise the engine would refuse to read the table at all."""
    mask = parse_mask(f"constant '{constant}'")
    realm = split("trino", "RenameTable")
    request = Request(Principal(USER, "ana"), "", Entity("column", "orders/iban"), 0.0)
    assert mask_value(realm, request, mask, engine, "iban", type) == shown
