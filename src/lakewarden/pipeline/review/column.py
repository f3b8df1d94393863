"""Columns of codes: for each entity a code, and for each code its meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lakewarden.pipeline.review.residue import NOBODY

Ids = NDArray[np.int32]
Codes = NDArray[np.int64]

_DENSE = 1 << 17
"""Up to this many pairs of codes are counted in a table instead of sorted."""


@dataclass(frozen=True, slots=True)
class Column:
    """For each entity a code, and for each code its residue number."""

    codes: Codes
    of: tuple[int, ...]

    def take(self, places: Ids) -> Column:
        """The column at other places; nobody for a missing place (-1)."""
        absent = places < 0
        if not absent.any():
            return Column(self.codes[places], self.of)
        codes = np.where(absent, len(self.of), self.codes[places] if len(self.codes) else 0)
        return Column(codes, (*self.of, NOBODY))


def column_of(codes: Codes, numbers: Sequence[int]) -> Column:
    """A column in which every residue occurs once."""
    if len(set(numbers)) == len(numbers):
        return Column(codes, tuple(numbers))
    distinct = list(dict.fromkeys(numbers))
    places = {number: place for place, number in enumerate(distinct)}
    table = np.array([places[number] for number in numbers], dtype=np.int64)
    return Column(table[codes], tuple(distinct))


def joined(columns: Sequence[tuple[Codes, int]]) -> tuple[Codes, Codes]:
    """Codes of the combinations of several columns, and the combination of each code, as rows."""
    codes, width = columns[0]
    stands = np.arange(width, dtype=np.int64).reshape(-1, 1)
    codes, stands = _compact(codes, stands)
    for more, count in columns[1:]:
        keys = codes * count + more
        places, numbers = distinct(keys, len(stands) * count)
        left, right = np.divmod(places, count)
        stands = np.column_stack([stands[left], right])
        codes = numbers
    return codes, stands


def _compact(codes: Codes, stands: Codes) -> tuple[Codes, Codes]:
    places, numbers = distinct(codes, len(stands))
    return numbers, stands[places]


def distinct(keys: Codes, width: int) -> tuple[Codes, Codes]:
    """The distinct keys, all below `width`, in order; and for each row its key's index."""
    if width > max(_DENSE, 4 * len(keys)):
        values, numbers = np.unique(keys, return_inverse=True)
        return values.astype(np.int64), numbers.reshape(-1).astype(np.int64)
    occurs = np.zeros(width, dtype=bool)
    occurs[keys] = True
    places = np.flatnonzero(occurs)
    table = np.zeros(width, dtype=np.int64)
    table[places] = np.arange(len(places))
    return places, table[keys]


def small(count: int) -> type[np.unsignedinteger[Any]]:
    """The type for numbers below `count`: short ones are sorted many times faster."""
    return np.uint16 if count <= 1 << 16 else np.uint32
