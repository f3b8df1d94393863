"""The canonical order of a tree's entities, for pages out of the middle of large sets.

Ids are in that order, except those displaced since the numbering, which are few. Their positions
among the others are computed once for a snapshot.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from typing import Final
from weakref import WeakKeyDictionary

from pyroaring import BitMap

from lakewarden.kernel.tree import Lineage, Name, Tree

Key = tuple[Name, ...]
"""An entity's position in the order: see `Tree.key`."""


_Cut = tuple[Key, int]
"""The key of a displaced id, and the first settled id after it.

INVARIANT: cuts stay correct as long as the numbering: an id that is displaced later leaves its
position to its neighbours.
"""

_LOCK: Final = threading.Lock()
_CUTS: WeakKeyDictionary[Lineage, dict[int, _Cut]] = WeakKeyDictionary()


class Ranks:
    """Positions in sets of ids."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._settled = tree.stored - tree.displaced
        with _LOCK:
            known = _CUTS.setdefault(tree.lineage, {})
        cuts = {id: self._new_cut(id, known.get(id)) for id in tree.stored & tree.displaced}
        with _LOCK:
            known.update(cuts)
        self._late = sorted(cuts, key=lambda id: cuts[id][0])
        self._cuts = [cuts[id][1] for id in self._late]

    def _new_cut(self, id: int, known: _Cut | None) -> _Cut:
        key = self._tree.key(id)
        if known is not None and known[0] == key:
            return known
        return key, self._settled_before(key)

    def _settled_before(self, key: Key) -> int:
        """The first settled id after the key; the number of ids if there is none."""
        low, high = 0, len(self._settled)
        while low < high:
            middle = (low + high) // 2
            if self._tree.key(self._settled[middle]) <= key:
                low = middle + 1
            else:
                high = middle
        return self._settled[low] if low < len(self._settled) else len(self._tree)

    def page(self, ids: BitMap, start: int, count: int) -> list[int]:
        """At most `count` ids from the `start`-th on."""
        settled = ids & self._settled
        late, places = self._merge_displaced(ids, settled)
        end = min(start + count, len(settled) + len(late))
        first, last = bisect_left(places, start), bisect_left(places, end)
        ids_of_page = list(settled[start - first : max(end - last, start - first)])
        for index in range(first, last):
            ids_of_page.insert(places[index] - start, late[index])
        return ids_of_page

    def after(self, ids: BitMap, key: Key) -> int:
        """The number of ids up to and including the key."""
        settled = ids & self._settled
        behind = self._settled_before(key)
        before = settled.rank(behind - 1) if behind else 0
        late, _ = self._merge_displaced(ids, settled)
        keys = [self._tree.key(id) for id in late]
        return before + bisect_right(keys, key)

    def _merge_displaced(self, ids: BitMap, settled: BitMap) -> tuple[list[int], list[int]]:
        """The displaced ids in order, and their positions among all ids."""
        late: list[int] = []
        places: list[int] = []
        for id, behind in zip(self._late, self._cuts, strict=True):
            if id in ids:
                before = settled.rank(behind - 1) if behind else 0
                places.append(before + len(late))
                late.append(id)
        return late, places
