"""Entities that the grants of one privilege cannot distinguish, counted as one cell.

A cell is a class of entities, all of one type; if there would be too many classes, each
entity is a cell of its own. Callers need not know which.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.analysis.universe import Universe
from lakewarden.kernel.cells import is_one_of
from lakewarden.kernel.classes import Partition, partition
from lakewarden.kernel.snapshot import CLASS_LIMIT

Ids = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of a universe.

    `order` holds all entities cell by cell, `order[bounds[c] : bounds[c + 1]]` those of cell c.
    Without `classes`, each entity is a cell. `types` are numbers below zero, with their cells.
    """

    universe: Universe | None
    classes: Partition | None
    order: NDArray[np.int64]
    bounds: NDArray[np.int64]
    types: Sequence[tuple[int, BitMap]] = ()

    @staticmethod
    def none() -> Cells:
        """No cells at all."""
        nothing = np.zeros(0, dtype=np.int64)
        return Cells(None, None, nothing, nothing)

    def inside(self, scope: int) -> BitMap:
        """The cells that lie in a scope."""
        assert self.universe is not None  # noqa: S101 — INVARIANT: not called without cells
        if self.classes is None:
            return self.universe.scopes[scope]
        numbers = self.classes.within.get(scope)
        return BitMap() if numbers is None else BitMap(numbers.astype(np.uint32))

    def size(self, cells: BitMap) -> int:
        """How many entities are in the cells."""
        if self.classes is None:
            return len(cells)
        return int(np.diff(self.bounds)[np.asarray(cells.to_array())].sum()) if cells else 0

    def ids(self, cells: BitMap) -> BitMap:
        """The entities of the cells."""
        if self.classes is None:
            return cells
        parts = [self.order[self.bounds[c] : self.bounds[c + 1]] for c in cells]
        return BitMap(np.concatenate(parts).astype(np.uint32)) if parts else BitMap()

    def first(self, cells: BitMap) -> int:
        """The first entity of the cells, of which there is at least one."""
        if self.classes is None:
            return cells.min()
        return int(self.order[self.bounds[np.asarray(cells.to_array())]].min())

    def bundles(self, cells: BitMap, *, coarse: bool) -> Iterator[tuple[int, BitMap]]:
        """The cells one by one, each with its number; with `coarse`, merged by type.

        Cells that are single entities are always merged. The number of a type is below zero.
        """
        if not coarse and self.classes is not None:
            yield from ((cell, BitMap([cell])) for cell in cells)
            return
        for number, inside in self.types:
            chosen = cells & inside
            if chosen:
                yield number, chosen

    def within(self, ids: BitMap, cells: BitMap) -> BitMap:
        """Those of the entities that lie in any of the cells."""
        if self.classes is None or not ids or not cells:
            return ids & cells if self.classes is None else BitMap()
        rows: Ids = np.asarray(ids.to_array(), dtype=np.int32)
        inside = is_one_of(self.classes.classes[rows].astype(np.int32), cells)
        return BitMap(rows[inside].astype(np.uint32))

    def of(self, ids: BitMap) -> BitMap:
        """The cells in which the entities are."""
        if self.classes is None:
            return ids
        numbers = self.classes.classes[np.asarray(ids.to_array())]
        return BitMap(np.unique(numbers))


def cells(universe: Universe, scopes: Iterable[int]) -> Cells:
    """The cells that result from the scopes, by number, and the types of entities."""
    # Types have numbers below zero; every relevant entity has exactly one type.
    types = {-1 - number: ids for number, ids in enumerate(universe.of_types())}
    known = types | {number: universe.scopes[number] for number in sorted(scopes)}
    classes = partition(universe.size, known, CLASS_LIMIT)
    if classes is None:
        nothing = np.zeros(0, dtype=np.int64)
        return Cells(universe, None, nothing, nothing, tuple(types.items()))
    order = np.argsort(classes.classes, kind="stable")
    sizes = np.bincount(classes.classes, minlength=classes.count)
    bounds = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    within = ((number, classes.within.get(number)) for number in types)
    of_types = [
        (n, BitMap(numbers.astype(np.uint32))) for n, numbers in within if numbers is not None
    ]
    return Cells(universe, classes, order, bounds, of_types)
