"""Row digests without Spark: Spark's `xxhash64` over Arrow tables, cell by cell the same.

Rows are hashed side by side: a column of numbers in some operations of numpy, texts, bytes and
lists step by step, so many steps as the longest one takes.

Source: XXH64 (https://xxhash.com), chained from column to column as
`org.apache.spark.sql.catalyst.expressions.XxHash64` does; a null leaves the digest as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lakewarden.pipeline.index.columns import flags, ints

Words = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]

SEED: Final = 42
"""Where Spark begins."""

OTHER: Final = "other"
"""The text that stands before the cells of each row in the second digest."""

_MASK: Final = (1 << 64) - 1
_P1, _P2, _P3, _P4, _P5 = map(
    np.uint64,
    (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    ),
)
_STRIPE: Final = 32
_WORD: Final = 8
_HALF: Final = 4


def row_digests(table: pa.Table, first: str | None = None) -> Words:
    """For each row Spark's `xxhash64` of its cells; `first` is a text hashed before them.

    Columns are of booleans, integers, texts, bytes, and lists of these. Raises `TypeError` for
    a column of another type.
    """
    seeds = np.full(table.num_rows, SEED, dtype=np.uint64)
    if first is not None:
        seeds = _hashed(pa.repeat(pa.scalar(first), table.num_rows), seeds)
    for column in table.columns:
        seeds = _of_chunks(column, seeds)
    return seeds


def totals(table: pa.Table) -> tuple[int, int]:
    """The sum of the row digests, and the exclusive or of the second ones; of 64 bits each."""
    total = int(np.add.reduce(row_digests(table), initial=np.uint64(0)))
    other = int(np.bitwise_xor.reduce(row_digests(table, OTHER), initial=np.uint64(0)))
    return total & _MASK, other & _MASK


def _of_chunks(column: pa.ChunkedArray, seeds: Words) -> Words:
    found = seeds.copy()
    at = 0
    for chunk in column.chunks:
        found[at : at + len(chunk)] = _hashed(chunk, seeds[at : at + len(chunk)])
        at += len(chunk)
    return found


def _hashed(cells: pa.Array, seeds: Words) -> Words:
    """The digests with one more cell each."""
    if not cells.null_count:
        return _valid(cells, seeds)
    found = seeds.copy()
    here = np.flatnonzero(flags(pa.chunked_array([cells.is_valid()])))
    found[here] = _valid(cells.drop_null(), seeds[here])
    return found


def _valid(cells: pa.Array, seeds: Words) -> Words:
    if not len(cells):
        return seeds
    kind = cells.type
    if pa.types.is_dictionary(kind):
        cells, kind = cells.dictionary_decode(), kind.value_type
    if pa.types.is_boolean(kind) or pa.types.is_int32(kind):
        return _ints(ints(cells.cast(pa.int32())), seeds)
    if pa.types.is_int64(kind):
        return _longs(np.frombuffer(cells.buffers()[1], np.uint64)[cells.offset :], seeds)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _texts(cells, seeds)
    if pa.types.is_list(kind):
        return _lists(cells, seeds)
    raise TypeError(f"a column of the type `{kind}` has no digest")


def _rotated(words: Words, by: int) -> Words:
    return (words << np.uint64(by)) | (words >> np.uint64(64 - by))


def _mixed(words: Words) -> Words:
    """The last step of every digest."""
    words = (words ^ (words >> np.uint64(33))) * _P2
    words = (words ^ (words >> np.uint64(29))) * _P3
    return words ^ (words >> np.uint64(32))


def _with_half(found: Words, halves: Words) -> Words:
    return _rotated(found ^ (halves * _P1), 23) * _P2 + _P3


def _with_word(found: Words, words: Words) -> Words:
    return _rotated(found ^ (_rotated(words * _P2, 31) * _P1), 27) * _P1 + _P4


def _ints(cells: NDArray[np.int32], seeds: Words) -> Words:
    halves = cells.view(np.uint32).astype(np.uint64)
    return _mixed(_with_half(seeds + _P5 + np.uint64(_HALF), halves))


def _longs(cells: Words, seeds: Words) -> Words:
    return _mixed(_with_word(seeds + _P5 + np.uint64(_WORD), cells[: len(seeds)]))


# lists: the elements one after the other, of all rows that have so many


def _lists(cells: pa.Array, seeds: Words) -> Words:
    offsets = ints(cells.offsets).astype(np.int64)
    sizes = np.diff(offsets)
    order, found = _by_size(sizes, seeds)
    starts = offsets[:-1][order]
    for step, count in enumerate(_counts(sizes[order], 1)):
        elements = cells.values.take(pa.array(starts[:count] + step))
        found[:count] = _hashed(elements, found[:count])
    return _unsorted(order, found)


def _by_size(sizes: Places, seeds: Words) -> tuple[Places, Words]:
    """The rows, the largest first, so that those of so many steps are the first ones."""
    order = np.argsort(-sizes, kind="stable")
    return order, seeds[order]


def _unsorted(order: Places, found: Words) -> Words:
    whole = np.empty_like(found)
    whole[order] = found
    return whole


def _counts(sizes: Places, width: int) -> Iterable[int]:
    """How many rows have a first, a second, … whole step; sizes descend."""
    steps = sizes // width
    most = int(steps[0]) if len(steps) else 0
    # Of ascending negated steps, those below -n are the rows that have more than n.
    return np.searchsorted(-steps, -np.arange(most), side="left").tolist()


# texts and bytes


def _texts(cells: pa.Array, seeds: Words) -> Words:
    offsets, data = _buffers(cells)
    sizes = np.diff(offsets)
    order, seeds = _by_size(sizes, seeds)
    sizes, at = sizes[order], offsets[:-1][order]
    read = _reader(data)
    found = _striped(sizes, at, seeds, read) + sizes.astype(np.uint64)
    at = at + sizes // _STRIPE * _STRIPE
    left = sizes % _STRIPE
    for step in range(_STRIPE // _WORD - 1):
        here = np.flatnonzero(left >= (step + 1) * _WORD)
        words = read(at[here] + step * _WORD, _WORD)
        found[here] = _with_word(found[here], words)
    at, left = at + left // _WORD * _WORD, left % _WORD
    here = np.flatnonzero(left >= _HALF)
    found[here] = _with_half(found[here], read(at[here], _HALF))
    at, left = at + left // _HALF * _HALF, left % _HALF
    for step in range(_HALF - 1):
        here = np.flatnonzero(left > step)
        found[here] = _rotated(found[here] ^ (read(at[here] + step, 1) * _P5), 11) * _P1
    return _unsorted(order, _mixed(found))


def _striped(
    sizes: Places, at: Places, seeds: Words, read: Callable[[Places, int], Words]
) -> Words:
    """The digests behind the last stripe of 32 bytes; sizes descend."""
    found = seeds + _P5
    counts = list(_counts(sizes, _STRIPE))
    if not counts:
        return found
    long = counts[0]
    start = seeds[:long]
    lanes = [start + _P1 + _P2, start + _P2, start.copy(), start - _P1]
    for step, count in enumerate(counts):
        for place, lane in enumerate(lanes):
            words = read(at[:count] + (step * _STRIPE + place * _WORD), _WORD)
            lane[:count] = _rotated(lane[:count] + words * _P2, 31) * _P1
    joined = sum(
        (_rotated(lane, by) for lane, by in zip(lanes[1:], (7, 12, 18), strict=True)),
        _rotated(lanes[0], 1),
    )
    for lane in lanes:
        joined = (joined ^ (_rotated(lane * _P2, 31) * _P1)) * _P1 + _P4
    found[:long] = joined
    return found


def _reader(data: Bytes) -> Callable[[Places, int], Words]:
    """Reads little-endian numbers of so many bytes from wherever they begin."""
    kinds = {_WORD: np.dtype("<u8"), _HALF: np.dtype("<u4"), 1: np.dtype("u1")}

    def read(at: Places, width: int) -> Words:
        kind = kinds[width]
        if not len(at):
            return np.zeros(0, dtype=np.uint64)
        # Unaligned numbers that overlap, one at each byte: what is taken of them is a copy.
        every = np.ndarray((len(data) - width + 1,), kind, data, strides=(1,))
        return every[at].astype(np.uint64)

    return read


def _buffers(cells: pa.Array) -> tuple[Places, Bytes]:
    """Where each text begins and ends, and the bytes of all."""
    _, offsets, data = cells.buffers()
    size = len(cells)
    ends = np.frombuffer(offsets, np.int32, size + 1, cells.offset * _HALF).astype(np.int64)
    content = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return ends, content
