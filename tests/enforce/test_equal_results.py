"""A guard's rows equal the results of the expressions on the engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lakewarden.enforce.duckdb_sql import limited_rows
from lakewarden.enforce.guard import Rows
from lakewarden.enforce.sources import relation
from lakewarden.expressions.renderer import render
from lakewarden.expressions.types import Type
from lakewarden.service.limited_read import LimitedRead
from tests.expressions import engines
from tests.expressions.engines import LOOKUPS, NAME, TABLE, USER
from tests.expressions.test_equal_results import CASES

COLUMNS = (
    "id INT, s VARCHAR, t VARCHAR, n BIGINT, m BIGINT, p DECIMAL(12, 3),"
    " f DOUBLE, b BOOLEAN, d DATE, ts TIMESTAMP, z TIMESTAMPTZ"
)


@pytest.fixture(scope="module")
def table() -> duckdb.DuckDBPyRelation:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE {NAME} ({COLUMNS})")
    connection.executemany(f"INSERT INTO {NAME} VALUES ({', '.join('?' * 11)})", engines.rows())
    return connection.table(NAME)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("first", range(4))
def test_filters_keep_the_rows_and_masks_show_the_cells(
    table: duckdb.DuckDBPyRelation, first: int
) -> None:
    """Each query tests every fourth case: the row tests below show all of them in one query."""
    nodes = {name: node for name, (node, _) in [*CASES.items()][first::4]}
    texts = {name: render(node, "duckdb", TABLE, USER, LOOKUPS) for name, node in nodes.items()}
    values = zip(*engines.duckdb_engine()(list(texts.values())), strict=True)
    differing = []
    for (name, text), column in zip(texts.items(), values, strict=True):
        filters = (text,) if CASES[name][1] is Type.BOOLEAN else ()
        masks: dict[str, str | None] = {**dict.fromkeys(table.columns), "s": text}
        read = LimitedRead(True, "", (), filters, masks)
        shown = limited_rows(table, read, {"id", "s"}).to_pydict()
        found = dict(zip(shown["id"], shown["s"], strict=True))
        expected = {id: value for id, value in enumerate(column) if value or not filters}
        differing += [] if found == expected else [name]
    assert differing == []


TEXTS: Final = [render(node, "duckdb", TABLE, USER, LOOKUPS) for node, _ in CASES.values()]
QUERY: Final = engines.query(TEXTS)
SOURCES: Final[Mapping[str, Callable[[pa.Table], Any]]] = {
    "Arrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "polars, lazy": lambda table: pl.DataFrame(table).lazy(),
}


@pytest.mark.by_day(2)
@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_source_gives_equal_results(
    table: duckdb.DuckDBPyRelation, kind: str
) -> None:
    source = relation(SOURCES[kind](table.to_arrow_table()))
    found = _values(source).fetchall()
    expected = engines.duckdb_engine()(TEXTS)
    assert _differing(zip(*expected, strict=True), zip(*found, strict=True)) == []


def test_every_kind_of_result_has_equal_cells(table: duckdb.DuckDBPyRelation) -> None:
    arrow = _values(table).to_arrow_table()
    cells = [column.to_pylist() for column in arrow.columns]
    polars, pandas = Rows(arrow).polars(), Rows(arrow).pandas()
    assert (polars.shape, pandas.shape) == (arrow.shape, arrow.shape)
    assert _differing(cells, (polars.to_series(at).to_list() for at in range(len(cells)))) == []
    # A pandas frame has NaN and NaT for missing values.
    shown = ([_plain(v) for v in pandas.iloc[:, at].tolist()] for at in range(len(cells)))
    assert _differing(cells, shown) == []
    assert polars.to_arrow().cast(arrow.schema).equals(arrow)


def _values(source: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    found = source.query(NAME, QUERY)
    assert found is not None
    return found


def _plain(value: Any) -> Any:
    return None if pd.isna(value) else value


def _differing(expected: Any, found: Any) -> list[str]:
    pairs = zip(CASES, expected, found, strict=True)
    return [name for name, one, other in pairs if list(one) != list(other)]
