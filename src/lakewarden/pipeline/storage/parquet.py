"""Parquet files, local or remote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from lakewarden.pipeline.storage.files import parquet_files
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.remote_path import RemotePath

ParquetFile: TypeAlias = pq.ParquetFile
ParquetWriter: TypeAlias = pq.ParquetWriter

_WHOLE: Final = 1 << 26
"""Objects up to this size are fetched at once: one request is faster than many."""


def _readable(file: Location) -> Any:
    if not isinstance(file, RemotePath):
        return file
    if file.stat().size <= _WHOLE:
        return pa.BufferReader(file.read_bytes())
    return file.open("rb")


def parquet_file(file: Location, **options: Any) -> ParquetFile:
    """A file, opened for reading in parts; options are those of `pyarrow.parquet.ParquetFile`."""
    return pq.ParquetFile(_readable(file), **options)


def read_table(place: Location, columns: Sequence[str] | None = None, **options: Any) -> pa.Table:
    """The rows of a file, or of all files of a folder."""
    names = None if columns is None else list(columns)
    if isinstance(place, RemotePath) and not place.is_file():
        files = parquet_files(place)
        return pa.concat_tables([read_table(file, columns, **options) for file in files])
    return pq.read_table(_readable(place), columns=names, **options)


def metadata_of(file: Location) -> pq.FileMetaData:
    """The metadata of a file."""
    with _remote_open(file) as readable:
        return pq.read_metadata(readable)


def schema_of(file: Location) -> pa.Schema:
    """The columns of a file."""
    with _remote_open(file) as readable:
        return pq.read_schema(readable)


def count_values(folder: Location, column: str) -> int:
    """The number of cells of a column of a flat table that are not null.

    From the statistics of the files; for a file without statistics, from its rows.
    """
    return sum(_count_values(file, column) for file in parquet_files(folder))


def _count_values(file: Location, column: str) -> int:
    metadata = metadata_of(file)
    place = metadata.schema.names.index(column)
    groups = (metadata.row_group(n) for n in range(metadata.num_row_groups))
    said = [group.column(place).statistics for group in groups]
    if all(statistics is not None and statistics.has_null_count for statistics in said):
        return int(metadata.num_rows) - sum(int(statistics.null_count) for statistics in said)
    cells = read_table(file, [column]).column(0)
    return len(cells) - int(cells.null_count)


@contextmanager
def _remote_open(file: Location) -> Iterator[Any]:
    """A file for reading small parts: of a large object only a range is fetched."""
    if isinstance(file, RemotePath):
        with file.open("rb") as stream:
            yield stream
    else:
        yield file


def write_table(rows: pa.Table, file: Location, **options: Any) -> None:
    """Writes a file; options are those of `pyarrow.parquet.write_table`."""
    if isinstance(file, RemotePath):
        with file.open("wb") as stream:
            pq.write_table(rows, stream, **options)
    else:
        pq.write_table(rows, file, **options)


@contextmanager
def parquet_writer(file: Location, schema: pa.Schema, **options: Any) -> Iterator[ParquetWriter]:
    """A file, opened for writing in parts."""
    if isinstance(file, RemotePath):
        with file.open("wb") as stream, pq.ParquetWriter(stream, schema, **options) as writer:
            yield writer
    else:
        with pq.ParquetWriter(file, schema, **options) as writer:
            yield writer
