"""Edges in compressed rows, with changed sources as an overlay."""

from __future__ import annotations

import numpy as np
from pyroaring import BitMap

from lakewarden.kernel.edges import Edges

EDGES = Edges.build(4, [(0, 7, 0), (2, 8, 1), (2, 7, 0), (2, 7, 0)])
CHANGED = EDGES.replaced(0, [(9, 2)]).replaced(5, [(7, 0), (8, 0)]).replaced(3, [])


def flat(edges: Edges, *sources: int) -> list[tuple[int, int, int]]:
    positions, targets, labels = edges.flat(np.array(sources, dtype=np.int32))
    return list(zip(positions.tolist(), targets.tolist(), labels.tolist(), strict=True))


def test_a_source_has_its_pairs_once_and_in_order() -> None:
    assert EDGES.of(2) == ((7, 0), (8, 1))
    assert EDGES.of(1) == ()
    assert EDGES.of(99) == ()


def test_replacing_a_source_leaves_the_others_and_the_original_alone() -> None:
    assert CHANGED.of(0) == ((9, 2),)
    assert CHANGED.of(2) == EDGES.of(2)
    assert CHANGED.of(5) == ((7, 0), (8, 0))
    assert EDGES.of(0) == ((7, 0),)


def test_pairs_of_many_sources_at_once_are_those_of_each() -> None:
    for edges in (EDGES, CHANGED):
        sources = (2, 1, 0, 5, 2, 3, 99)
        each = [(p, t, n) for p, s in enumerate(sources) for t, n in edges.of(s)]
        assert flat(edges, *sources) == each


def test_sources_are_found_by_their_targets_whether_these_are_ordered_or_not() -> None:
    ordered = EDGES.ordered().replaced(0, [(9, 2)]).replaced(5, [(7, 0), (8, 0)]).replaced(3, [])
    for edges in (EDGES, EDGES.ordered()):
        assert edges.sources_of(BitMap([7])) == BitMap([0, 2])
        assert edges.sources_of(BitMap([6, 7, 8, 9])) == BitMap([0, 2])
        assert edges.sources_of(BitMap()) == BitMap()
    for edges in (CHANGED, ordered):
        assert edges.sources_of(BitMap([7])) == BitMap([2, 5])
        assert edges.sources_of(BitMap([9])) == BitMap([0])
    assert Edges.build(3, []).ordered().sources_of(BitMap([1])) == BitMap()


def test_the_inverse_lists_every_target() -> None:
    assert EDGES.inverted() == {7: BitMap([0, 2]), 8: BitMap([2])}
    assert CHANGED.inverted() == {7: BitMap([2, 5]), 8: BitMap([2, 5]), 9: BitMap([0])}
    assert Edges.build(3, []).inverted() == {}


def test_sources_with_one_pair_each_have_one_each_when_asked_together() -> None:
    edges = Edges.build(3, [(0, 7, 0), (1, 8, 0), (2, 9, 0)])
    assert flat(edges, 1, 2) == [(0, 8, 0), (1, 9, 0)]
