"""The rows of findings that blocks produce for a review, and their kinds."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lakewarden.pipeline import parquet_output

FINDINGS: Final = (
    "what int, type string, matter int, key binary, n long, id long, bits binary, text string,"
    " container string, owners array<int>, keys array<binary>, counts array<long>,"
    " users binary, every binary, people array<binary>, statements array<string>"
)
"""Rows of ten kinds.

    RESIDUE   key, text
    CLASS     type, matter, key, n, id = the first entity, bits = the entities, by block
    GAINS     type, matter, owners = users, counts = how many entities by owning, or being, them
    ASSET     id, type, text = name, container, owners; keys, counts and people (keys) by way
    CENSUS    type, n
    GONE      id = a user who was removed
    GROUP     like CLASS, for a matter of too many classes: container; users and every = the users
              allowed on any, and on all, of the entities; keys = the residues that occur
    MOST      like GAINS, for a matter of too many classes: upper bounds of the numbers
    PEOPLE    key, n = how many users, owners = the first of them
    COLUMN    id, type, text = name, container = its table, statements = the masks on it;
              people (keys) = who reads its values, and who reads them masked
"""

_ARROW = pa.schema(
    [
        ("what", pa.int32()),
        ("type", pa.string()),
        ("matter", pa.int32()),
        ("key", pa.binary()),
        ("n", pa.int64()),
        ("id", pa.int64()),
        ("bits", pa.binary()),
        ("text", pa.string()),
        ("container", pa.string()),
        ("owners", pa.list_(pa.int32())),
        ("keys", pa.list_(pa.binary())),
        ("counts", pa.list_(pa.int64())),
        ("users", pa.binary()),
        ("every", pa.binary()),
        ("people", pa.list_(pa.binary())),
        ("statements", pa.list_(pa.string())),
    ]
)

RESIDUE: Final = 0
CLASS: Final = 1
GAINS: Final = 2
ASSET: Final = 3
CENSUS: Final = 4
GONE: Final = 5
GROUP: Final = 6
MOST: Final = 7
PEOPLE: Final = 8
COLUMN: Final = 9


def batch(**columns: Any) -> pa.RecordBatch:
    """A batch in which columns that are not given are null."""
    return parquet_output.batch(_ARROW, **columns)


def one_list(values: NDArray[Any]) -> pa.Array:
    """One row: the list of all values."""
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), pa.array(values))


def lists(columns: list[pa.Array], type: pa.DataType) -> pa.Array:
    """Several columns of equal length as one column of lists."""
    size, width = len(columns[0]), len(columns)
    order = np.arange(size * width).reshape(width, size).T.reshape(-1)
    flat = pa.concat_arrays(columns).take(pa.array(order))
    offsets = pa.array(np.arange(size + 1, dtype=np.int32) * width)
    return pa.ListArray.from_arrays(offsets, flat.cast(type))
