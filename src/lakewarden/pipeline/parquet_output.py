"""Tables as the jobs write them, and a digest of a table that no order of rows changes."""

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
"""Bytes of a group of rows, of which a file has one, then: no reader takes it in parts."""


_HERE: Final = 1 << 29
"""Bytes of tables that are looked at in this process; of more, several tasks are faster."""

_BATCH: Final = 1 << 14
"""Rows that are looked at at once."""

_AT_ONCE: Final = 3
"""Tables that are written at once: each holds what it joins with in memory."""

_PART: Final = 22
_PARTS: Final = range(0, 64, _PART)
"""Where the parts of a digest begin that are added up: of 2 ** 41 rows no sum has 64 bits."""

_SCHEME: Final = "2:"
"""Before digests that tell apart which cells are null. Those without are of earlier releases."""

ONE_FILE: Final = "part-00000.parquet"
"""What a table is called that is written as a whole."""


def write(frame: DataFrame, place: Location, group_bytes: int = _ONE_GROUP) -> None:
    """Writes a table; only its files of rows stay, and each is read by one task as a whole."""
    options = {"compression": "zstd", "parquet.block.size": str(group_bytes)}
    frame.write.mode("overwrite").options(**options).parquet(written_to(place))
    keep_rows_only(place)


def write_all(
    frames: Mapping[str, DataFrame], folder: Location, group_bytes: int = _ONE_GROUP
) -> None:
    """Writes tables, each to a folder of its name in `folder`, a few at a time.

    While Spark plans one, or prepares what it joins with, its cores work on another.
    """
    if not frames:
        return
    from pyspark.util import inheritable_thread_target

    def write_one(name: str) -> None:
        write(frames[name], folder / name, group_bytes)

    session = next(iter(frames.values())).sparkSession
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(inheritable_thread_target(session)(write_one), frames):
            pass  # raises what the write has raised


def keep_rows_only(place: Location) -> None:
    """Removes what Spark puts beside the files of rows."""
    for file in place.iterdir():
        if file.suffix != ".parquet":
            file.unlink()


def batch(schema: pa.Schema, **columns: Any) -> pa.RecordBatch:
    """Rows of which the columns not given are null; `what` is given."""
    size = len(columns["what"])
    cells = [
        pa.array(columns[f.name], f.type) if f.name in columns else pa.nulls(size, f.type)
        for f in schema
    ]
    return pa.record_batch(cells, schema=schema)


def put(batches: Iterable[pa.RecordBatch], schema: pa.Schema, place: Location) -> None:
    """As `write`, from this process: one file, whose rows are in memory once."""
    put_table(pa.Table.from_batches([batch.cast(schema) for batch in batches], schema), place)


def put_columns(columns: Iterable[Iterable[Any]], schema: pa.Schema, place: Location) -> None:
    """As `put`, of values column by column."""
    arrays = [pa.array(list(c), f.type) for c, f in zip(columns, schema, strict=True)]
    put_table(pa.table(arrays, schema=schema), place)


def put_table(rows: pa.Table, place: Location) -> None:
    """As `put`, of a table."""
    place.mkdir(parents=True, exist_ok=True)
    write_table(rows, place / ONE_FILE, compression="zstd")


@contextmanager
def writer(schema: pa.Schema, place: Location) -> Iterator[ParquetWriter]:
    """Writes a table part by part, from this process, so that few rows are in memory."""
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

    The digest is the sum, and the exclusive or, of a 64-bit digest of each row: it tells tables
    apart that differ by accident, wherever and in whatever order they were computed; but not by
    which elements of lists are null.
    """
    return contents({"": frame})[""]


def contents_of(
    folder: Location, tables: Iterable[str], spark: SparkSession, most_rows: int | None = None
) -> dict[str, Content]:
    """The contents of tables that were written to `folder`, each in a folder of its name.

    Of more than `most_rows` in all of them Spark takes the digests.
    """
    names = list(tables)
    is_small = sum(_bytes(folder / name) for name in names) <= _HERE
    if most_rows is not None:
        is_small = is_small and sum(count_rows(folder / name) for name in names) <= most_rows
    far = [name for name in names if not (is_small and _is_digestible(folder / name))]
    frames = {name: spark.read.parquet(read_from(folder / name)) for name in far}
    digested = contents(frames) if frames else {}
    return {n: digested[n] if n in digested else content_here(folder / n) for n in names}


def _is_digestible(place: Location) -> bool:
    """Whether a table has no numbers with fractions, which are digested by Spark only."""
    schemas = (schema_of(file) for file in place.glob("*.parquet"))
    return not any(pa.types.is_floating(column.type) for schema in schemas for column in schema)


def content_here(place: Location) -> Content:
    """As `content` of a table that was written, without Spark."""
    rows, sum, mixed = 0, 0, 0
    for part in _parts(place):
        part_sum, part_mixed = totals(part)
        rows, sum, mixed = rows + part.num_rows, sum + part_sum, mixed ^ part_mixed
    return _content(rows, sum, mixed)


def _parts(place: Location) -> Iterator[pa.Table]:
    """The rows, so many at a time: few steps for many rows are faster than many for few."""
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
    """How many rows a table has, from what its files say of themselves."""
    return sum(metadata_of(file).num_rows for file in place.glob("*.parquet"))


def _bytes(place: Location) -> int:
    """The bytes of a table that was written, once they are unpacked."""
    size = 0
    for file in place.glob("*.parquet"):
        metadata = metadata_of(file)
        groups = range(metadata.num_row_groups)
        size += sum(metadata.row_group(n).total_byte_size for n in groups)
    return size


def contents(frames: Mapping[str, DataFrame]) -> dict[str, Content]:
    """The contents of some tables, looked at in one job."""
    from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

    digests = [_digests(name, frame) for name, frame in frames.items()]
    by_table = union(digests).groupBy("table")
    # In parts, whose sums are numbers of 64 bits: decimals take longer (decision 0122).
    parts = [F.shiftrightunsigned("row", at).bitwiseAND((1 << _PART) - 1) for at in _PARTS]
    totals = by_table.agg(F.count("*"), F.bit_xor("other"), *map(F.sum, parts)).collect()
    known = {
        name: (rows, sum(part << at for part, at in zip(sums, _PARTS, strict=True)), mixed)
        for name, rows, mixed, *sums in totals
    }
    return {name: _content(*known.get(name, (0, 0, 0))) for name in frames}


def _digests(name: str, frame: DataFrame) -> DataFrame:
    """Both digests of each row, as `row_digest.row_digests` has them."""
    from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

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
    """Whether its digest was made as those of this release are."""
    return content.digest.startswith(_SCHEME)


def _unsigned(number: int) -> int:
    return number & (1 << 64) - 1


def union(frames: list[DataFrame]) -> DataFrame:
    """All rows of some tables of the same columns."""
    return reduce(lambda first, second: first.unionByName(second), frames)
