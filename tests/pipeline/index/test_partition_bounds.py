"""Partitions of leaves: even, and inside a container only if it holds more than a partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lakewarden.pipeline.index.numbering import Weight, cuts, last_gap, part_of, weights
from lakewarden.pipeline.index.preorder import TOP, Containers, sequence

# `b` lies in `a`, `c` next to it: gaps before and after each.
ORDER = sequence(Containers(["d"] * 3, ["a", "b", "c"], np.array([TOP, 0, TOP])))


def test_only_what_holds_more_than_a_part_is_sampled_and_its_leaves_are_spread() -> None:
    asked: list[int] = []

    def sample(large: Sequence[int]) -> Iterator[tuple[int, str, str]]:
        asked.extend(large)
        return iter([(0, "a1", "t"), (0, "b2", "t")])

    found = list(weights(ORDER, [0, 10, 3, 0], 5, sample))
    assert asked == [0]
    before, behind = ORDER.gap(0, "a1", "t"), ORDER.gap(0, "b2", "t")
    assert before < last_gap(ORDER, 1) < behind
    assert found == [(before, "a1", 5.0), (behind, "b2", 5.0), (last_gap(ORDER, 1), "", 3.0)]


def test_a_container_of_which_no_row_was_sampled_counts_as_a_whole() -> None:
    found = list(weights(ORDER, [9, 0, 0, 0], 5, lambda _: ()))
    assert found == [(last_gap(ORDER, TOP), "", 9.0)]


def test_parts_are_even_ascending_and_told_apart_by_gap_and_name() -> None:
    names = [f"n{number:03}" for number in range(100)]
    made = cuts([Weight(1, "", 100.0), *(Weight(3, name, 2.0) for name in names)], 3)
    assert made == [(3, "n000"), (3, "n050")]
    assert [part_of(made, *at) for at in ((1, "z"), (3, "n000"), (3, "n049"), (3, "n050"))] == [
        *(0, 1, 1, 2)
    ]


def test_what_cannot_be_cut_stays_in_one_part() -> None:
    assert cuts([Weight(4, "", 1000.0)], 8) == []
    assert cuts([Weight(4, "", 1000.0), Weight(7, "", 1.0)], 8) == [(7, "")]
