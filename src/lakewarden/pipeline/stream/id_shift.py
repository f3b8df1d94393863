"""Maps old ids of an index to new ids when entities are added, removed or moved.

Ids are in preorder, members by name and type. So a moved entity takes its subtree along as one
piece, a removed one leaves a hole, and an added one makes room. The new order is a sequence of
pieces of the old one with new entities in between; there are about as many pieces as changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import LimitExceeded
from lakewarden.pipeline.index.preorder import TOP
from lakewarden.pipeline.stream.nodes import Changed
from lakewarden.pipeline.stream.skeleton import Ints, with_ancestors


@dataclass(frozen=True, slots=True)
class Shift:
    """The new ids: the old ones from `starts[i]` to before `stops[i]` begin at `to[i]`, ascending.

    An id in no piece was removed. `fresh` are the ids of new nodes, `grown` is by old id the change
    of the number of its descendants (may be negative), `count` is the number of new ids.
    """

    starts: Ints
    stops: Ints
    to: Ints
    fresh: Mapping[int, int]
    grown: Mapping[int, int]
    count: int

    def ids(self, ids: Ints) -> Ints:
        """The new ids; -1 for removed ids, and for -1."""
        place = np.searchsorted(self.starts, ids, side="right") - 1
        place = np.maximum(place, 0)
        is_inside = (ids >= self.starts[place]) & (ids < self.stops[place])
        new_ids: Ints = np.where(is_inside, ids - self.starts[place] + self.to[place], -1)
        return new_ids

    def id(self, node: int) -> int:
        """The new id of a node; -1 if it was removed."""
        known = self.fresh.get(node)
        return int(self.ids(np.array([node], np.int64))[0]) if known is None else known

    def ends(self, ids: Ints, ends: Ints) -> Ints:
        """The new ends of the subtrees of the old `ids`, whose old ends are `ends`."""
        size = ends - ids
        if self.grown:
            grown = np.array(sorted(self.grown), np.int64)
            more = np.array([self.grown[id] for id in grown.tolist()], np.int64)
            place = np.minimum(np.searchsorted(grown, ids), len(grown) - 1)
            size = size + np.where(grown[place] == ids, more[place], 0)
        return self.ids(ids) + size

    def size(self, node: int, ends: Ints) -> int:
        """The new size of the subtree of an old node, including itself."""
        return int(ends[node]) - node + self.grown.get(node, 0)


def identity_shift(count: int) -> Shift:
    """The shift that moves nothing."""
    start, stop = np.zeros(1, np.int64), np.array([count], np.int64)
    return Shift(start, stop, start, {}, {}, count)


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of an inserted node: before the id `at` of the old order, at level `depth`."""

    at: int
    depth: int
    name: str
    type: str
    node: int

    @property
    def key(self) -> tuple[int, int, str, str]:
        # Nodes at the end of a container precede those that follow the container: the deepest
        # first.
        return self.at, -self.depth, self.name, self.type


class _Pieces:
    """Orders the pieces. The old tree is in `parents` and `ends`."""

    def __init__(
        self,
        parents: Ints,
        ends: Ints,
        changed: Changed,
        names: Mapping[int, Entity],
        before: Mapping[int, int],
    ) -> None:
        self._parents = parents
        self._ends = ends
        self._moved = changed.moved
        self._above = {**changed.moved, **changed.fresh}
        self._names = names
        self._count = len(parents)
        self._inserts: dict[int, list[_Place]] = {}
        self._members: dict[int, list[int]] = {}
        self._cuts: dict[int, list[tuple[int, int]]] = {}
        self.grown: dict[int, int] = {}
        self.order: list[tuple[int, int] | int] = []
        self._sort_in(changed, before)

    def _sort_in(self, changed: Changed, before: Mapping[int, int]) -> None:
        for node, parent in (*changed.moved.items(), *changed.fresh.items()):
            if parent >= self._count:
                self._members.setdefault(parent, []).append(node)
                continue
            end = self._count if parent == TOP else int(self._ends[parent])
            depth = sum(1 for _ in with_ancestors(self._parents, parent))
            name = self._names[node]
            place = _Place(before.get(node, end), depth, name.name, name.type, node)
            self._inserts.setdefault(self._piece_of(parent), []).append(place)
        for node in (*changed.moved, *changed.removed):
            stop = int(self._ends[node]) if node in changed.moved else node + 1
            piece = self._piece_of(int(self._parents[node]))
            self._cuts.setdefault(piece, []).append((node, stop))

    def _piece_of(self, node: int) -> int:
        """The innermost moved node that is the node or contains it; `TOP` if there is none."""
        return next((at for at in with_ancestors(self._parents, node) if at in self._moved), TOP)

    def append_subtree(self, piece: int) -> int:
        """Appends a moved node and its subtree, or (`TOP`) all that stays; returns the size."""
        at = 0 if piece == TOP else piece
        stop = self._count if piece == TOP else int(self._ends[piece])
        size = 0
        for kind, place, to in self._events(piece):
            size += self._keep(at, place)
            at = max(at, place)
            if kind == 0:
                more = self._put(to)
                size += more
                self._grow(self._above[to], piece, more)
            else:
                self._grow(int(self._parents[place]), piece, place - to)
                at = to
        return size + self._keep(at, stop)

    def _events(self, piece: int) -> Iterator[tuple[int, int, int]]:
        """Insertions (0, before, node) and cuts (1, from, to), in order of place."""
        cuts = sorted(self._cuts.get(piece, ()))
        for place in sorted(self._inserts.get(piece, ()), key=lambda place: place.key):
            while cuts and cuts[0][0] < place.at:
                yield 1, *cuts.pop(0)
            yield 0, place.at, place.node
        for cut in cuts:
            yield 1, *cut

    def _keep(self, start: int, stop: int) -> int:
        if start >= stop:
            return 0
        self.order.append((start, stop))
        return stop - start

    def _put(self, node: int) -> int:
        """Appends an inserted node with its members; returns the number of entities."""
        if node in self._moved:
            return self.append_subtree(node)
        self.order.append(node)
        inner = self._members.get(node, ())
        ordered = sorted(inner, key=lambda n: (self._names[n].name, self._names[n].type))
        return 1 + sum(self._put(other) for other in ordered)

    def _grow(self, node: int, piece: int, more: int) -> None:
        for above in with_ancestors(self._parents, node):
            self.grown[above] = self.grown.get(above, 0) + more
            if above == piece:
                return


def shifted(
    parents: Ints,
    ends: Ints,
    changed: Changed,
    names: Mapping[int, Entity],
    before: Mapping[int, int],
    most: int,
) -> Shift:
    """The new ids after changes to a tree.

    `names` are those of the moved and new nodes. `before[node]` is the first remaining member of
    its container that the node precedes; the last ones have none. Raises `LimitExceeded` for more
    than `most` ids.
    """
    if not changed.is_any:
        return identity_shift(len(parents))
    pieces = _Pieces(parents, ends, changed, names, before)
    count = pieces.append_subtree(TOP)
    if count > most:
        message = f"{count:,} entities, and the ids of this index end at {most:,}"
        raise LimitExceeded(f"{message}; ingest and index anew")
    starts, stops, to, fresh, at = [], [], [], {}, 0
    for piece in pieces.order:
        if isinstance(piece, tuple):
            starts.append(piece[0])
            stops.append(piece[1])
            to.append(at)
            at += piece[1] - piece[0]
        else:
            fresh[piece] = at
            at += 1
    order = np.argsort(np.array(starts, np.int64))
    first, last, now = (np.array(column, np.int64)[order] for column in (starts, stops, to))
    return Shift(first, last, now, fresh, pieces.grown, count)


def new_subtree_sizes(changed: Changed, shift: Shift, ends: Ints) -> dict[int, int]:
    """The size of the subtree of each new node, including itself."""
    sizes: dict[int, int] = {}
    inner: dict[int, list[int]] = {}
    for node, parent in (*changed.moved.items(), *changed.fresh.items()):
        inner.setdefault(parent, []).append(node)

    def size(node: int) -> int:
        if node not in changed.fresh:
            return shift.size(node, ends)
        sizes[node] = 1 + sum(size(other) for other in inner.get(node, ()))
        return sizes[node]

    for node in changed.fresh:
        size(node)
    return sizes
