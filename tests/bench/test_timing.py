"""Figures are measured engine by engine in rounds, and summarized by their median."""

from __future__ import annotations

import gc

from bench.timing import (
    WARM,
    interleaved,
    latencies,
    median,
    quantile,
    rate,
    ratio,
    stretch,
    timed,
)


def test_a_quantile_is_the_value_below_which_that_share_lies() -> None:
    values = [30.0, 10.0, 20.0, 40.0]
    assert [quantile(values, share) for share in (0, 0.5, 0.99, 1)] == [10, 30, 40, 40]


def test_the_median_ignores_a_busy_moment() -> None:
    assert median([1.0, 1.1, 90.0]) == 1.1


def test_a_ratio_pairs_the_rounds() -> None:
    assert ratio([10.0, 400.0, 12.0], [1.0, 40.0, 1.0]) == 10


def test_rounds_ask_every_engine_in_turn() -> None:
    order: list[str] = []

    def take(name: str) -> int:
        order.append(name)
        return len(order)

    found = interleaved(2, {"a": lambda: take("a"), "b": lambda: take("b")})
    assert order == ["a", "b", "a", "b"]
    assert found == {"a": [1, 3], "b": [2, 4]}


def test_every_call_is_timed_after_some_to_warm_up() -> None:
    seen: list[int] = []
    taken = latencies(seen.append, [(number,) for number in range(100)])
    assert len(taken) == 100
    assert all(each > 0 for each in taken)
    assert seen == [*range(WARM), *range(100)]


def test_a_rate_counts_calls_in_a_second() -> None:
    assert rate(lambda: None, [()] * 1_000) > 1_000


def test_what_a_call_gives_comes_with_its_seconds() -> None:
    given, seconds = timed(lambda: "given")
    assert given == "given"
    assert seconds >= 0


def test_the_collector_is_off_in_a_stretch_unless_it_is_measured() -> None:
    with stretch():
        assert not gc.isenabled()
    assert gc.isenabled()
    with stretch(collecting=True):
        assert gc.isenabled()
