"""A table of an ingested directory: its rows in batches, and their digest.

A digest covers a table's cells in the order of its files and is independent of the sizes of files
and batches. The pipeline writes rows in ascending order, so equal content has equal digests. Rows
are digested in chunks of `CHUNK_ROWS`, so that several threads or tasks can share a large table
(see `lakewarden.pipeline.chunk_digests`).
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.directory_manifest import Content
from lakewarden.pipeline.storage.files import parquet_files
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.parquet import parquet_file
from lakewarden.pipeline.tables import arrow_schema

_BATCH_ROWS = 65_536


class Digest:
    """The digest of a table whose rows are added in order.

    `chunk_rows` is the size of a chunk. Without one the whole table is digested in order, as in
    format 1 of the manifest; tables of one chunk have the same digest in both.
    """

    def __init__(self, columns: int, chunk_rows: int | None = None) -> None:
        self._columns = columns
        self._chunk_rows = chunk_rows or sys.maxsize
        self._chunks: list[Content] = []
        self._chunk = _ChunkDigest(columns)

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds the next rows, of any number."""
        while batch.num_rows:
            if self._chunk.rows == self._chunk_rows:
                self._end_chunk()
            now = batch.slice(0, self._chunk_rows - self._chunk.rows)
            self._chunk.add(now)
            batch = batch.slice(now.num_rows)

    def chunks(self) -> list[Content]:
        """The digests of the chunks, of which there is at least one."""
        return [*self._chunks, self._chunk.content()]

    def content(self) -> Content:
        """The number of rows, and their digest."""
        return combined(self.chunks())

    def _end_chunk(self) -> None:
        self._chunks.append(self._chunk.content())
        self._chunk = _ChunkDigest(self._columns)


def combined(chunks: Sequence[Content]) -> Content:
    """The content of a table with these chunks, in order; all but the last are full."""
    if len(chunks) == 1:
        return chunks[0]
    rows = sum(chunk.rows for chunk in chunks)
    digest = hashlib.sha256(b"%d in %d" % (rows, chunks[0].rows))
    for chunk in chunks:
        digest.update(bytes.fromhex(chunk.sha256))
    return Content(rows, digest.hexdigest())


class _ChunkDigest:
    """The digest of some rows of texts: for each column all lengths, then all bytes.

    A cell that is null has length -1. Columns are digested side by side, so the memory needed is
    that of one batch.
    """

    def __init__(self, columns: int) -> None:
        self.rows = 0
        self._lengths = [hashlib.sha256() for _ in range(columns)]
        self._bytes = [hashlib.sha256() for _ in range(columns)]

    def add(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows
        for column, lengths, content in zip(batch, self._lengths, self._bytes, strict=True):
            lengths.update(_lengths(column).astype("<i4").tobytes())
            content.update(_bytes(pc.drop_null(column)))

    def content(self) -> Content:
        digest = hashlib.sha256(b"%d" % self.rows)
        for part in (*self._lengths, *self._bytes):
            digest.update(part.digest())
        return Content(self.rows, digest.hexdigest())


# From the buffers: pyarrow's conversion to numpy imports pandas, which is slow.


def _ends(texts: pa.Array) -> NDArray[np.int32]:
    """The start of each text, and the end of the last one."""
    return np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, texts.offset * 4)


def _lengths(texts: pa.Array) -> NDArray[np.int32]:
    """The length of each text in bytes, -1 for null."""
    if not len(texts):
        return np.zeros(0, np.int32)
    lengths = np.diff(_ends(texts))
    if texts.null_count:
        nulls = texts.is_null()
        bits = np.unpackbits(np.frombuffer(nulls.buffers()[1], np.uint8), bitorder="little")
        lengths[bits[nulls.offset : nulls.offset + len(texts)].astype(bool)] = -1
    return lengths


def _bytes(texts: pa.Array) -> bytes | memoryview:
    """All the texts, concatenated; none of them is null."""
    data = texts.buffers()[2] if len(texts) else None
    if data is None:
        return b""
    ends = _ends(texts)
    return memoryview(data)[ends[0] : ends[-1]]


class Place(NamedTuple):
    """A row group of a table: the name of its file, and its number in the file."""

    file: str
    group: int


def batches(
    folder: Location, table: str, start: Place | None = None
) -> Generator[pa.RecordBatch, None, None]:
    """The rows of a table in file order, with exactly its columns; from a row group on.

    Raises `BadInput` for a file that cannot be read, or has other columns.
    """
    schema = arrow_schema(table)
    if not folder.is_dir():
        raise BadInput("is missing", where=str(folder))
    for file in parquet_files(folder):
        if start is not None and file.name < start.file:
            continue
        first = start.group if start is not None and file.name == start.file else 0
        with readable(file), parquet_file(file) as parquet:
            file_schema = parquet.schema_arrow
            if file_schema.names != schema.names or file_schema.types != schema.types:
                raise BadInput(f"expected the columns {', '.join(schema.names)}", where=str(file))
            groups = range(first, parquet.num_row_groups)
            yield from parquet.iter_batches(_BATCH_ROWS, row_groups=groups)


@contextmanager
def readable(file: Location) -> Iterator[None]:
    """Raises `BadInput` instead of the errors of pyarrow and of the store."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].lower()
        raise BadInput(f"cannot be read: {reason}", where=str(file)) from None
