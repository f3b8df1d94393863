"""Costs as weighted sums of an estate's counts, with nonnegative factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_STEPS = 20_000
_SMALL = 1e-12


@dataclass(frozen=True, slots=True)
class Cost:
    """A cost by its variables: `factors[name]` is the cost of one unit of `name`."""

    factors: Mapping[str, float]

    def of(self, estate: Mapping[str, float]) -> float:
        """The cost of an estate."""
        return sum(factor * estate[name] for name, factor in self.factors.items())


def fitted(estates: Sequence[Mapping[str, float]], costs: Sequence[float]) -> Cost:
    """The best fit, by relative errors.

    Source: Lawson and Hanson, Solving Least Squares Problems (1974), chapter 23.
    """
    names = list(estates[0])
    wanted = np.array(costs, dtype=np.float64)
    weights = 1.0 / np.maximum(wanted, max(wanted.max() * 0.02, _SMALL))
    rows = np.array([[estate[name] for name in names] for estate in estates]) * weights[:, None]
    scales = np.maximum(np.abs(rows).max(axis=0), _SMALL)
    found = _nonnegative(rows / scales, wanted * weights) / scales
    return Cost({n: float(f) for n, f in zip(names, found, strict=True) if f > 0})


def _nonnegative(rows: Floats, wanted: Floats) -> Floats:
    """The least squares solution with nonnegative coefficients."""
    count = rows.shape[1]
    free = np.zeros(count, dtype=np.bool_)
    found = np.zeros(count)
    for _ in range(_STEPS):
        slope = rows.T @ (wanted - rows @ found)
        slope[free] = -np.inf
        best = int(np.argmax(slope))
        if slope[best] <= _SMALL * 1e3:
            break
        free[best] = True
        found = _within(rows, wanted, free, found)
    return found


def _within(rows: Floats, wanted: Floats, free: NDArray[np.bool_], found: Floats) -> Floats:
    """Solves for the free coefficients, and drops those that would become negative."""
    while True:
        tried = np.zeros_like(found)
        tried[free] = np.linalg.lstsq(rows[:, free], wanted, rcond=None)[0]
        below = free & (tried <= 0)
        if not below.any():
            return tried
        step = np.min(found[below] / np.maximum(found[below] - tried[below], _SMALL))
        found = found + step * (tried - found)
        free &= found > _SMALL
        found[~free] = 0.0
