"""Normalised rows (`lakewarden.service.source_row`) in Arrow and Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa

from lakewarden.service.source_row import CELLS, Row

SCHEMA: Final = pa.schema(
    [
        pa.field("table", pa.string(), False),
        *(pa.field(cell, pa.string()) for cell in CELLS),
        pa.field("place", pa.string(), False),
        pa.field("reason", pa.string()),
        pa.field("detail", pa.string()),
    ]
)
"""The Arrow schema of normalised rows: unused cells, and a missing reason, are null."""

SPARK_SCHEMA: Final = ", ".join(f"`{name}` string" for name in SCHEMA.names)
"""The same for Spark."""


def batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """The rows as an Arrow batch."""
    columns: list[list[str | None]] = [[] for _ in SCHEMA]
    width = len(CELLS)
    for row in rows:
        cells = (*row.cells, *(None,) * (width - len(row.cells)))
        texts = (row.table, *cells, row.place, row.reason or None, row.detail or None)
        for column, text in zip(columns, texts, strict=True):
            column.append(text)
    arrays = [pa.array(column, pa.string()) for column in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def batches(rows: Iterable[Row], size: int = 8_192) -> Iterator[pa.RecordBatch]:
    """The rows in batches of at most `size`."""
    pending: list[Row] = []
    for row in rows:
        pending.append(row)
        if len(pending) == size:
            yield batch(pending)
            pending = []
    if pending:
        yield batch(pending)
