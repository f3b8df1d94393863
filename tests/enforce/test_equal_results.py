"""What a guard shows of rows is what the expressions give on the engines."""

from __future__ import annotations

import duckdb
import pytest

from lakewarden.enforce.duckdb_sql import limited_rows
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


def test_filters_keep_the_rows_and_masks_show_the_cells(table: duckdb.DuckDBPyRelation) -> None:
    nodes = {name: node for name, (node, _) in CASES.items()}
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
