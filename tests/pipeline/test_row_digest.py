"""Row digests without Spark equal Spark's."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from lakewarden.pipeline import parquet_output
from lakewarden.pipeline.row_digest import row_digests, xxhash64

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

_LETTERS = "abzäß語😀"
_LONGEST = 90
"""Texts of this length have several stripes of 32 bytes, and remainders of every length."""


def test_the_digest_of_a_row_is_the_one_that_spark_documents() -> None:
    cells = {"a": ["Spark"], "b": pa.array([[123]], pa.list_(pa.int32())), "c": [2]}
    schema = pa.schema([("a", pa.string()), ("b", pa.list_(pa.int32())), ("c", pa.int32())])
    table = pa.table(cells, schema=schema)
    assert xxhash64(table.columns, 1)[0].tolist() == [5602566077635097486]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([None, "a"], ["a", None]),
        ([["a"], []], [[], ["a"]]),
        ([["a"], None], [None, ["a"]]),
        ([[], ["a"]], [None, ["a"]]),
        ([["a", "b"], ["c"]], [["a"], ["b", "c"]]),
    ],
)
def test_rows_that_differ_in_what_has_no_bytes_differ(one: list[Any], other: list[Any]) -> None:
    kind = pa.list_(pa.string()) if any(isinstance(cell, list) for cell in one) else pa.string()
    columns = [pa.array(cells, kind) for cells in zip(one, other, strict=True)]
    first, second = row_digests(pa.table(columns, ["a", "b"])).T.tolist()
    assert not {*first} & {*second}


def test_a_column_of_a_type_that_no_table_has_is_refused() -> None:
    with pytest.raises(TypeError, match="double"):
        row_digests(pa.table({"a": [1.5]}))


def test_a_table_in_slices_and_dictionaries_has_the_same_digest() -> None:
    table = _table(Random(2), 60)
    encoded = table.set_column(3, "s", table.column("s").dictionary_encode())
    parts = pa.concat_tables([encoded.slice(0, 7), encoded.slice(7)])
    assert row_digests(parts).tolist() == row_digests(table).tolist()
    assert row_digests(table.slice(5, 20)).tolist() == row_digests(table)[:, 5:25].tolist()


def test_a_table_has_the_content_that_spark_finds(spark: SparkSession, tmp_path: Path) -> None:
    for name, rows in (("some", 300), ("none", 0)):
        table = _table(Random(1), rows)
        parquet_output.put(table.to_batches(), table.schema, tmp_path / name)
        frame = spark.read.parquet(str(tmp_path / name))
        assert parquet_output.content_without_spark(tmp_path / name) == parquet_output.content(
            frame
        )


def _table(random: Random, rows: int) -> pa.Table:
    """Cells of every type that tables have, some of them null."""

    def column(draw: Callable[[], object]) -> list[Any]:
        return [None if random.random() < 0.1 else draw() for _ in range(rows)]

    def text() -> str:
        return "".join(random.choices(_LETTERS, k=random.randrange(_LONGEST)))

    def texts() -> list[str | None]:
        return [random.choice((None, text())) for _ in range(random.randrange(5))]

    columns = {
        "b": (pa.bool_(), lambda: random.random() < 0.5),
        "i": (pa.int32(), lambda: random.randrange(-(1 << 31), 1 << 31)),
        "l": (pa.int64(), lambda: random.randrange(-(1 << 63), 1 << 63)),
        "s": (pa.string(), text),
        "y": (pa.binary(), lambda: random.randbytes(random.randrange(3 * _LONGEST))),
        "ls": (pa.list_(pa.string()), texts),
        "li": (pa.list_(pa.int32()), lambda: [random.randrange(9) for _ in range(3)]),
        "lb": (pa.list_(pa.binary()), lambda: [text().encode() for _ in range(2)]),
    }
    return pa.table({name: pa.array(column(draw), kind) for name, (kind, draw) in columns.items()})
