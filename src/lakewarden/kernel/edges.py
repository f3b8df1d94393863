"""Edges between integer-coded things: compressed rows, with the changed ones laid on top."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

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
    sources beyond the end have none. `changed` replaces whole sources. `by_target`, if given, has
    the targets in ascending order and the source of each. Immutable.
    """

    offsets: Ints
    targets: Ints
    labels: Ints
    changed: Mapping[int, tuple[Pair, ...]] = field(default_factory=dict)
    by_target: tuple[Ints, Ints] | None = None

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
        return replace(self, changed=changed)

    def ordered(self) -> Edges:
        """The same edges, indexed to find the sources of few targets without a full scan.

        Worthwhile if this is called more than a few dozen times.
        """
        counts = np.diff(self.offsets)
        sources = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        order = np.argsort(self.targets, kind="stable")
        return replace(self, by_target=(self.targets[order], sources[order]))

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
        ids = np.asarray(targets.to_array(), dtype=np.int32)
        if self.by_target is None:
            hit = np.isin(self.targets, ids)
            rows = np.unique(np.searchsorted(self.offsets, np.flatnonzero(hit), side="right") - 1)
        else:
            ordered, ordered_sources = self.by_target
            starts = np.searchsorted(ordered, ids)
            counts = np.searchsorted(ordered, ids, side="right") - starts
            before = np.repeat(np.cumsum(counts) - counts, counts)
            rows = ordered_sources[np.repeat(starts, counts) + np.arange(len(before)) - before]
        sources = BitMap(rows.astype(np.uint32))
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
