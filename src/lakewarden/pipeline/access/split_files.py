"""Tables in several files of limited size: Parquet for programs, CSV for people."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from lakewarden.pipeline.review.spreadsheet import csv_rows, safe

MOST_BYTES: Final = 95_000_000
"""A file ends at about this size; what is written until the next check keeps it below 100 MB.

Before each row group of Parquet except a file's first, the check adds the group's expected size.
"""

_STEP: Final = 1_000
"""Rows between two checks of the size of a text file."""

_GROUP: Final = 100
"""The most steps in a row group of Parquet, whose size is checked once per group."""

_GROUP_BYTES: Final = 50_000_000
"""A row group ends at about this size, before compression."""


def put_parquet(batches: Iterable[pa.RecordBatch], schema: pa.Schema, folder: Path) -> int:
    """Writes a table; returns the number of rows. An empty table gets one file, too."""
    folder.mkdir(parents=True)
    steps = _steps(batches, _STEP)
    group = _group(steps)
    count, number = 0, 0
    while group or not number:
        file = folder / f"part-{number:05}.parquet"
        number += 1
        with file.open("wb") as out, pq.ParquetWriter(out, schema, compression="zstd") as writer:
            begin = out.tell()
            while group and (out.tell() == begin or out.tell() + _bytes(group) < MOST_BYTES):
                rows = pa.Table.from_batches([step.cast(schema) for step in group], schema)
                writer.write_table(rows)
                count += rows.num_rows
                group = _group(steps)
    return count


def _group(steps: Iterator[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """The next steps that form a row group; empty at the end."""
    group: list[pa.RecordBatch] = []
    for step in islice(steps, _GROUP):
        group.append(step)
        if _bytes(group) >= _GROUP_BYTES:
            break
    return group


def _bytes(steps: Iterable[pa.RecordBatch]) -> int:
    return sum(step.nbytes for step in steps)


def put_csv(source: Path, folder: Path, name: str, most_rows: int) -> int:
    """Writes the table in `source` as `NAME-00001.csv` and so on; returns the number of files.

    A file has at most `most_rows` rows, and about `MOST_BYTES`; each begins with the column names.
    """
    steps = _steps(_batches(source), min(_STEP, most_rows))
    step = next(steps, None)
    number = 0
    while step is not None:
        number += 1
        rows = 0
        with (folder / f"{name}-{number:05}.csv").open("wb") as out:
            out.write(_text([[safe(column) for column in step.schema.names]]))
            while step is not None and rows + len(step) <= most_rows and out.tell() < MOST_BYTES:
                out.write(_text(csv_rows(step)))
                rows += len(step)
                step = next(steps, None)
    return number


def _batches(source: Path) -> Iterator[pa.RecordBatch]:
    for file in sorted(source.glob("*.parquet")):
        with pq.ParquetFile(file) as parquet:
            yield from parquet.iter_batches(_STEP * _GROUP)


def _steps(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(0, len(batch), rows):
            yield batch.slice(start, rows)


class _Lines(list[str]):
    """The target that `csv` writes to."""

    write = list.append


def _text(rows: Iterable[Iterable[object]]) -> bytes:
    lines = _Lines()
    csv.writer(lines, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n").writerows(rows)
    return "".join(lines).encode("utf-8")
