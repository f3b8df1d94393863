"""How times are measured here.

Rounds: each round measures every engine once, one after the other (A B C, A B C, …), so a busy
moment of the machine affects all of them alike. A figure is the median over its rounds, a ratio
the median of the rounds' ratios.

Garbage collector: the objects of the engines are frozen, garbage is collected before each timed
stretch, and the collector is off during it. Builds run with the collector on, as in a server.
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
    """A timed stretch; the collector is off unless `collecting`."""
    gc.collect()
    if not collecting:
        gc.disable()
    try:
        yield
    finally:
        gc.enable()


def settle() -> None:
    """Collects garbage and freezes all remaining objects."""
    gc.collect()
    gc.freeze()


def latencies(
    call: Call, arguments: Arguments, *, warm: int = WARM, collecting: bool = False
) -> list[int]:
    """Nanoseconds of each call, including the clock's overhead (about 50 ns)."""
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
    """Calls per second in a plain loop."""
    with stretch():
        start = time.perf_counter()
        for each in arguments:
            call(*each)
        return len(arguments) / (time.perf_counter() - start)


def timed(call: Callable[[], T]) -> tuple[T, float]:
    """The result of a call, and its time in seconds."""
    start = time.perf_counter()
    given = call()
    return given, time.perf_counter() - start


def interleaved(rounds: int, takers: Mapping[str, Callable[[], T]]) -> dict[str, list[T]]:
    """One measurement by each of `takers` in each round, in their order."""
    found: dict[str, list[T]] = {name: [] for name in takers}
    for _ in range(rounds):
        for name, take in takers.items():
            found[name].append(take())
    return found


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def median(values: Sequence[float]) -> float:
    """The middle value."""
    return quantile(values, 0.5)


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """The median of the ratios of two figures, round by round."""
    return median([a / b for a, b in zip(above, below, strict=True)])
