"""Classes: entities in exactly the same scopes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from lakewarden.kernel.classes import Partition, joint, partition, reclassified

SIZE = 40
SCOPES = st.lists(
    st.one_of(
        st.sets(st.integers(0, SIZE - 1)),
        st.tuples(st.integers(0, SIZE), st.integers(0, SIZE)).map(lambda p: set(range(*p))),
    ),
    max_size=8,
)


def bitmaps(scopes: list[set[int]]) -> dict[int, BitMap]:
    return {number: BitMap(scope) for number, scope in enumerate(scopes)}


def check(classes: Partition, scopes: dict[int, BitMap], size: int = SIZE) -> None:
    for id in range(size):
        held = {number for number, scope in scopes.items() if id in scope}
        assert set(classes.inside[int(classes.classes[id])]) == held
        assert classes.view[id] == classes.classes[id]
    for number in scopes:
        inside = {c for c in range(classes.count) if number in classes.inside[c]}
        assert set(classes.within.get(number, np.array([])).tolist()) == inside


def made(size: int, scopes: dict[int, BitMap], start: Partition | None = None) -> Partition:
    found = partition(size, scopes, 10_000, start)
    assert found is not None
    return found


@given(SCOPES)
def test_a_class_lies_in_the_scopes_that_its_members_lie_in(scopes: list[set[int]]) -> None:
    check(made(SIZE, bitmaps(scopes)), bitmaps(scopes))


@given(SCOPES, SCOPES)
def test_splitting_further_is_the_same_as_all_at_once(
    first: list[set[int]], second: list[set[int]]
) -> None:
    everything = bitmaps([*first, *second])
    before = made(SIZE, bitmaps(first))
    after = made(SIZE, {n: everything[n] for n in range(len(first), len(everything))}, before)
    check(after, everything)
    for number in range(before.count, after.count):
        assert 0 <= after.origin[number] < number


@given(SCOPES, st.sets(st.integers(0, SIZE + 3)), SCOPES)
def test_entities_that_change_scopes_change_class(
    scopes: list[set[int]], moved: set[int], later: list[set[int]]
) -> None:
    before = made(SIZE, bitmaps(scopes))
    moved = moved | set(range(SIZE, SIZE + 4))
    now = {
        n: (BitMap(scope) - BitMap(moved))
        | (BitMap(later[n] if n < len(later) else ()) & BitMap(moved))
        for n, scope in enumerate(scopes)
    }
    after = reclassified(before, SIZE + 4, BitMap(moved), now, 10_000)
    assert after is not None
    check(after, now, SIZE + 4)


def test_too_many_classes_are_none() -> None:
    scopes = {n: BitMap([n]) for n in range(10)}
    assert partition(SIZE, scopes, 5) is None
    few = made(SIZE, {0: BitMap([0])})
    assert reclassified(few, SIZE, BitMap([3]), {0: BitMap([0, 3])}, 2) is not None
    many = made(SIZE, {0: BitMap([0]), 1: BitMap([1])})
    assert reclassified(many, SIZE, BitMap([3]), {0: BitMap([3]), 1: BitMap([3])}, 3) is None


def test_joint_classes_stand_for_their_parts() -> None:
    left = np.array([0, 1, 1, -1, 0], dtype=np.int64)
    right = np.array([2, 2, 2, 0, 2], dtype=np.int64)
    classes, combos = joint([left, right])
    assert classes[0] == classes[4]
    assert len(combos) == 3
    for row, number in enumerate(classes.tolist()):
        assert combos[number].tolist() == [left[row], right[row]]


def test_a_class_that_lies_wholly_in_a_scope_is_not_split() -> None:
    assert made(2, bitmaps([{0}, {0}])).count == 2
    assert made(3, bitmaps([{0, 1}, {0, 1}, {1}, {1}])).count == 3
    assert made(3, bitmaps([{0, 1, 2}])).count == 1


def test_a_scope_with_gaps_holds_nothing_between_them() -> None:
    for scope in ({0, 3}, {0, 2}, {1, 4}, {0, 1, 3}, {2, 3}):
        check(made(5, bitmaps([scope])), bitmaps([scope]), 5)
