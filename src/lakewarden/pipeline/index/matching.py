"""Which entities lie in which scope: the kernel's own matching, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from lakewarden.pipeline.index.id_space import Bits
from lakewarden.pipeline.index.task_context import CompiledBlock

MATCHES: Final = "scope int, block int, n long, bits binary"
"""The entities of a block in a scope, by their ids; `n` counts them."""

_ARROW = pa.schema(
    [("scope", pa.int32()), ("block", pa.int32()), ("n", pa.int64()), ("bits", pa.binary())]
)


def matches(compiled_block: CompiledBlock) -> Iterator[pa.RecordBatch]:
    """The scopes that contain entities of the block; the columns are `MATCHES`."""
    numbered_rows = (
        (number, compiled_block.block.everywhere(rows))
        for number, rows in enumerate(compiled_block.bitmaps)
    )
    nonempty = [(number, rows) for number, rows in numbered_rows if rows]
    columns = [
        pa.array([number for number, _ in nonempty], pa.int32()),
        pa.array([compiled_block.number] * len(nonempty), pa.int32()),
        pa.array([len(rows) for _, rows in nonempty], pa.int64()),
        pa.array([canonical(rows) for _, rows in nonempty], pa.binary()),
    ]
    yield pa.record_batch(columns, schema=_ARROW)


def canonical(rows: Bits) -> bytes:
    """The bitmap's bytes: equal for equal sets, independent of how they were built."""
    # Built from its members: where two encodings have equal size, the bitmap would keep its old
    # one.
    same = type(rows)(rows.to_array())
    same.run_optimize()
    return bytes(same.serialize())
