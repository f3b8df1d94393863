"""Our own counts as a file: what `lakewarden.pipeline.unused.log_formats` reads as `usage`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from lakewarden.kernel.entity import Entity
from lakewarden.pipeline.unused.log_formats import USAGE_COLUMNS

Count = tuple[str, str, str, Entity, int]
"""Day, user, operation, entity and count, as a store tells them."""

_ROWS: Final = 50_000


def put(file: Path, realm: str, counts: Iterable[Count]) -> None:
    """Writes the counts of a realm."""
    left = iter(counts)
    with pq.ParquetWriter(file, USAGE_COLUMNS, compression="zstd") as writer:
        while rows := list(islice(left, _ROWS)):
            cells = [(day, realm, user, act, *entity, n) for day, user, act, entity, n in rows]
            columns = zip(*cells, strict=True)
            arrays = [pa.array(c, f.type) for c, f in zip(columns, USAGE_COLUMNS, strict=True)]
            writer.write_table(pa.table(arrays, schema=USAGE_COLUMNS))
