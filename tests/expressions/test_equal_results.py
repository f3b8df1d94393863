"""Accepted expressions give the same rows and the same cells on every engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from lakewarden.expressions.checker import check_expression, type_of
from lakewarden.expressions.masks import Mask, check_mask, parse_mask
from lakewarden.expressions.nodes import Node
from lakewarden.expressions.parser import parse_expression
from lakewarden.expressions.renderer import render
from lakewarden.expressions.types import Type
from lakewarden.kernel.errors import BadInput
from tests.expressions import engines
from tests.expressions.engines import LOOKUPS, TABLE, TYPES, USER, Evaluate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LINES: Final = (Path(__file__).parent / "equal.txt").read_text("utf-8").splitlines()
MASKS: Final = (
    *("null", "redact", "hash", "first4", "last4", "year", "constant 'x y'", "constant '7'"),
    *("constant '-1.5'", "constant '2024-02-29'", "constant 'true'", "sql 'substr(s, 1, 2)'"),
)


def cases() -> dict[str, tuple[Node, Type]]:
    """All cases with their types: the expressions, and every mask on every column that it fits."""
    found: dict[str, tuple[Node, Type]] = {}
    for line in LINES:
        expression = parse_expression(line)
        found[line] = (expression.root, check_expression(expression, TABLE, result=None))
    for text in MASKS:
        mask = parse_mask(text)
        for column, type in TYPES.items():
            if _fits(mask, type):
                node = mask.value(column, type)
                found[f"{text} on {column}"] = (node, type_of(node, TABLE))
    return found


def _fits(mask: Mask, type: Type) -> bool:
    try:
        check_mask(mask, type, TABLE)
    except BadInput:
        return False
    return True


CASES: Final = cases()


def results(engine: str, evaluate: Evaluate, chosen: list[str]) -> dict[str, list[Any]]:
    """The values of each case, row by row."""
    texts = [render(CASES[name][0], engine, TABLE, USER, LOOKUPS) for name in chosen]
    found = evaluate(texts)
    return {
        name: [engines.plain(row[place], CASES[name][1]) for row in found]
        for place, name in enumerate(chosen)
    }


@pytest.fixture(scope="module")
def expected() -> dict[str, list[Any]]:
    return results("duckdb", engines.duckdb_engine(), list(CASES))


def check(engine: str, evaluate: Evaluate, expected: dict[str, list[Any]]) -> None:
    chosen = [name for name in CASES if _is_said(engine, CASES[name][0])]
    found = results(engine, evaluate, chosen)
    differing = {
        name: [pair for pair in zip(expected[name], found[name], strict=True) if pair[0] != pair[1]]
        for name in chosen
        if found[name] != expected[name]
    }
    assert differing == {}


def _is_said(engine: str, node: Node) -> bool:
    """Whether the engine supports the expression; others are refused when they are written."""
    from lakewarden.expressions.parser import Expression

    try:
        check_expression(Expression("", node), TABLE, result=None, engines=[engine])
    except BadInput:
        return False
    return True


def test_there_are_three_hundred() -> None:
    assert len(LINES) >= 300
    assert len(set(LINES)) == len(LINES)


def test_not_every_filter_lets_everything_pass(expected: dict[str, list[Any]]) -> None:
    telling = [line for line in LINES if len({repr(value) for value in expected[line]}) > 1]
    assert len(telling) > 250


SESSION: Final = ("DateStyle = 'German'", "TimeZone = 'Pacific/Kiritimati'")
"""Settings of a reader's session, by which PostgreSQL shows dates and times differently."""


def test_postgresql(postgres_url: str, expected: dict[str, list[Any]]) -> None:
    for settings in ((), SESSION):
        for evaluate in engines.sql_engine(postgres_url, engines.POSTGRESQL, settings=settings):
            check("postgresql", evaluate, expected)


def test_mariadb(mariadb_url: str, expected: dict[str, list[Any]]) -> None:
    for evaluate in engines.sql_engine(mariadb_url, engines.MARIADB, lacks=1):
        check("mysql", evaluate, expected)


def test_mysql(mysql_url: str, expected: dict[str, list[Any]]) -> None:
    for evaluate in engines.sql_engine(mysql_url, engines.MARIADB, lacks=1):
        check("mysql", evaluate, expected)


def test_spark(spark: SparkSession, expected: dict[str, list[Any]]) -> None:
    check("spark", engines.spark_engine(spark), expected)
