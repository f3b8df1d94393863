"""Entity classes: entities that lie in exactly the same scopes, computed by splitting.

A million tables collapse to hundreds of classes, because an entity without statements of its own
shares the class of its container. Splitting is exact: two entities share a class only
if no scope distinguishes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

Classes = NDArray[np.uint32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Partition:
    """A class number for every entity id, over a set of scopes. Immutable.

    `view` is `classes` as a memoryview, for single lookups; `origin[c]` is the class that
    `c` was split from (itself for class 0), always a smaller number; `within[s]` are the
    classes inside scope `s`; `inside[c]` are the scopes that class `c` lies in. `scopes`
    are those that it distinguishes.
    """

    classes: Classes
    view: memoryview
    count: int
    origin: tuple[int, ...]
    within: Mapping[int, Ints]
    inside: tuple[tuple[int, ...], ...]
    scopes: frozenset[int]


def partition(
    size: int, scopes: Mapping[int, BitMap], limit: int, start: Partition | None = None
) -> Partition | None:
    """The classes of ids 0…size-1 under `scopes`; None when there are more than `limit`.

    With `start`, its classes are split further: `scopes` are those that it does not include yet.
    """
    splitter = _Splitter(size, start)
    for number in scopes:
        splitter.split(number, scopes[number])
        if splitter.count > limit:
            return None
    known = frozenset() if start is None else start.scopes
    return splitter.finished(known.union(scopes))


def reclassified(
    before: Partition, size: int, ids: BitMap, scopes: Mapping[int, BitMap], limit: int
) -> Partition | None:
    """The classes after the scopes of some `ids` changed, or ids were added (`size` in all).

    `scopes` are those of `before`, with their present members.

    All classes keep their numbers; a new combination of scopes gets a new class without an
    origin (-1).
    """
    inside_of: dict[int, list[int]] = {id: [] for id in ids}
    for number in sorted(scopes):
        for id in scopes[number] & ids:
            inside_of[id].append(number)
    inside = list(before.inside)
    origin = list(before.origin)
    numbers = {scopes_inside: number for number, scopes_inside in enumerate(inside)}
    classes = np.zeros(size, dtype=np.uint32)
    classes[: len(before.classes)] = before.classes
    for id, numbers_inside in inside_of.items():
        key = tuple(numbers_inside)
        if key not in numbers:
            numbers[key] = len(inside)
            inside.append(key)
            origin.append(-1)
        classes[id] = numbers[key]
    return None if len(inside) > limit else _partition(classes, inside, origin, before.scopes)


class _Splitter:
    def __init__(self, size: int, start: Partition | None) -> None:
        if start is None:
            self._classes = np.zeros(size, dtype=np.uint32)
            self._inside: list[list[int]] = [[]]
            self._origin = [0]
        else:
            self._classes = start.classes.copy()
            self._inside = [list(scopes) for scopes in start.inside]
            self._origin = list(start.origin)
        self._sizes = np.bincount(self._classes, minlength=len(self._inside)).tolist()

    @property
    def count(self) -> int:
        return len(self._inside)

    def split(self, scope: int, ids: BitMap) -> None:
        """Moves the members of `ids` to new classes, except where a whole class is in `ids`."""
        if not ids:
            return
        if len(ids) == 1:
            self._split_one(scope, ids.min())
            return
        rows = _rows(ids)
        old = self._classes[rows]
        counts = np.bincount(old, minlength=self.count)
        target = np.arange(self.count, dtype=np.uint32)
        for number in np.flatnonzero(counts).tolist():
            hit = int(counts[number])
            if hit == self._sizes[number]:
                self._inside[number].append(scope)
            else:
                target[number] = self._new_class(number, scope, hit)
        self._classes[rows] = target[old]

    def _split_one(self, scope: int, id: int) -> None:
        """As `split`, without scanning all classes: most scopes are one table."""
        number = int(self._classes[id])
        if self._sizes[number] == 1:
            self._inside[number].append(scope)
        else:
            self._classes[id] = self._new_class(number, scope, 1)

    def _new_class(self, number: int, scope: int, size: int) -> int:
        self._sizes[number] -= size
        self._sizes.append(size)
        self._origin.append(number)
        self._inside.append([*self._inside[number], scope])
        return self.count - 1

    def finished(self, scopes: frozenset[int]) -> Partition:
        inside = [tuple(sorted(scopes_inside)) for scopes_inside in self._inside]
        return _partition(self._classes, inside, self._origin, scopes)


def _partition(
    classes: Classes,
    inside: Sequence[tuple[int, ...]],
    origin: Sequence[int],
    scopes: frozenset[int],
) -> Partition:
    within: dict[int, list[int]] = {}
    for number, inside_scopes in enumerate(inside):
        for scope in inside_scopes:
            within.setdefault(scope, []).append(number)
    classes.flags.writeable = False
    return Partition(
        classes=classes,
        view=classes.data,
        count=len(inside),
        origin=tuple(origin),
        within={
            scope: np.array(classes_inside, dtype=np.int64)
            for scope, classes_inside in within.items()
        },
        inside=tuple(inside),
        scopes=scopes,
    )


def _rows(ids: BitMap) -> slice[int, int, None] | NDArray[np.uint32]:
    """The ids as a slice where they are consecutive."""
    first, last = ids.min(), ids.max()
    if last - first + 1 == len(ids):
        return slice(first, last + 1)
    return np.asarray(ids.to_array(), dtype=np.uint32)


def joint(parts: Sequence[Ints]) -> tuple[Classes, Ints]:
    """The combination of several classifications: a joint class for each row, and its parts.

    `parts` are rows of class numbers, -1 where there is none. The second result has one
    row for each joint class and one column for each part.
    """
    keys = parts[0].astype(np.int64)
    for part in parts[1:]:
        width = int(part.max(initial=-1)) + 2
        _, keys = np.unique(keys, return_inverse=True)
        keys = keys.reshape(-1) * width + (part + 1)
    _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
    combos = np.stack([part[first] for part in parts], axis=1).astype(np.int64)
    return numbers.reshape(-1).astype(np.uint32), combos
