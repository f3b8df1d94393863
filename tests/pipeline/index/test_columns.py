"""Columns are read from their buffers, for all chunks and slices."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.index.columns import encoded, flags, ints, numbered


def pieces(cells: list[object], type: pa.DataType, seed: int) -> pa.ChunkedArray:
    """The cells as chunks that are slices of longer arrays, some of them empty."""
    rng, chunks = random.Random(seed), list[pa.Array]()
    while cells or not chunks:
        size = rng.randint(0, len(cells))
        before = rng.randint(0, 9)
        part = [*cells[:1] * before, *cells[:size], *cells[:1]]
        chunks.append(pa.array(part, type).slice(before if cells else 0, size))
        cells = cells[size:]
    return pa.chunked_array(chunks, type)


seeds = st.integers(0, 2**32 - 1)


@given(cells=st.lists(st.integers(-(2**31), 2**31 - 1)), seed=seeds)
def test_numbers(cells: list[object], seed: int) -> None:
    assert ints(pieces(cells, pa.int32(), seed)).tolist() == cells


@given(cells=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), seed=seeds)
def test_numbers_of_64_bits(cells: list[object], seed: int) -> None:
    assert ints(pieces(cells, pa.int64(), seed)).tolist() == cells


@given(cells=st.lists(st.booleans()), seed=seeds)
def test_truths(cells: list[object], seed: int) -> None:
    assert flags(pieces(cells, pa.bool_(), seed)).tolist() == cells


@pytest.mark.parametrize("type", [pa.string(), pa.dictionary(pa.int32(), pa.string())])
@given(cells=st.lists(st.sampled_from(["", "a", "é", "table"])), seed=seeds)
def test_texts(type: pa.DataType, cells: list[object], seed: int) -> None:
    texts, places = encoded(pieces(cells, type, seed))
    assert [texts[place] for place in places.tolist()] == cells
    assert len(set(texts)) == len(texts)
    known = {text: number for number, text in enumerate(sorted({str(cell) for cell in cells}))}
    found = numbered(pieces(cells, type, seed), known)
    assert found.tolist() == [known[str(cell)] for cell in cells]


def test_a_text_that_has_no_number_is_refused_by_name() -> None:
    with pytest.raises(BadInput, match="`nobody` is unknown; rebuild the index"):
        numbered(pa.chunked_array([["a", "nobody"]]), {"a": 0})


def test_a_text_of_no_row_needs_no_number() -> None:
    whole = pa.array(["a", "owner"]).dictionary_encode()
    assert numbered(pa.chunked_array([whole.slice(0, 1)]), {"a": 7}).tolist() == [7]
