"""The numbering of entities: from rows, column by column, to ids in preorder of containment.

A row number is the position at which an entity was read, its id the position in the tree. No
Python code runs for each entity.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.relations import EntityColumns, EntityRow
from lakewarden.kernel.tree import Index, Tree

Ints = NDArray[np.int32]
Placed = tuple[Entity, Entity | None]
"""An entity and its containment parent."""

Key = TypeVar("Key", bound=Hashable)
_NO_ROW = -1


class Numbering:
    """Entities before they form a tree: stored ones, and others that are only mentioned."""

    def __init__(self, rows: EntityColumns) -> None:
        """Raises `BadInput` when one stored entity is given two parents."""
        self._index = _index(rows)
        if sum(map(len, self._index.values())) < len(rows):
            rows = _deduplicated(rows)
            self._index = _index(rows)
        self._names = list(rows.names)
        self._stored = len(rows)
        self._above, self._unknown = self._parents(rows)
        self.mention(NO_RESOURCE, None)

    def _parents(self, rows: EntityColumns) -> tuple[Ints, dict[int, Entity]]:
        """The row of each row's parent, and by row the parents that have no row yet."""
        above = np.full(len(rows), _NO_ROW, dtype=np.int32)
        unknown: dict[int, Entity] = {}
        for type, places in _groups(rows.parent_types):
            if type is None:
                continue
            names = map(rows.parent_names.__getitem__, places.tolist())
            known: Mapping[str | None, int] = self._index.get(type, {})  # type: ignore[assignment]  # read only
            ids = map(known.get, names, repeat(_NO_ROW))
            above[places] = np.fromiter(ids, np.int32, len(places))
            for row in places[above[places] == _NO_ROW].tolist():
                unknown[row] = Entity(type, rows.parent_names[row])
        return above, unknown

    @property
    def types(self) -> Iterable[str]:
        """The types of all entities so far."""
        return self._index

    @property
    def unknown(self) -> Iterable[Entity]:
        """The parents that are neither stored nor mentioned so far."""
        return {parent for parent in self._unknown.values() if parent not in self}

    def __contains__(self, entity: Entity) -> bool:
        return self._find(entity) != _NO_ROW

    def _find(self, entity: Entity) -> int:
        return self._index.get(entity.type, {}).get(entity.name, _NO_ROW)

    def mention(self, entity: Entity, parent: Entity | None) -> None:
        """Adds an entity, unless it is there already."""
        if entity in self:
            return
        row = len(self._names)
        self._names.append(entity.name)
        self._index.setdefault(entity.type, {})[entity.name] = row
        if parent is not None:
            self._unknown[row] = parent

    def tree(self) -> Tree:
        """The tree of all entities. A parent that is neither stored nor mentioned is mentioned."""
        for parent in self.unknown:
            self.mention(parent, None)
        parents = np.full(len(self._names), _NO_ROW, dtype=np.int32)
        parents[: self._stored] = self._above
        for row, parent in self._unknown.items():
            parents[row] = self._find(parent)
        return _numbered(self._index, self._names, parents, self._stored)


def _groups(keys: Sequence[Key]) -> Iterator[tuple[Key, NDArray[np.intp]]]:
    """Each key with its positions, in order."""
    if not keys:
        return
    numbers = {key: number for number, key in enumerate(set(keys))}
    coded = np.fromiter(map(numbers.__getitem__, keys), np.int32, len(keys))
    order = np.argsort(coded, kind="stable")
    ends = np.cumsum(np.bincount(coded, minlength=len(numbers)))
    yield from zip(numbers, np.split(order, ends[:-1]), strict=True)


def _index(rows: EntityColumns) -> dict[str, dict[str, int]]:
    """The row by type and name; one of several equal rows."""
    index: dict[str, dict[str, int]] = {}
    for type, places in _groups(rows.types):
        numbers = places.tolist()
        index[type] = dict(zip(map(rows.names.__getitem__, numbers), numbers, strict=True))
    return index


def _deduplicated(rows: EntityColumns) -> EntityColumns:
    """The rows, each once."""
    parents: dict[Entity, Entity | None] = {}
    for entity, parent in rows:
        if parents.setdefault(entity, parent) != parent:
            raise BadInput(f"`{entity}` is given two parents")
    return EntityColumns.of([EntityRow(*placed) for placed in parents.items()])


def _numbered(
    index: dict[str, dict[str, int]], names: list[str], parents: Ints, stored: int
) -> Tree:
    """The tree of the rows; `parents` are rows too."""
    count = len(names)
    kinds = tuple(sorted(index))
    rows = [np.fromiter(index[kind].values(), np.int32, len(index[kind])) for kind in kinds]
    types = np.empty(count, dtype=np.uint16)
    for code, places in enumerate(rows):
        types[places] = code
    by_name = sorted(np.concatenate(rows).tolist(), key=names.__getitem__)  # then by type
    positions, ends, astray = _preorder(by_name, parents)
    order = _inverse(positions)
    has_parent = parents >= 0
    new_parents = np.full(count, -1, dtype=np.int32)
    new_parents[positions[has_parent]] = positions[parents[has_parent]]
    named: dict[str, Index] = {
        kind: dict(zip(index[kind], positions[places].tolist(), strict=True))
        for kind, places in zip(kinds, rows, strict=True)
    }
    return Tree(
        kinds=kinds,
        codes={kind: code for code, kind in enumerate(kinds)},
        types=types[order],
        parents=new_parents,
        ends=ends[order],
        names=list(map(names.__getitem__, order.tolist())),
        stored=BitMap(positions[:stored].astype(np.uint32)),
        displaced=BitMap(positions[astray].astype(np.uint32)),
        named=named,
    ).settled()


def _inverse(permutation: Sequence[int] | Ints) -> Ints:
    inverse = np.empty(len(permutation), dtype=np.int32)
    inverse[permutation] = np.arange(len(permutation), dtype=np.int32)
    return inverse


def _preorder(by_name: list[int], parents: Ints) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Position and subtree end of each row, and which rows lie in a cycle or below one."""
    count = len(by_name)
    rank = _inverse(by_name)
    hung = parents.copy()
    levels, reached = _levels(hung)
    astray = np.full(count, reached < count)
    if reached < count:
        astray[np.concatenate(levels)] = False
    while reached < count:
        hung[_cycle_start(hung, levels, rank)] = -1
        levels, reached = _levels(hung)
    sizes = np.ones(count, dtype=np.int32)
    for level in reversed(levels[1:]):
        np.add.at(sizes, hung[level], sizes[level])
    order = np.lexsort((rank, hung))
    before = np.cumsum(sizes[order]) - sizes[order]
    new_group = np.empty(count, dtype=bool)
    new_group[0] = True
    new_group[1:] = np.diff(hung[order]) != 0
    group_start = before[new_group][np.cumsum(new_group) - 1]
    offset = np.empty(count, dtype=np.int32)
    offset[order] = before - group_start
    positions = offset.copy()
    for level in levels[1:]:
        positions[level] = positions[hung[level]] + 1 + offset[level]
    return positions, positions + sizes, astray


def _levels(parents: Ints) -> tuple[list[Ints], int]:
    """Rows by depth, from the roots down, and how many were reached."""
    order = np.argsort(parents, kind="stable").astype(np.int32)
    keys = parents[order]
    level = order[: int(np.searchsorted(keys, 0))]
    levels = []
    reached = 0
    while len(level):
        levels.append(level)
        reached += len(level)
        starts, stops = np.searchsorted(keys, level), np.searchsorted(keys, level, side="right")
        counts = stops - starts
        before = np.repeat(np.cumsum(counts) - counts, counts)
        level = order[np.repeat(starts, counts) + np.arange(int(counts.sum())) - before]
    return levels, reached


def _cycle_start(parents: Ints, levels: list[Ints], rank: Ints) -> int:
    """The member of some cycle that comes first by name: the cycle is cut there."""
    reached = np.zeros(len(parents), dtype=bool)
    for level in levels:
        reached[level] = True
    id = int(np.flatnonzero(~reached)[0])
    visited: set[int] = set()
    while id not in visited:
        visited.add(id)
        id = int(parents[id])
    members = [id]
    while int(parents[members[-1]]) != id:
        members.append(int(parents[members[-1]]))
    return min(members, key=lambda member: int(rank[member]))
