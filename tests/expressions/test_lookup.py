"""Lookup tables: valid declarations survive a round trip, all others are refused."""

from __future__ import annotations

from typing import Any

import pytest

from lakewarden.expressions.lookup import (
    MAX_COLUMNS,
    MAX_ROWS,
    LookupTable,
    check_lookup_name,
    read_lookup,
    read_lookups,
    write_lookup,
    write_lookups,
)
from lakewarden.expressions.types import Type
from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.kernel.toml_section import Section

TYPES = ("string", "integer", "decimal", "boolean", "date", "timestamp")
COLUMNS = [{"name": f"c_{type}", "type": type} for type in TYPES]
ROW = ["O'Hara", -7, "1.50", True, "2024-02-29", "2024-01-01 12:00:00.5"]


def read(table: object) -> LookupTable:
    return read_lookup(Section(table, "body"))


def test_every_type_is_read_and_written_back() -> None:
    table = {"columns": COLUMNS, "rows": [ROW, ["", 0, "3", False, "1970-01-01", ROW[5]]]}
    lookup = read(table)
    assert lookup.types == tuple(map(Type, TYPES))
    assert lookup.rows[0] == ("O'Hara", "-7", "1.50", "true", "2024-02-29", ROW[5])
    assert write_lookup(lookup) == table
    assert read_lookups(write_lookups({"a": lookup}), "store") == {"a": lookup}


def test_texts_are_values_of_every_type() -> None:
    texts = ["x", "007", "-1", "false", "2024-01-31", "2024-01-31 00:00:00"]
    (row,) = read({"columns": COLUMNS, "rows": [texts]}).rows
    assert row == ("x", "7", "-1", "false", "2024-01-31", "2024-01-31 00:00:00")


def test_columns_are_strings_unless_they_say_another_type_and_rows_are_there_once() -> None:
    lookup = read({"columns": [{"name": "a"}], "rows": [["x"], ["y"], ["x"]]})
    assert lookup.types == (Type.STRING,)
    assert lookup.rows == (("x",), ("y",))
    assert lookup.characters == 2


ONE = [{"name": "a", "type": "string"}]


def of(type: str, value: object) -> dict[str, Any]:
    return {"columns": [{"name": "a", "type": type}], "rows": [[value]]}


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"rows": []}, "body.columns: expected at least one column"),
        ({"columns": ONE}, "body.rows: expected a list of rows"),
        ({"columns": ONE * 2, "rows": []}, "two columns have one name"),
        ({"columns": [{"name": "a b"}], "rows": []}, "expected a name of letters, digits and `_`"),
        ({"columns": [{"name": "a", "type": "double"}], "rows": []}, "unknown `double`"),
        ({"columns": ONE, "rows": [["x", "y"]]}, "body.rows[0]: expected a list of 1 values"),
        ({"columns": ONE, "rows": ["x"]}, "body.rows[0]: expected a list of 1 values"),
        ({"columns": ONE, "rows": [], "more": 1}, "unknown key `more`"),
        (of("string", None), "body.rows[0][0]: expected a value of type string for the column `a`"),
        (of("string", None), "got null, which no value equals"),
        (of("string", 5), "expected a value of type string"),
        (of("string", "x" * 201), "201 characters, at most 200 are allowed"),
        (of("string", "a\u202eb"), "expected a value of type string"),
        (of("integer", True), "expected a value of type integer"),
        (of("integer", "1.5"), "got `1.5`"),
        (of("integer", "٣"), "got `٣`"),
        (of("decimal", 1.5), "expected a value of type decimal"),
        (of("boolean", "yes"), "got `yes`"),
        (of("date", "2024-02-30"), "got `2024-02-30`"),
        (of("timestamp", "2024-01-01"), "got `2024-01-01`"),
    ],
)
def test_what_is_malformed_is_refused_with_its_place(table: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(table)
    assert problem in str(refused.value)


def test_limits_are_named() -> None:
    with pytest.raises(LimitExceeded, match=r"body\.rows has 1,001 rows, at most 1,000 are"):
        read({"columns": ONE, "rows": [[str(n)] for n in range(MAX_ROWS + 1)]})
    with pytest.raises(LimitExceeded, match=r"body\.columns has 9 columns, at most 8 are"):
        read({"columns": [{"name": f"c{n}"} for n in range(MAX_COLUMNS + 1)], "rows": []})


@pytest.mark.parametrize("name", ["", "a-b", "1a", "a.b", "a" * 65, "ä"])
def test_a_name_that_no_expression_can_say_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="expected a name of letters"):
        check_lookup_name(name, "name")
