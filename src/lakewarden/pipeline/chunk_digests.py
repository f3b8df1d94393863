"""The digest of a table of an ingested directory: by threads of this process, or by tasks.

The row groups of the files are divided into ranges. A range covers the chunks that start in its row
groups; the last of them may end in the next range. So a range may read rows of its neighbors, at
most one chunk on each side, and hashes none of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline import directory_manifest
from lakewarden.pipeline.directory_manifest import Content, Manifest
from lakewarden.pipeline.directory_table import Digest, Place, batches, combined, readable
from lakewarden.pipeline.ingest.files import MAX_TASKS
from lakewarden.pipeline.session import runs_locally
from lakewarden.pipeline.storage.files import parquet_files, size_of
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.parquet import metadata_of
from lakewarden.pipeline.tables import COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RANGE_CHUNKS: Final = 8
"""The least number of chunks of a range, to keep the rows that two ranges read few."""

SMALL: Final = 1 << 19
"""Tables up to this size in bytes are digested in one thread, without a look at their footers."""

FEW_RANGES: Final = 8
"""How many ranges this process digests itself when Spark runs on other machines."""

_SCHEMA: Final = "range long, rows long, sha256 string, problem string, place string"
_COLUMNS: Final = [column.split()[0] for column in _SCHEMA.split(", ")]


@dataclass(frozen=True, slots=True)
class Range:
    """Consecutive rows of a table: `rows` of them, after `skipped` from a row group on."""

    start: Place
    skipped: int
    rows: int


def content_of(
    folder: Location, table: str, spark: SparkSession | None = None, *, in_chunks: bool = True
) -> Content:
    """Rows and digest of one written table. Raises `BadInput` if it cannot be read.

    The tasks of `spark` read a large table, if they run on other machines. Without `in_chunks` the
    digest is the one of format 1 of the manifest.
    """
    if not in_chunks:
        return _in_order(folder, table, None)
    chunk_rows = directory_manifest.CHUNK_ROWS
    files = parquet_files(folder)
    if sum(size_of(file) for file in files) <= SMALL:
        return _in_order(folder, table, chunk_rows)
    ranges = _ranges(files, chunk_rows)
    if len(ranges) <= 1:
        return _in_order(folder, table, chunk_rows)
    if spark is not None and len(ranges) > FEW_RANGES and not runs_locally(spark):
        return combined(_by_tasks(folder, table, ranges, chunk_rows, spark))
    # On all cores: hashing and decoding release the interpreter lock.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = pool.map(lambda part: _chunks_of(folder, table, part, chunk_rows), ranges)
        return combined([chunk for part in parts for chunk in part])


def check_table(
    version: Location, table: str, manifest: Manifest, spark: SparkSession | None = None
) -> None:
    """Raises `BadInput` for a table of a version that differs from its manifest."""
    folder = version / table
    if content_of(folder, table, spark, in_chunks=manifest.in_chunks) != manifest.tables[table]:
        raise BadInput("differs from its manifest", where=str(folder))


def _in_order(folder: Location, table: str, chunk_rows: int | None) -> Content:
    digest, rows = Digest(len(COLUMNS[table]), chunk_rows), batches(folder, table)
    # The next rows are decoded while these are hashed: both release the interpreter lock.
    with ThreadPoolExecutor(1) as reader:
        decoded = reader.submit(next, rows, None)
        while (batch := decoded.result()) is not None:
            decoded = reader.submit(next, rows, None)
            digest.add(batch)
    return digest.content()


def _ranges(files: Sequence[Location], chunk_rows: int) -> list[Range]:
    """The ranges of a table, without those in which no chunk starts."""
    row, starts = 0, list[tuple[int, Place]]()
    for file in files:
        with readable(file):
            metadata = metadata_of(file)
        for group in range(metadata.num_row_groups):
            if not starts or row - starts[-1][0] >= RANGE_CHUNKS * chunk_rows:
                starts.append((row, Place(file.name, group)))
            row += metadata.row_group(group).num_rows
    ends = [*(start for start, _ in starts[1:]), row]
    ranges = []
    for (start, place), end in zip(starts, ends, strict=True):
        first, after = (-(-at // chunk_rows) * chunk_rows for at in (start, end))
        if first < min(after, row):
            ranges.append(Range(place, first - start, min(after, row) - first))
    return ranges


def _chunks_of(folder: Location, table: str, part: Range, chunk_rows: int) -> list[Content]:
    digest = Digest(len(COLUMNS[table]), chunk_rows)
    skipped, left = part.skipped, part.rows
    with closing(batches(folder, table, part.start)) as rows:
        while left and (batch := next(rows, None)) is not None:
            own = batch.slice(min(skipped, batch.num_rows), left)
            skipped -= min(skipped, batch.num_rows)
            left -= own.num_rows
            digest.add(own)
    return digest.chunks()


def _by_tasks(
    folder: Location, table: str, ranges: Sequence[Range], chunk_rows: int, spark: SparkSession
) -> list[Content]:
    place = folder.resolve()

    def digest(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in (cell for batch in numbers for cell in batch.column(0).to_pylist()):
            try:
                chunks = _chunks_of(place, table, ranges[number], chunk_rows)
                rows = [(number, *chunk, "", "") for chunk in chunks]
            except BadInput as error:
                rows = [(number, 0, "", error.message, error.where)]
            yield pa.record_batch(list(map(pa.array, zip(*rows, strict=True))), _COLUMNS)

    numbers = spark.range(0, len(ranges), 1, min(len(ranges), MAX_TASKS))
    found = numbers.mapInArrow(digest, _SCHEMA).toArrow().sort_by("range")
    _, rows, digests, problems, places = (column.to_pylist() for column in found.columns)
    for problem, where in zip(problems, places, strict=True):
        if problem:
            raise BadInput(problem, where=where)
    return list(map(Content, rows, digests))
