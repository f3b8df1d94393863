"""The checker: linearizable histories pass, all others are detected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from tests.reliability.history import Operation, violations

W, R = True, False


def op(start: float, end: float, kind: bool, value: bool, client: int = 0) -> Operation:
    return Operation("k", client, start, end, kind, value)


def is_good(*operations: Operation) -> bool:
    return not violations(operations)


def test_what_came_one_after_the_other_is_explained() -> None:
    assert is_good()
    assert is_good(op(0, 1, R, False), op(2, 3, W, True), op(4, 5, R, True), op(6, 7, W, False))


def test_a_read_while_a_write_is_under_way_may_give_either_value() -> None:
    assert is_good(op(0, 9, W, True), op(1, 2, R, False), op(3, 4, R, True))
    assert is_good(op(0, 9, W, True), op(1, 5, R, True), op(2, 6, R, False))


def test_an_old_value_after_the_answer_to_a_write_is_found() -> None:
    history = [op(0, 1, W, True), op(2, 3, W, False, client=1), op(4, 5, R, True, client=2)]
    (found,) = violations(history)
    assert found.last == history[2]
    assert str(found) == (
        "k: client 2 read True, which no order explains (2 of 3 operations could be explained)"
    )


def test_a_new_value_and_then_the_old_one_is_found_while_the_write_is_under_way() -> None:
    assert not is_good(op(0, 9, W, True), op(1, 2, R, True), op(3, 4, R, False))


def test_a_value_that_nobody_wrote_is_found() -> None:
    assert not is_good(op(0, 1, R, True))
    assert not is_good(op(0, 1, R, True), op(2, 3, W, True))


def test_a_write_without_an_answer_may_come_late_or_never_but_not_twice() -> None:
    lost = op(0, math.inf, W, True)
    assert is_good(lost, op(1, 2, R, False))
    assert is_good(lost, op(1, 2, R, False), op(3, 4, R, True))
    assert not is_good(lost, op(1, 2, R, True), op(3, 4, W, False), op(5, 6, R, True))


def test_a_read_without_an_answer_says_nothing() -> None:
    assert is_good(op(0, math.inf, R, True))


def test_keys_are_judged_apart() -> None:
    good = op(0, 1, W, True)
    bad = op(0, 1, R, True)._replace(key="other")
    assert [found.key for found in violations([good, bad])] == ["other"]


def test_two_reads_that_need_two_orders_of_the_same_writes_are_found() -> None:
    """Both writes end before both reads begin, so one of them was the last."""
    writes = [op(0, 5, W, True), op(1, 6, W, False, client=1)]
    assert is_good(*writes, op(7, 8, R, True), op(9, 10, R, True))
    assert is_good(*writes, op(7, 8, R, False), op(9, 10, R, False))
    assert not is_good(*writes, op(7, 8, R, True), op(9, 10, R, False))


def explained(operations: Sequence[Operation]) -> bool:
    """The definition, by trying every order and every choice of unanswered writes."""
    answered = [each for each in operations if each.end < math.inf]
    lost = [each for each in operations if each.end == math.inf and each.is_write]
    return any(
        _is_legal(order)
        for chosen in range(1 << len(lost))
        for order in permutations(
            answered + [each for i, each in enumerate(lost) if chosen >> i & 1]
        )
    )


def _is_legal(order: Sequence[Operation]) -> bool:
    value = False
    for index, each in enumerate(order):
        if any(later.end < each.start for later in order[index + 1 :]):
            return False
        if each.is_write:
            value = each.value
        elif each.value != value:
            return False
    return True


operations = st.builds(
    lambda start, length, kind, value, client: op(start, start + length, kind, value, client),
    st.integers(0, 8),
    st.sampled_from([0, 1, 2, 3, 5, math.inf]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 3),
)


@given(st.lists(operations, max_size=6))
def test_the_search_agrees_with_the_definition(history: list[Operation]) -> None:
    assert (not violations(history)) is explained(history)
