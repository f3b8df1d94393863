"""Edges between integer-coded things: compressed rows, with the changed ones laid on top."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

Ints = NDArray[np.int32]
Pair = tuple[int, int]
"""A target and its label; the label is 0 where edges carry none."""

_NONE: tuple[Pair, ...] = ()


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges of one kind from source ids to (target, label) pairs.

    `offsets[s]:offsets[s + 1]` delimits the pairs of source `s` in `targets` and `labels`;
    sources beyond the end have none. `changed` replaces whole sources. Immutable.
    """

    offsets: Ints
    targets: Ints
    labels: Ints
    changed: Mapping[int, tuple[Pair, ...]] = field(default_factory=dict)

    @staticmethod
    def build(count: int, triples: Iterable[tuple[int, int, int]]) -> Edges:
        """Edges of `count` sources from (source, target, label) triples; duplicates fall away."""
        rows = np.array(sorted(set(triples)), dtype=np.int32).reshape(-1, 3)
        offsets = np.zeros(count + 1, dtype=np.int32)
        np.cumsum(np.bincount(rows[:, 0], minlength=count), out=offsets[1:])
        return Edges(offsets, rows[:, 1].copy(), rows[:, 2].copy())

    def of(self, source: int) -> tuple[Pair, ...]:
        """The (target, label) pairs of one source."""
        changed = self.changed.get(source)
        if changed is not None:
            return changed
        if source + 1 >= len(self.offsets):
            return _NONE
        lo, hi = self.offsets[source], self.offsets[source + 1]
        if lo == hi:
            return _NONE
        return tuple(zip(self.targets[lo:hi].tolist(), self.labels[lo:hi].tolist(), strict=True))

    def replaced(self, source: int, pairs: Iterable[Pair]) -> Edges:
        """The same edges with those of `source` replaced."""
        changed = {**self.changed, source: tuple(sorted(set(pairs)))}
        return Edges(self.offsets, self.targets, self.labels, changed)

    def flat(self, sources: Ints) -> tuple[Ints, Ints, Ints]:
        """All pairs of `sources`: positions in `sources`, targets and labels, in order."""
        if self.changed:
            return self._flat_slowly(sources)
        known = np.minimum(sources, len(self.offsets) - 2)
        starts = self.offsets[known]
        counts = np.where(known == sources, self.offsets[known + 1] - starts, 0)
        positions = np.repeat(np.arange(len(sources), dtype=np.int32), counts)
        before = np.repeat(np.cumsum(counts) - counts, counts)
        index = np.repeat(starts, counts) + (np.arange(len(positions)) - before)
        return positions, self.targets[index], self.labels[index]

    def _flat_slowly(self, sources: Ints) -> tuple[Ints, Ints, Ints]:
        rows = [(p, t, n) for p, s in enumerate(sources.tolist()) for t, n in self.of(s)]
        table = np.array(rows, dtype=np.int32).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2]

    def sources_of(self, targets: BitMap) -> BitMap:
        """The sources with an edge to any of `targets`."""
        hit = np.isin(self.targets, np.asarray(targets.to_array(), dtype=np.int32))
        rows = np.searchsorted(self.offsets, np.flatnonzero(hit), side="right") - 1
        sources = BitMap(np.unique(rows).astype(np.uint32))
        for source, pairs in self.changed.items():
            sources.discard(source)
            if any(target in targets for target, _ in pairs):
                sources.add(source)
        return sources

    def inverted(self) -> dict[int, BitMap]:
        """For every target, the sources that have an edge to it."""
        counts = np.diff(self.offsets)
        sources = np.repeat(np.arange(len(counts), dtype=np.uint32), counts)
        unchanged = np.ones(len(sources), dtype=bool)
        if self.changed:
            unchanged = ~np.isin(sources, np.fromiter(self.changed, dtype=np.uint32))
        order = np.argsort(self.targets[unchanged], kind="stable")
        ordered, ordered_sources = self.targets[unchanged][order], sources[unchanged][order]
        sources_by_target: dict[int, BitMap] = {}
        if len(ordered):
            cuts = np.flatnonzero(np.diff(ordered)) + 1
            firsts = ordered[np.concatenate(([0], cuts))].tolist()
            for target, group in zip(firsts, np.split(ordered_sources, cuts), strict=True):
                sources_by_target[target] = BitMap(group)
        for source, pairs in self.changed.items():
            for target, _ in pairs:
                sources_by_target.setdefault(target, BitMap()).add(source)
        return sources_by_target
