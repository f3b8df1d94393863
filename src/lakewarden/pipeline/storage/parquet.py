"""Files of Parquet, wherever they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from lakewarden.pipeline.storage.location import Location

ParquetFile: TypeAlias = pq.ParquetFile
ParquetWriter: TypeAlias = pq.ParquetWriter


def parquet_file(file: Location, **options: Any) -> ParquetFile:
    """A file, open to be read part by part; options are those of `pyarrow.parquet.ParquetFile`."""
    return pq.ParquetFile(file, **options)


def read_table(place: Location, columns: Sequence[str] | None = None, **options: Any) -> pa.Table:
    """The rows of a file, or of all files of a folder."""
    return pq.read_table(place, columns=None if columns is None else list(columns), **options)


def metadata_of(file: Location) -> pq.FileMetaData:
    """What a file says of itself."""
    return pq.read_metadata(file)


def schema_of(file: Location) -> pa.Schema:
    """The columns of a file."""
    return pq.read_schema(file)


def write_table(rows: pa.Table, file: Location, **options: Any) -> None:
    """Writes a file; options are those of `pyarrow.parquet.write_table`."""
    pq.write_table(rows, file, **options)


def parquet_writer(file: Location, schema: pa.Schema, **options: Any) -> ParquetWriter:
    """A file, open to be written part by part."""
    return pq.ParquetWriter(file, schema, **options)
