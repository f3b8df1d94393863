"""One privilege of one role set, by class or by bitmap: both forms agree."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from lakewarden.kernel.cells import ALLOWED, DENIED, OWNERS, by_bitmap, by_class, is_one_of
from lakewarden.kernel.classes import partition

SETS = st.lists(st.sets(st.integers(0, 19)), min_size=1, max_size=5)


@given(SETS, st.lists(st.integers(0, 4), max_size=6), st.lists(st.integers(0, 4), max_size=3))
def test_both_forms_give_every_entity_the_same_bits(
    sets: list[set[int]], allowed: list[int], owners: list[int]
) -> None:
    scopes = {n: BitMap(found) for n, found in enumerate(sets)}
    classes = partition(20, scopes, 1_000)
    assert classes is not None
    layers = [
        (ALLOWED, [n for n in allowed if n in scopes]),
        (DENIED, []),
        (OWNERS, [n for n in owners if n in scopes]),
    ]
    one, other = by_class(classes, layers), by_bitmap(tuple(scopes.values()), layers)
    ids = np.arange(-1, 20, dtype=np.int32)
    assert one.flags_of(ids).tolist() == other.flags_of(ids).tolist()
    assert [one.at(id) for id in range(20)] == [other.at(id) for id in range(20)]
    assert one.flags_of(ids)[0] == 0
    assert min(one.size, other.size) >= 0


def test_membership_of_many_ids() -> None:
    ids = np.array([-1, 3, 9, 1], dtype=np.int32)
    assert is_one_of(ids, BitMap([3, 4])).tolist() == [False, True, False, False]
    assert is_one_of(ids, BitMap()).tolist() == [False] * 4


def test_the_first_id_has_cells_too_and_what_is_no_id_has_none() -> None:
    scopes = {0: BitMap([0]), 1: BitMap([1, 2])}
    classes = partition(3, scopes, 10)
    assert classes is not None
    layers = [(ALLOWED, [0]), (DENIED, [1]), (OWNERS, [0, 1])]
    ids = np.array([0, 1, 2, -1], dtype=np.int32)
    expected = [ALLOWED | OWNERS, DENIED | OWNERS, DENIED | OWNERS, 0]
    assert by_class(classes, layers).flags_of(ids).tolist() == expected
    assert by_bitmap(tuple(scopes.values()), layers).flags_of(ids).tolist() == expected


def test_the_last_byte_of_a_row_stands_for_no_entity() -> None:
    classes = partition(3, {0: BitMap([0, 1, 2]), 1: BitMap([2])}, 10)
    assert classes is not None
    row = by_class(classes, [(ALLOWED, [0])]).row
    assert row.tolist() == [ALLOWED] * classes.count + [0]
