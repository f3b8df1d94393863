"""The tables that jobs write, and a digest of a table that is independent of row order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from lakewarden.pipeline.product import Content
from lakewarden.pipeline.row_digest import OTHER, totals
from lakewarden.pipeline.storage.files import parquet_files
from lakewarden.pipeline.storage.location import Location, read_from, written_to
from lakewarden.pipeline.storage.parquet import (
    ParquetWriter,
    metadata_of,
    parquet_file,
    parquet_writer,
    schema_of,
    write_table,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_ONE_GROUP: Final = 1 << 30
"""Size of a row group in bytes. A file then has one group: no reader reads it in parts."""


_HERE: Final = 1 << 29
"""Tables up to this total size in bytes are digested here; beyond, several tasks are faster."""

_BATCH: Final = 1 << 14
"""How many rows are digested at once."""

_AT_ONCE: Final = 3
"""How many tables are written at once: each holds its join tables in memory."""

_PART: Final = 22
_PARTS: Final = range(0, 64, _PART)
"""Bit offsets of the parts that are summed per digest: for 2 ** 41 rows no sum has 64 bits."""

_SCHEME: Final = "2:"
"""Prefix of digests that cover which cells are null. Earlier releases wrote none."""

ONE_FILE: Final = "part-00000.parquet"
"""The file name of a table that is written as one file."""


def write(frame: DataFrame, place: Location, group_bytes: int = _ONE_GROUP) -> None:
    """Writes a table; only its data files remain, and one task reads each as a whole."""
    options = {"compression": "zstd", "parquet.block.size": str(group_bytes)}
    frame.write.mode("overwrite").options(**options).parquet(written_to(place))
    keep_rows_only(place)


def write_all(
    frames: Mapping[str, DataFrame], folder: Location, group_bytes: int = _ONE_GROUP
) -> None:
    """Writes tables, each to a folder of its name in `folder`, a few at a time.

    While Spark plans one table, or prepares its joins, its cores work on another.
    """
    if not frames:
        return
    from pyspark.util import inheritable_thread_target

    def write_one(name: str) -> None:
        write(frames[name], folder / name, group_bytes)

    session = next(iter(frames.values())).sparkSession
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(inheritable_thread_target(session)(write_one), frames):
            pass  # raises the exception of the write


def keep_rows_only(place: Location) -> None:
    """Removes the files that Spark writes beside the data files."""
    for file in place.iterdir():
        if file.suffix != ".parquet":
            file.unlink()


def batch(schema: pa.Schema, **columns: Any) -> pa.RecordBatch:
    """A batch in which columns that are not given are null; the column `what` is required."""
    size = len(columns["what"])
    cells = [
        pa.array(columns[f.name], f.type) if f.name in columns else pa.nulls(size, f.type)
        for f in schema
    ]
    return pa.record_batch(cells, schema=schema)


def put(batches: Iterable[pa.RecordBatch], schema: pa.Schema, place: Location) -> None:
    """Like `write`, from this process: one file, whose rows are in memory once."""
    put_table(pa.Table.from_batches([batch.cast(schema) for batch in batches], schema), place)


def put_columns(columns: Iterable[Iterable[Any]], schema: pa.Schema, place: Location) -> None:
    """Like `put`, for values by column."""
    arrays = [pa.array(list(c), f.type) for c, f in zip(columns, schema, strict=True)]
    put_table(pa.table(arrays, schema=schema), place)


def put_table(rows: pa.Table, place: Location) -> None:
    """Like `put`, for a table."""
    place.mkdir(parents=True, exist_ok=True)
    write_table(rows, place / ONE_FILE, compression="zstd")


@contextmanager
def writer(schema: pa.Schema, place: Location) -> Iterator[ParquetWriter]:
    """Writes a table part by part, from this process, to keep few rows in memory."""
    place.mkdir(parents=True, exist_ok=True)
    with parquet_writer(place / ONE_FILE, schema, compression="zstd") as out:
        yield out


def arrow_schema(columns: str) -> pa.Schema:
    """The Arrow schema of columns declared for Spark.

    >>> arrow_schema("id int, keys array<binary>").types
    [DataType(int32), ListType(list<item: binary>)]
    """
    pairs = (column.split(maxsplit=1) for column in columns.split(","))
    return pa.schema([(name, _arrow_type(kind.strip())) for name, kind in pairs])


def _arrow_type(kind: str) -> pa.DataType:
    if kind.startswith("array<"):
        return pa.list_(_arrow_type(kind[len("array<") : -1]))
    return _TYPES[kind]


_TYPES: Final = {
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "string": pa.string(),
}


def read(spark: SparkSession, place: Location, schema: str) -> DataFrame:
    """A table that was written."""
    return spark.read.schema(schema).parquet(read_from(place))


def content(frame: DataFrame) -> Content:
    """Rows and digest of a table.

    The digest is the sum, and the exclusive or, of a 64-bit digest of each row. It does not depend
    on where and in which order rows were computed. It distinguishes tables that differ by accident,
    but not tables that differ only in which elements of lists are null.
    """
    return contents({"": frame})[""]


def contents_of(
    folder: Location, tables: Iterable[str], spark: SparkSession, most_rows: int | None = None
) -> dict[str, Content]:
    """The contents of tables that were written to `folder`, each in a folder of its name.

    Spark computes the digests if the tables have more than `most_rows` in total.
    """
    names = list(tables)
    is_small = sum(_bytes(folder / name) for name in names) <= _HERE
    if most_rows is not None:
        is_small = is_small and sum(count_rows(folder / name) for name in names) <= most_rows
    far = [name for name in names if not (is_small and _is_digestible(folder / name))]
    frames = {name: spark.read.parquet(read_from(folder / name)) for name in far}
    digested = contents(frames) if frames else {}
    return {n: digested[n] if n in digested else content_without_spark(folder / n) for n in names}


def _is_digestible(place: Location) -> bool:
    """Whether a table has no floating-point columns, which only Spark digests."""
    schemas = (schema_of(file) for file in place.glob("*.parquet"))
    return not any(pa.types.is_floating(column.type) for schema in schemas for column in schema)


def content_without_spark(place: Location) -> Content:
    """Like `content`, for a written table, without Spark."""
    rows, sum, mixed = 0, 0, 0
    for part in _parts(place):
        part_sum, part_mixed = totals(part)
        rows, sum, mixed = rows + part.num_rows, sum + part_sum, mixed ^ part_mixed
    return _content(rows, sum, mixed)


def _parts(place: Location) -> Iterator[pa.Table]:
    """The rows in batches: few steps over many rows are faster than many over few."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for file in parquet_files(place):
        with parquet_file(file) as parquet:
            for batch in parquet.iter_batches(_BATCH):
                waiting.append(batch)
                count += len(batch)
                if count >= _BATCH:
                    yield pa.Table.from_batches(waiting).combine_chunks()
                    waiting, count = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()


def count_rows(place: Location) -> int:
    """The number of rows of a table, from the metadata of its files."""
    return sum(metadata_of(file).num_rows for file in place.glob("*.parquet"))


def _bytes(place: Location) -> int:
    """The uncompressed size in bytes of a written table."""
    size = 0
    for file in place.glob("*.parquet"):
        metadata = metadata_of(file)
        groups = range(metadata.num_row_groups)
        size += sum(metadata.row_group(n).total_byte_size for n in groups)
    return size


def contents(frames: Mapping[str, DataFrame]) -> dict[str, Content]:
    """The contents of several tables, computed in one Spark job."""
    from pyspark.sql import functions as F  # noqa: N812 — the usual alias

    digests = [_digests(name, frame) for name, frame in frames.items()]
    by_table = union(digests).groupBy("table")
    # Summed in parts that fit 64 bits: decimals take longer (decision 0122).
    parts = [F.shiftrightunsigned("row", at).bitwiseAND((1 << _PART) - 1) for at in _PARTS]
    totals = by_table.agg(F.count("*"), F.bit_xor("other"), *map(F.sum, parts)).collect()
    known = {
        name: (rows, sum(part << at for part, at in zip(sums, _PARTS, strict=True)), mixed)
        for name, rows, mixed, *sums in totals
    }
    return {name: _content(*known.get(name, (0, 0, 0))) for name in frames}


def _digests(name: str, frame: DataFrame) -> DataFrame:
    """Both digests of each row, as in `row_digest.row_digests`."""
    from pyspark.sql import functions as F  # noqa: N812 — the usual alias

    places = enumerate(frame.columns)
    bits = [F.when(F.col(column).isNull(), 1 << place).otherwise(0) for place, column in places]
    nulls = reduce(lambda one, other: one.bitwiseOR(other), bits).cast("long")
    lists = [f.name for f in frame.schema.fields if f.dataType.typeName() == "array"]
    sizes = [F.coalesce(F.array_size(column), F.lit(0)) for column in lists]
    cells = [*map(F.col, frame.columns), nulls, *sizes]
    row, other = F.xxhash64(*cells), F.xxhash64(F.lit(OTHER), *cells)
    return frame.select(F.lit(name).alias("table"), row.alias("row"), other.alias("other"))


def _content(rows: int, sum: int, mixed: int) -> Content:
    return Content(rows, f"{_SCHEME}{_unsigned(sum):016x}{_unsigned(mixed):016x}")


def is_comparable(content: Content) -> bool:
    """Whether the digest was computed by the scheme of this release."""
    return content.digest.startswith(_SCHEME)


def _unsigned(number: int) -> int:
    return number & (1 << 64) - 1


def union(frames: list[DataFrame]) -> DataFrame:
    """All rows of several tables with the same columns."""
    return reduce(lambda first, second: first.unionByName(second), frames)
