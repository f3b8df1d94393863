"""Row digests without Spark: Spark's `xxhash64` over Arrow tables, with the same result per cell.

Rows are hashed side by side. A column of numbers takes a few operations of numpy; texts, bytes and
lists are processed step by step, with as many steps as the longest value needs.

Source: XXH64 (https://xxhash.com), chained from column to column as
`org.apache.spark.sql.catalyst.expressions.XxHash64` does. A null leaves the digest unchanged, so
the null flags of cells and the number of elements of lists are appended to the cells of each row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lakewarden.pipeline.index.columns import flags, ints

Words = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
_Read = Callable[[Places, int], Words]
"""Reads numbers of a width in bytes, at the given places."""

_FIRST: Final[Places] = np.zeros(1, dtype=np.int64)

SEED: Final = 42
"""The seed that Spark uses."""

OTHER: Final = "other"
"""The text that precedes the cells of each row in the second digest."""

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


def row_digests(table: pa.Table) -> Words:
    """Two digests for each row: of its cells, and of `OTHER` followed by its cells.

    A digest is Spark's `xxhash64` of the cells, then of a number whose bits say which cells are
    null (the lowest bit is the first column), and then of the number of elements of each list, 0
    for null. Columns may be booleans, integers, texts, bytes, and lists of these. Raises
    `TypeError` for other types. The first axis of the result is the digest, the second the row.
    """
    lists = [column for column in table.columns if pa.types.is_list(column.type)]
    sizes = [pc.fill_null(pc.list_value_length(column), 0) for column in lists]
    return xxhash64([*table.columns, _nulls(table), *sizes], table.num_rows)


def xxhash64(columns: Sequence[pa.ChunkedArray], rows: int) -> Words:
    """Spark's `xxhash64` of these columns, and the same after `OTHER`; see `row_digests`."""
    start = np.full((1, 1), SEED, dtype=np.uint64)
    other = _hashed(_Cells.of(pa.array([OTHER])), start, _FIRST)
    seeds = np.repeat(np.concatenate([start, other]), rows, axis=1)
    for column in columns:
        at = 0
        for chunk in column.chunks:
            seeds[:, at : at + len(chunk)] = _with_cells(chunk, seeds[:, at : at + len(chunk)])
            at += len(chunk)
    return seeds


def _nulls(table: pa.Table) -> pa.ChunkedArray:
    """Which cells of each row are null, as bits of a number."""
    bits = np.zeros(table.num_rows, np.int64)
    for place, column in enumerate(table.columns):
        if column.null_count:
            bits |= flags(column.is_null()).astype(np.int64) << place
    return pa.chunked_array([pa.array(bits)])


def totals(table: pa.Table) -> tuple[int, int]:
    """The sum of the first row digests, and the exclusive or of the second; 64 bits each."""
    first, second = row_digests(table)
    total = np.add.reduce(first, initial=np.uint64(0))
    return int(total), int(np.bitwise_xor.reduce(second, initial=np.uint64(0)))


@dataclass(frozen=True, slots=True)
class _Cells:
    """Cells of a column as they lie in memory; a cell whose `valid` is false is null.

    Numbers are in `numbers`; `wide` says that they have 64 bits. For texts and bytes, `offsets` are
    the start and end of each in `data`.
    """

    size: int
    valid: NDArray[np.bool_] | None
    numbers: Words | None = None
    wide: bool = False
    offsets: Places | None = None
    data: Bytes | None = None

    @staticmethod
    def of(cells: pa.Array) -> _Cells:
        kind, size = cells.type, len(cells)
        valid = flags(pa.chunked_array([cells.is_valid()])) if cells.null_count else None
        if pa.types.is_boolean(kind) or pa.types.is_int32(kind):
            halves = ints(cells.cast(pa.int32())).view(np.uint32)
            return _Cells(size, valid, halves.astype(np.uint64))
        if pa.types.is_int64(kind):
            words = np.frombuffer(cells.buffers()[1] or b"", np.uint64)
            return _Cells(size, valid, words[cells.offset : cells.offset + size], wide=True)
        if pa.types.is_string(kind) or pa.types.is_binary(kind):
            return _Cells(size, valid, offsets=_ends(cells, 1), data=_bytes(cells.buffers()[2]))
        raise TypeError(f"a column of the type `{kind}` has no digest")


def _with_cells(cells: pa.Array, seeds: Words) -> Words:
    """The digests, extended by one more cell each."""
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if not pa.types.is_list(cells.type):
        return _hashed(_Cells.of(cells), seeds, np.arange(len(cells)))
    return _lists(cells, seeds)


def _hashed(cells: _Cells, seeds: Words, places: Places) -> Words:
    """The digests, extended by the cells at the given places."""
    if cells.valid is None:
        return _valid(cells, seeds, places)
    valid_rows = np.flatnonzero(cells.valid[places])
    hashes = seeds.copy()
    hashes[:, valid_rows] = _valid(cells, seeds[:, valid_rows], places[valid_rows])
    return hashes


def _valid(cells: _Cells, seeds: Words, places: Places) -> Words:
    if not len(places):
        return seeds
    if cells.numbers is None:
        assert cells.offsets is not None  # noqa: S101 — INVARIANT: no numbers, so texts
        assert cells.data is not None  # noqa: S101 — INVARIANT: as above
        at = cells.offsets[places]
        return _texts(at, cells.offsets[places + 1] - at, seeds, _reader(cells.data))
    numbers = cells.numbers[places]
    if cells.wide:
        return _mixed(_with_word(seeds + _P5 + np.uint64(_WORD), numbers))
    return _mixed(_with_half(seeds + _P5 + np.uint64(_HALF), numbers))


def _rotated(words: Words, by: int) -> Words:
    return (words << np.uint64(by)) | (words >> np.uint64(64 - by))


def _mixed(words: Words) -> Words:
    """The last step of every digest (avalanche)."""
    words = (words ^ (words >> np.uint64(33))) * _P2
    words = (words ^ (words >> np.uint64(29))) * _P3
    return words ^ (words >> np.uint64(32))


def _with_half(hashes: Words, halves: Words) -> Words:
    return _rotated(hashes ^ (halves * _P1), 23) * _P2 + _P3


def _with_word(hashes: Words, words: Words) -> Words:
    return _rotated(hashes ^ (_rotated(words * _P2, 31) * _P1), 27) * _P1 + _P4


# lists: element by element, over all rows that have that many elements


def _lists(cells: pa.ListArray, seeds: Words) -> Words:
    offsets = _ends(cells, 1)
    elements, codes = _elements(cells.values)
    sizes = np.diff(offsets)
    if cells.null_count:
        sizes[~flags(pa.chunked_array([cells.is_valid()]))] = 0
    order, hashes = _by_size(sizes, seeds)
    starts = offsets[:-1][order]
    for step, count in enumerate(_counts(sizes[order], 1)):
        places = starts[:count] + step
        places = places if codes is None else codes[places]
        hashes[:, :count] = _hashed(elements, hashes[:, :count], places)
    return _unsorted(order, hashes)


def _elements(values: pa.Array) -> tuple[_Cells, Places | None]:
    """The elements of lists; if codes are returned, they map each place to its distinct element.

    Lists contain few texts many times: the distinct ones stay in the processor's cache.
    """
    if not pa.types.is_string(values.type):
        return _Cells.of(values), None
    encoded = values.dictionary_encode()
    texts = pa.concat_arrays([encoded.dictionary, pa.nulls(1, pa.string())])
    codes = ints(encoded.indices.fill_null(len(texts) - 1)).astype(np.int64)
    return _Cells.of(texts), codes


def _by_size(sizes: Places, seeds: Words) -> tuple[Places, Words]:
    """The rows, largest first: rows with at least so many steps form a prefix."""
    order = np.argsort(-sizes, kind="stable")
    return order, seeds[:, order]


def _unsorted(order: Places, hashes: Words) -> Words:
    unsorted = np.empty_like(hashes)
    unsorted[:, order] = hashes
    return unsorted


def _counts(sizes: Places, width: int) -> list[int]:
    """How many rows have a first, a second, … whole step; sizes descend."""
    steps = sizes // width
    longest = int(steps[0]) if len(steps) else 0
    # The negated steps ascend: those below -n belong to the rows that have more than n steps.
    counts: list[int] = np.searchsorted(-steps, -np.arange(longest), side="left").tolist()
    return counts


# texts and bytes


def _texts(at: Places, sizes: Places, seeds: Words, read: _Read) -> Words:
    """The digests, extended by one text each, whose positions are `at` and `sizes`."""
    longest = int(sizes.max())
    if longest < _STRIPE:
        hashes = seeds + (_P5 + sizes.astype(np.uint64))
    else:
        order, seeds = _by_size(sizes, seeds)
        hashes = _unsorted(order, _striped(sizes[order], at[order], seeds, read))
        hashes += sizes.astype(np.uint64)
        at = at + sizes // _STRIPE * _STRIPE
    left = sizes % _STRIPE
    for step in range(min(longest, _STRIPE - 1) // _WORD):
        longer = np.flatnonzero(left >= (step + 1) * _WORD)
        words = read(at[longer] + step * _WORD, _WORD)
        hashes[:, longer] = _with_word(hashes[:, longer], words)
    at, left = at + left // _WORD * _WORD, left % _WORD
    longer = np.flatnonzero(left >= _HALF)
    hashes[:, longer] = _with_half(hashes[:, longer], read(at[longer], _HALF))
    at, left = at + left // _HALF * _HALF, left % _HALF
    for step in range(_HALF - 1):
        longer = np.flatnonzero(left > step)
        byte = read(at[longer] + step, 1)
        hashes[:, longer] = _rotated(hashes[:, longer] ^ (byte * _P5), 11) * _P1
    return _mixed(hashes)


def _striped(sizes: Places, at: Places, seeds: Words, read: _Read) -> Words:
    """The digests after the last stripe of 32 bytes; sizes descend."""
    hashes = seeds + _P5
    counts = _counts(sizes, _STRIPE)
    long = counts[0]
    start = seeds[:, :long]
    lanes = [start + _P1 + _P2, start + _P2, start.copy(), start - _P1]
    for step, count in enumerate(counts):
        for place, lane in enumerate(lanes):
            words = read(at[:count] + (step * _STRIPE + place * _WORD), _WORD)
            lane[:, :count] = _rotated(lane[:, :count] + words * _P2, 31) * _P1
    joined = _rotated(lanes[0], 1)
    for lane, by in zip(lanes[1:], (7, 12, 18), strict=True):
        joined = joined + _rotated(lane, by)
    for lane in lanes:
        joined = (joined ^ (_rotated(lane * _P2, 31) * _P1)) * _P1 + _P4
    hashes[:, :long] = joined
    return hashes


def _reader(data: Bytes) -> _Read:
    """Reads little-endian numbers of a width in bytes from any offset."""
    kinds: dict[int, np.dtype[Any]] = {
        _WORD: np.dtype("<u8"),
        _HALF: np.dtype("<u4"),
        1: np.dtype("u1"),
    }

    def read(at: Places, width: int) -> Words:
        kind = kinds[width]
        if not len(at):
            return np.zeros(0, dtype=np.uint64)
        # Unaligned, overlapping numbers, one per byte offset: indexing makes a copy.
        every = np.ndarray((len(data) - width + 1,), kind, data, strides=(1,))
        return every[at].astype(np.uint64)

    return read


def _ends(cells: pa.Array, buffer: int) -> Places:
    """The start of each text or list, and the end of the last one."""
    content = cells.buffers()[buffer]
    if content is None:
        return np.zeros(1, dtype=np.int64)
    offsets = np.frombuffer(content, np.int32, len(cells) + 1, cells.offset * _HALF)
    return offsets.astype(np.int64)


def _bytes(buffer: pa.Buffer | None) -> Bytes:
    return np.zeros(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)
