"""Types of columns in MySQL's notation, and values of such columns."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from hashlib import sha256

import pytest
import sqlalchemy as sa

from lakewarden.expressions.checker import Table
from lakewarden.expressions.engine_types import cast_to_column, column_type
from lakewarden.expressions.masks import parse_mask
from lakewarden.expressions.renderer import User, render
from lakewarden.expressions.types import Type

TEXT = "geheim und lang"
COLUMNS: dict[str, tuple[Type, object]] = {
    "tinyint(1)": (Type.INTEGER, 1),
    "bit(1)": (Type.BOOLEAN, 1),
    "int(10) unsigned zerofill": (Type.INTEGER, 7),
    "bigint unsigned": (Type.INTEGER, 18_446_744_073_709_551_615),
    "decimal(10,2) unsigned": (Type.DECIMAL, Decimal("1.50")),
    "float": (Type.DOUBLE, 1.5),
    "double unsigned": (Type.DOUBLE, 1.5),
    "varchar(80)": (Type.STRING, TEXT),
    "tinytext": (Type.STRING, TEXT),
    "longtext": (Type.STRING, TEXT),
    "date": (Type.DATE, date(2024, 2, 29)),
    "datetime(3)": (Type.TIMESTAMP, datetime(2024, 2, 29, 12, 0, 0, 250_000)),
    "timestamp(3) null": (Type.OTHER, datetime(2024, 2, 29)),
    "time": (Type.OTHER, "12:00:00"),
    "year": (Type.OTHER, 2024),
    "char(20)": (Type.OTHER, "geheim"),
    "varbinary(20)": (Type.OTHER, b"geheim"),
    "enum('geheim','a')": (Type.OTHER, "geheim"),
    "json": (Type.OTHER, '{"a": 1}'),
}
"""Columns, their types, and a value of each."""

MASKS = ("null", "redact", "hash", "last4", "year", "constant '7'", "sql 'c'")
SHOWN: dict[Type, tuple[object, ...]] = {
    Type.INTEGER: (None, 0, None, None, None, 7),
    Type.BOOLEAN: (None, 0, None, None, None, None),
    Type.DECIMAL: (None, 0, None, None, None, 7),
    Type.DOUBLE: (None, 0, None, None, None, 7),
    Type.DATE: (None, date(1970, 1, 1), None, None, date(2024, 1, 1), None),
    Type.TIMESTAMP: (None, datetime(1970, 1, 1), None, None, datetime(2024, 1, 1), None),
    Type.STRING: (None, "****", sha256(TEXT.encode()).hexdigest(), "****lang", None, "7"),
}


def test_types_are_read_as_mysql_has_them() -> None:
    assert {name: column_type("mysql", name) for name in COLUMNS} == {
        name: type for name, (type, _) in COLUMNS.items()
    }


@pytest.mark.by_day(1)
@pytest.mark.parametrize("server", ["mariadb_url", "mysql_url"])
def test_masks_of_columns_of_all_types(server: str, request: pytest.FixtureRequest) -> None:
    """A real server accepts the casts, and the masks show the expected values."""
    engine = sa.create_engine(request.getfixturevalue(server))
    with engine.connect() as connection:
        for name, (type, value) in COLUMNS.items():
            if type is Type.OTHER:
                continue
            connection.exec_driver_sql("DROP TABLE IF EXISTS lw_types")
            connection.exec_driver_sql(f"CREATE TABLE lw_types (c {name})")
            connection.exec_driver_sql("INSERT INTO lw_types VALUES (%s)", (value,))
            cells = ", ".join(_cell(mask, name, type) for mask in MASKS)
            (row,) = connection.exec_driver_sql(f"SELECT {cells} FROM lw_types")
            *shown, own = row
            for mask, cell, expected in zip(MASKS, shown, SHOWN[type], strict=False):
                assert cell == expected, (name, mask)
            assert own == value, name
        connection.exec_driver_sql("DROP TABLE IF EXISTS lw_types")
    engine.dispose()


def _cell(mask: str, name: str, type: Type) -> str:
    node = parse_mask(mask).value("c", type)
    value = render(node, "mysql", Table({"c": type}), User(""))
    return cast_to_column("mysql", value, name)
