"""One privilege for one role set over all entities: allowed, denied, open to owners."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.classes import Partition

Ids = NDArray[np.int32]
Flags = NDArray[np.uint8]


ALLOWED: Final = 1
"""Some ALLOW names one of the role set."""

DENIED: Final = 2
"""Some DENY names one of the role set."""

OWNERS: Final = 4
"""Some ALLOW is for the owners of the entity."""


Content = tuple[int, bytes]
"""The classes, by identity, and the byte of each."""


class Cells(Protocol):
    """A privilege's bits, by entity id; -1 stands for no entity and has none."""

    @property
    def size(self) -> int:
        """How many bytes the bits take."""
        ...

    @property
    def content(self) -> Content | None:
        """The key that cells of equal content share; None: they are not shared."""
        ...

    def at(self, id: int) -> int:
        """The bits of one entity."""
        ...

    def flags_of(self, ids: Ids) -> Flags:
        """The bits of many entities."""
        ...


def is_one_of(ids: Ids, members: BitMap) -> NDArray[np.bool_]:
    """For each id whether it is a member; -1 never is."""
    if not members:
        return np.zeros(len(ids), dtype=bool)
    # One lazily zeroed byte for each id up to the largest: twenty times faster than a sorted
    # search, and only the memory pages that are read are ever touched.
    top = max(members.max(), int(ids.max(initial=0)))
    mask = np.zeros(top + 2, dtype=bool)
    mask[np.asarray(members.to_array())] = True
    is_member: NDArray[np.bool_] = mask[ids]
    return is_member


Layers = Iterable[tuple[int, Iterable[int]]]
"""For each bit, the scopes that set it."""


class ByClass:
    """A byte for each class; the last one belongs to no class and is zero."""

    __slots__ = ("__weakref__", "_classes", "_view", "row_bytes")

    def __init__(self, classes: Partition, row: Flags) -> None:
        self._classes = classes.classes
        self._view = classes.view
        self.row_bytes = row.tobytes()

    @property
    def size(self) -> int:
        return len(self.row_bytes)

    @property
    def row(self) -> Flags:
        """The byte of each class."""
        # Not cached: there are tens of thousands of cells, and most are read for one entity only.
        return np.frombuffer(self.row_bytes, dtype=np.uint8)

    @property
    def content(self) -> Content | None:
        return id(self._classes), self.row_bytes

    def at(self, id: int) -> int:
        return self.row_bytes[self._view[id]]

    def flags_of(self, ids: Ids) -> Flags:
        return np.where(ids >= 0, self.row[self._classes[ids]], np.uint8(0))


def by_class(classes: Partition, layers: Layers) -> ByClass:
    """The cells over classes."""
    row = np.zeros(classes.count + 1, dtype=np.uint8)
    for bit, scopes in layers:
        numbers = [classes.within[scope] for scope in set(scopes) if scope in classes.within]
        if numbers:
            row[np.concatenate(numbers)] |= np.uint8(bit)
    return ByClass(classes, row)


class ByBitmap:
    """A bitmap of entity ids for each bit."""

    __slots__ = ("_layers", "_size")

    def __init__(self, layers: Sequence[tuple[int, BitMap]]) -> None:
        self._layers = [(bit, ids) for bit, ids in layers if ids]
        self._size = sum(len(ids.serialize()) for _, ids in self._layers)

    @property
    def size(self) -> int:
        return self._size

    @property
    def content(self) -> Content | None:
        return None

    def at(self, id: int) -> int:
        return sum(bit for bit, ids in self._layers if id in ids)

    def flags_of(self, ids: Ids) -> Flags:
        flags = np.zeros(len(ids), dtype=np.uint8)
        for bit, members in self._layers:
            flags[is_one_of(ids, members)] |= np.uint8(bit)
        return flags


def by_bitmap(bitmaps: Sequence[BitMap], layers: Layers) -> ByBitmap:
    """The cells as unions of scope bitmaps."""
    maps_by_bit = [(bit, [bitmaps[scope] for scope in set(scopes)]) for bit, scopes in layers]
    return ByBitmap([(bit, BitMap.union(*maps)) for bit, maps in maps_by_bit if maps])
