"""Nested type names: each level used to double the time to parse a text."""

from __future__ import annotations

import pytest

from lakewarden.expressions.nested_types import MOST, check_nested_types
from lakewarden.expressions.parser import parse_expression
from lakewarden.expressions.query import read_query
from lakewarden.expressions.statement import read_statement
from lakewarden.expressions.view_sources import view_sources
from lakewarden.kernel.errors import BadInput

DEEP = 30


def nested(before: str, depth: int = DEEP) -> str:
    return f"{before}(" * depth + "iban" + ")" * depth


@pytest.mark.parametrize(
    "before", ["decimal", "DATE ", "lower(varchar", "x::int, int", "/* ' */ int/* ( */"]
)
def test_texts_with_many_in_one_another_are_refused_before_they_are_read(before: str) -> None:
    text = nested(before).replace("iban", "iban" + ")" * DEEP * before.count("lower("))
    for dialect in ("duckdb", "spark"):
        with pytest.raises(BadInput, match="nested deeper than 4"):
            read_query(f"SELECT {text} FROM t", dialect)
    with pytest.raises(BadInput, match="nested deeper than 4"):
        read_statement(f"DELETE FROM t WHERE {text} = 1")
    for dialect in ("trino", "spark", "unheard of", ""):
        assert view_sources(f"SELECT {text} FROM t", dialect) == ()


def test_an_expression_with_many_in_one_another_is_refused() -> None:
    with pytest.raises(BadInput, match="nested deeper than 4") as refused:
        parse_expression(nested("decimal"), "body.expression")
    assert refused.value.where == "body.expression"


def test_a_few_are_read() -> None:
    check_nested_types(nested("date", MOST), "spark")
    check_nested_types("cast(a as decimal(5, 2)) + " * 99 + "1", "duckdb")
    check_nested_types(f"'{nested('date')}'", "")
    check_nested_types(") date(date(date(", "")
    (found,) = view_sources(f"SELECT {nested('date', MOST)} FROM t", "unheard of")
    assert found.columns == frozenset({"iban"})
