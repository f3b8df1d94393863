"""Reuses matches of unchanged blocks: the same entities, under new ids and scope numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from itertools import groupby
from operator import or_
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 — the usual alias

from lakewarden.kernel.grants import Table
from lakewarden.kernel.scopes import Reaching
from lakewarden.kernel.statement import Where
from lakewarden.pipeline.index.id_space import Bits, IdWidth, within
from lakewarden.pipeline.index.matching import MATCHES, canonical, matches
from lakewarden.pipeline.index.task_context import CompiledBlock, TaskContext
from lakewarden.pipeline.stream.id_shift import Shift

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Batches = Iterator[pa.RecordBatch]

_ARROW: Final = pa.schema(
    [("scope", pa.int32()), ("block", pa.int32()), ("n", pa.int64()), ("bits", pa.binary())]
)
_MOST: Final = 4096
"""How many rows of matches a batch holds."""

Row = tuple[int, int, Bits]


def reused_scopes(before: Table, after: Table, *, regrouped: bool) -> Mapping[int, int]:
    """The scopes whose matches stay valid, as old number to new number.

    `regrouped`: group memberships changed, so scopes that depend on them are matched again.
    """
    fields = {name for name, f in after.model.fields.items() if f.origin == ("groups",)}
    return {
        number: after.numbers[scope]
        for number, scope in enumerate(before.scopes)
        if scope in after.numbers and not (regrouped and _asks(scope, fields))
    }


def _asks(reaching: Reaching, fields: set[str]) -> bool:
    scope = reaching.scope
    return isinstance(scope, Where) and any(
        criterion.field in fields for criterion in scope.criteria
    )


def renumbered(rows: DataFrame, scopes: Mapping[int, int]) -> DataFrame:
    """Matches with unchanged ids, under the new scope numbers; other scopes are left out."""

    def number(batches: Batches) -> Batches:
        for batch in batches:
            numbers = [scopes.get(scope) for scope in batch.column("scope").to_pylist()]
            place = batch.schema.get_field_index("scope")
            moved = batch.set_column(place, "scope", pa.array(numbers, pa.int32()))
            yield moved.filter(moved.column("scope").is_valid()).select(_ARROW.names)

    return rows.mapInArrow(number, MATCHES)


def moved(
    rows: DataFrame,
    scopes: Mapping[int, int],
    shift: Shift,
    clean: frozenset[int],
    context: TaskContext,
) -> DataFrame:
    """Matches of the blocks that are now `clean`, from the one or two old blocks of each."""
    bits, width = context.bits, context.space.width

    def split(batches: Batches) -> Batches:
        for batch in batches:
            cells = zip(*(batch.column(c).to_pylist() for c in ("scope", "bits")), strict=True)
            known = ((scopes[s], width.read_bitmap(b)) for s, b in cells if s in scopes)
            parts = (row for scope, ids in known for row in _split(scope, ids))
            yield from _batches(row for row in parts if row[1] in clean)

    def _split(scope: int, ids: Bits) -> Iterator[Row]:
        for block, part in parts(ids, shift, bits):
            yield scope, block, part

    pieces = rows.mapInArrow(split, MATCHES)
    ordered = pieces.repartitionById(context.blocks, "block")
    return ordered.sortWithinPartitions("block", "scope").mapInArrow(_joiner(width), MATCHES)


def parts(ids: Bits, shift: Shift, bits: int) -> Iterator[tuple[int, Bits]]:
    """The new ids of some old ids, by block; a block may occur more than once."""
    if not ids:
        return
    first = max(int(np.searchsorted(shift.starts, ids.min(), side="right")) - 1, 0)
    last = int(np.searchsorted(shift.starts, ids.max(), side="right"))
    for piece in range(first, last):
        start, stop = int(shift.starts[piece]), int(shift.stops[piece])
        to = int(shift.to[piece])
        shifted = within(ids, start, stop)
        if not shifted:
            continue
        shifted = shifted.shift(to - start)
        for block in range(shifted.min() >> bits, (shifted.max() >> bits) + 1):
            part = within(shifted, block << bits, (block + 1) << bits)
            if part:
                yield block, part


def _joiner(width: IdWidth) -> Callable[[Batches], Batches]:
    """Merges adjacent rows of one scope and block."""

    def rows(batches: Batches) -> Iterator[Row]:
        for batch in batches:
            columns = (batch.column(name).to_pylist() for name in ("scope", "block", "bits"))
            for scope, block, ids in zip(*columns, strict=True):
                yield scope, block, width.read_bitmap(ids)

    def join(batches: Batches) -> Batches:
        together = groupby(rows(batches), key=lambda row: row[:2])
        yield from _batches(
            (*key, reduce(or_, (ids for *_, ids in same))) for key, same in together
        )

    return join


def _batches(rows: Iterator[Row]) -> Batches:
    waiting: list[Row] = []
    for row in rows:
        waiting.append(row)
        if len(waiting) == _MOST:
            yield _batch(waiting)
            waiting = []
    if waiting:
        yield _batch(waiting)


def _batch(rows: list[Row]) -> pa.RecordBatch:
    columns = [
        pa.array([scope for scope, _, _ in rows], pa.int32()),
        pa.array([block for _, block, _ in rows], pa.int32()),
        pa.array([len(ids) for *_, ids in rows], pa.int64()),
        pa.array([canonical(ids) for *_, ids in rows], pa.binary()),
    ]
    return pa.record_batch(columns, schema=_ARROW)


def only(numbers: Mapping[Reaching, int]) -> Callable[[CompiledBlock], Iterator[pa.RecordBatch]]:
    """Judges blocks by these scopes only, under the given numbers."""

    def evaluate_block(compiled_block: CompiledBlock) -> Iterator[pa.RecordBatch]:
        scopes = compiled_block.table.scopes
        kept_numbers = {n: numbers[scope] for n, scope in enumerate(scopes) if scope in numbers}
        for batch in matches(compiled_block):
            own = [kept_numbers.get(number) for number in batch.column("scope").to_pylist()]
            renamed = batch.set_column(0, "scope", pa.array(own, pa.int32()))
            yield renamed.filter(renamed.column("scope").is_valid())

    return evaluate_block


def in_blocks(frame: DataFrame, blocks: frozenset[int]) -> DataFrame:
    """The rows of these blocks."""
    return frame.where(F.col("block").isin(sorted(blocks)))
