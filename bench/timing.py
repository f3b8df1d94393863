"""How time is taken here.

Rounds: a round asks every engine once, one after the other (A B C, A B C, …), so that a busy
moment of the machine falls on all of them alike. A figure is the median of its rounds, a ratio
the median of the ratios of the rounds.

Garbage collector: what the engines were built of is frozen, garbage is collected before each
timed stretch, and the collector is off inside it. Builds run with the collector on, as they
would in a server.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
Call = Callable[..., object]
Arguments = Sequence[tuple[object, ...]]

WARM = 50
"""Calls before a timed stretch."""


@contextmanager
def stretch(*, collecting: bool = False) -> Iterator[None]:
    """A timed stretch; the collector is off unless it is what is measured."""
    gc.collect()
    if not collecting:
        gc.disable()
    try:
        yield
    finally:
        gc.enable()


def settle() -> None:
    """Collects what is garbage and keeps the collector away from all that is left."""
    gc.collect()
    gc.freeze()


def latencies(
    call: Call, arguments: Arguments, *, warm: int = WARM, collecting: bool = False
) -> list[int]:
    """Nanoseconds of each call, the clock's own share (about 50 ns) included."""
    clock = time.perf_counter_ns
    for each in arguments[:warm]:
        call(*each)
    taken = []
    with stretch(collecting=collecting):
        for each in arguments:
            start = clock()
            call(*each)
            taken.append(clock() - start)
    return taken


def rate(call: Call, arguments: Arguments) -> float:
    """Calls a second in a plain loop."""
    with stretch():
        start = time.perf_counter()
        for each in arguments:
            call(*each)
        return len(arguments) / (time.perf_counter() - start)


def timed(call: Callable[[], T]) -> tuple[T, float]:
    """What a call gives, and the seconds that it took."""
    start = time.perf_counter()
    given = call()
    return given, time.perf_counter() - start


def interleaved(rounds: int, takers: Mapping[str, Callable[[], T]]) -> dict[str, list[T]]:
    """One measurement by each taker in each round, in the order of the takers."""
    found: dict[str, list[T]] = {name: [] for name in takers}
    for _ in range(rounds):
        for name, take in takers.items():
            found[name].append(take())
    return found


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which that share of them lies."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def median(values: Sequence[float]) -> float:
    """The middle value."""
    return quantile(values, 0.5)


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """The median of the ratios of two figures, round by round."""
    return median([a / b for a, b in zip(above, below, strict=True)])
