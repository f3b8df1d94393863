"""Columns of Arrow tables as arrays of numpy, without a Python object for each cell.

Reads the buffers directly: pyarrow's conversion to numpy imports pandas, which takes longer than
everything that is read here.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.storage.files import parquet_files
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.parquet import parquet_file

Ints = NDArray[np.int32]

_NO_INTS: Ints = np.zeros(0, dtype=np.int32)


def read(folder: Location, *columns: str) -> pa.Table:
    """Columns of a table of one or more files. Raises `BadInput` if there is no file."""
    parts = []
    for file in parquet_files(folder):
        with parquet_file(file) as parquet:
            parts.append(parquet.read(list(columns)))
    if not parts:
        raise BadInput("is not whole; rebuild the index", where=str(folder))
    return pa.concat_tables(parts)


def ints(column: pa.ChunkedArray | pa.Array) -> Ints:
    """The cells as numbers of 32 bits, or of 64 if the column has so many; no cell is null."""
    return np.concatenate([_NO_INTS, *map(_ints, _chunks(column))])


def flags(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """The cells as booleans; none is null."""
    arrays = [np.zeros(0, dtype=np.bool_), *map(_flags, _chunks(column))]
    return np.concatenate(arrays)


def encoded(column: pa.ChunkedArray) -> tuple[list[str], Ints]:
    """Distinct texts, and for each row the index of its text; some texts may be unused."""
    if pa.types.is_dictionary(column.type):
        unified = column.unify_dictionaries()
        chunks = _chunks(unified)
        texts = chunks[0].dictionary.to_pylist() if chunks else []
        return texts, np.concatenate([_NO_INTS, *(_ints(chunk.indices) for chunk in chunks)])
    dictionary = column.combine_chunks().dictionary_encode()
    return dictionary.dictionary.to_pylist(), ints(dictionary.indices)


def numbered(column: pa.ChunkedArray, numbers: Mapping[str, int]) -> Ints:
    """The number of each text. Raises `BadInput` for a text without a number."""
    texts, places = encoded(column)
    table = np.array([numbers.get(text, -1) for text in texts], dtype=np.int32)
    values: Ints = table[places] if len(places) else _NO_INTS
    if (values < 0).any():
        unknown = texts[int(places[int(np.argmin(values))])]
        raise BadInput(f"`{unknown}` is unknown; rebuild the index")
    return values


def _chunks(column: pa.ChunkedArray | pa.Array) -> list[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _ints(cells: pa.Array) -> Ints:
    if not len(cells):
        return _NO_INTS
    kind = np.dtype(cells.type.to_pandas_dtype())
    return np.frombuffer(cells.buffers()[1], kind, len(cells), cells.offset * kind.itemsize)


def _flags(cells: pa.Array) -> NDArray[np.bool_]:
    if not len(cells):
        return np.zeros(0, dtype=np.bool_)
    bits = np.unpackbits(np.frombuffer(cells.buffers()[1], np.uint8), bitorder="little")
    return bits[cells.offset : cells.offset + len(cells)].astype(np.bool_)
