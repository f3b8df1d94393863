"""The pipeline's schemas are those that the kernel declares."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import StringType

from lakewarden.kernel.relations import TABLES
from lakewarden.pipeline.tables import COLUMNS, QUARANTINE, arrow_schema, spark_schema
from lakewarden.service.source_row import WIDTHS


def test_every_table_of_the_kernel_is_there_and_one_more() -> None:
    assert set(COLUMNS) == {*TABLES, QUARANTINE}
    assert {name: COLUMNS[name] for name in TABLES} == TABLES


@pytest.mark.parametrize("table", COLUMNS)
def test_both_schemas_have_the_declared_columns_kinds_and_nulls(table: str) -> None:
    declared = [(column.name, column.nullable) for column in COLUMNS[table]]
    arrow, spark = arrow_schema(table), spark_schema(table)
    assert [(field.name, field.nullable) for field in arrow] == declared
    assert [(field.name, field.nullable) for field in spark] == declared
    assert {column.kind for column in COLUMNS[table]} == {"string"}
    assert all(field.type == pa.string() for field in arrow)
    assert all(field.dataType == StringType() for field in spark)


@pytest.mark.parametrize("table", sorted(set(TABLES) - {"entities"}))
def test_a_normalised_row_has_as_many_cells_as_its_table_has_columns(table: str) -> None:
    assert WIDTHS[table] == len(TABLES[table])


def test_an_entity_and_its_place_are_two_normalised_rows() -> None:
    assert WIDTHS["placements"] == len(TABLES["entities"])
    assert WIDTHS["entities"] == 2
