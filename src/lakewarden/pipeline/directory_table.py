"""A table of an ingested directory: its rows in batches, and their digest.

A digest covers a table's cells in the order of its files and is independent of the sizes of files
and batches. The pipeline writes rows in ascending order, so equal content has equal digests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.directory_manifest import Content
from lakewarden.pipeline.storage.files import parquet_files
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.parquet import parquet_file
from lakewarden.pipeline.tables import COLUMNS, arrow_schema

_BATCH_ROWS = 65_536


def content_of(folder: Location, table: str) -> Content:
    """Rows and digest of one written table. Raises `BadInput` if it cannot be read."""
    digest, rows = Digest(len(COLUMNS[table])), batches(folder, table)
    # The next rows are decoded while these are hashed: both release the interpreter lock.
    with ThreadPoolExecutor(1) as reader:
        decoded = reader.submit(next, rows, None)
        while (batch := decoded.result()) is not None:
            decoded = reader.submit(next, rows, None)
            digest.add(batch)
    return digest.content()


class Digest:
    """The digest of a table of texts: for each column all lengths, then all bytes.

    A cell that is null has length -1. Columns are digested side by side, so the memory needed is
    that of one batch.
    """

    def __init__(self, columns: int) -> None:
        self._rows = 0
        self._lengths = [hashlib.sha256() for _ in range(columns)]
        self._bytes = [hashlib.sha256() for _ in range(columns)]

    def add(self, batch: pa.RecordBatch) -> None:
        self._rows += batch.num_rows
        for column, lengths, content in zip(batch, self._lengths, self._bytes, strict=True):
            lengths.update(_lengths(column).astype("<i4").tobytes())
            content.update(_bytes(pc.drop_null(column)))

    def content(self) -> Content:
        digest = hashlib.sha256(b"%d" % self._rows)
        for part in (*self._lengths, *self._bytes):
            digest.update(part.digest())
        return Content(self._rows, digest.hexdigest())


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


def batches(folder: Location, table: str) -> Iterator[pa.RecordBatch]:
    """The rows of a table in file order, with exactly its columns."""
    schema = arrow_schema(table)
    if not folder.is_dir():
        raise BadInput("is missing", where=str(folder))
    for file in parquet_files(folder):
        try:
            with parquet_file(file) as parquet:
                file_schema = parquet.schema_arrow
                if file_schema.names != schema.names or file_schema.types != schema.types:
                    raise BadInput(
                        f"expected the columns {', '.join(schema.names)}", where=str(file)
                    )
                yield from parquet.iter_batches(_BATCH_ROWS)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0].lower()
            raise BadInput(f"cannot be read: {reason}", where=str(file)) from None
