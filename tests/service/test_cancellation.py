"""Cancelled work stops at its next step; shielded work is completed."""

from __future__ import annotations

import pytest

from lakewarden.kernel.errors import Unavailable
from lakewarden.service.cancellation import (
    Cancellation,
    Cancelled,
    check,
    checked,
    is_cancelled,
    shielded,
    working,
)


def test_outside_of_any_work_nothing_is_cancelled() -> None:
    check()
    assert not is_cancelled()
    assert list(checked(range(3), every=1)) == [0, 1, 2]


def test_work_stops_at_its_next_step() -> None:
    cancellation = Cancellation()
    done: list[int] = []

    def work() -> None:
        for number in checked(range(5_000)):
            done.append(number)
            if number == 1_500:
                cancellation.cancel()

    with working(cancellation), pytest.raises(Cancelled):
        work()
    assert len(done) == 2_000
    check()  # only that work was cancelled


def test_what_is_shielded_is_finished_and_not_begun_when_it_is_too_late() -> None:
    cancellation = Cancellation()
    with working(cancellation):
        with shielded():
            cancellation.cancel()
            check()
        assert is_cancelled()
        with pytest.raises(Cancelled), shielded():
            pytest.fail("it began")


def test_what_blocks_is_interrupted_while_it_lasts() -> None:
    cancellation = Cancellation()
    calls: list[str] = []
    with cancellation.interrupting(lambda: calls.append("first")):
        cancellation.interrupt()
    cancellation.interrupt()
    assert calls == ["first"]
    cancellation.cancel()
    with pytest.raises(Cancelled), cancellation.interrupting(lambda: None):
        pytest.fail("it began")


def test_to_a_caller_it_is_an_answer_that_cannot_be_had_now() -> None:
    assert isinstance(Cancelled(), Unavailable)
