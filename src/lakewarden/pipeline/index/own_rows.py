"""The rows of an index without those of guests, by kind and in the order of their ids.

A block's rows are adjacent, ordered by kind and id, and its own ids are consecutive. The result
therefore consists of slices of the files; nothing is copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.index.block import ATTRIBUTE, EDGE, ENTITY, OWNER
from lakewarden.pipeline.index.columns import ints
from lakewarden.pipeline.storage.dataset import dataset
from lakewarden.pipeline.storage.files import parquet_files
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.parquet import parquet_file

_KINDS: Final = (ENTITY, EDGE, OWNER, ATTRIBUTE)
_COLUMNS: Final = ("id", "a", "b", "s", "t", "flag")


def own_rows(folder: Location, bits: int, count: int) -> Mapping[int, pa.Table]:
    """Rows by kind, see `lakewarden.pipeline.index.block.ROWS`; `s` is dictionary-encoded.

    Blocks hold 2 to the power of `bits` ids; `count` is the number of ids, which begin at 0. Raises
    `BadInput` if a block is missing.
    """
    parts_by_kind: dict[int, list[tuple[int, pa.Table]]] = {kind: [] for kind in _KINDS}
    for file in parquet_files(folder):
        with parquet_file(file, read_dictionary=["s"]) as parquet:
            table = parquet.read()
        selected = table.select(_COLUMNS)
        for parts in parts_by_kind.values():
            parts.append((-1, selected.slice(0, 0)))  # ensures one of each kind
        for kind, block, start, stop in _slices(table, bits):
            parts_by_kind[kind].append((block, selected.slice(start, stop - start)))
    rows = {kind: _joined(parts) for kind, parts in parts_by_kind.items() if parts}
    if not rows or not np.array_equal(ints(rows[ENTITY].column("id")), np.arange(count)):
        raise BadInput("is not whole; rebuild the index", where=str(folder))
    return rows


def own_where(
    folder: Location, bits: int, chosen: pc.Expression, columns: Sequence[str]
) -> pa.Table:
    """Columns of the selected rows, in any order, without those of guests."""
    rows = dataset(folder)
    names = list(dict.fromkeys(("block", "id", *columns)))
    matching = rows.to_table(columns=names, filter=chosen)
    is_own = pc.equal(pc.shift_right(matching.column("id"), bits), matching.column("block"))
    return matching.filter(is_own).select(list(columns))


def _joined(parts: list[tuple[int, pa.Table]]) -> pa.Table:
    """The parts in the order of their blocks."""
    return pa.concat_tables([part for _, part in sorted(parts, key=lambda part: part[0])])


def _slices(table: pa.Table, bits: int) -> Iterator[tuple[int, int, int, int]]:
    """Kind, block, and the start and end of own rows of that kind and block in the table."""
    blocks, kinds, ids = (ints(table.column(name)) for name in ("block", "what", "id"))
    cuts = np.flatnonzero(np.diff(blocks) | np.diff(kinds)) + 1
    edges = [0, *cuts.tolist(), len(ids)]
    for start, stop in pairwise(edges):
        if start < stop:
            block = int(blocks[start])
            own = np.searchsorted(ids[start:stop], (block << bits, (block + 1) << bits))
            first, last = (own + start).tolist()
            if first < last:
                yield int(kinds[start]), block, first, last
