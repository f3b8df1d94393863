"""Entities as integers: ids in preorder of containment, so that a subtree is one interval.

Id 0 is the request without a resource; the question about a type alone and names that only
a relation mentions have ids too, without being stored. A change never renumbers: what was
added or moved since the numbering is *displaced*, and counted to its true ancestors by
walking them. A full build numbers everything afresh; only what lies in a cycle of bad data,
or below one, is in no interval's order and displaced from the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput

Ints = NDArray[np.int32]
Codes = NDArray[np.uint16]
Name = tuple[str, str]
"""(name, type): the key by which siblings are ordered."""


class Layered:
    """Names to ids: a large shared table below, the few changed names on top."""

    __slots__ = ("_below", "_top")

    def __init__(self, below: Mapping[str, int], top: Mapping[str, int | None]) -> None:
        self._below = below
        self._top = top

    def get(self, name: str) -> int | None:
        """The id of `name`, or None."""
        if name in self._top:
            return self._top[name]
        return self._below.get(name)

    def changed(self, name: str, id: int | None) -> Layered:
        """The same with one name changed; None takes it away."""
        return Layered(self._below, {**self._top, name: id})


Index = dict[str, int] | Layered


def _changed(index: Index | None, name: str, id: int | None) -> Layered:
    if isinstance(index, Layered):
        return index.changed(name, id)
    return Layered(index or {}, {name: id})


@dataclass(frozen=True, slots=True)
class Tree:
    """The integer-coded entities of one realm. Immutable; one row per id in every array.

    `kinds[code]` is a type's name, `codes` its inverse. `parents` holds -1 at the top.
    `ends[i]` closes the interval of `i`'s subtree as numbered. `stored` are the ids that
    exist; `named` maps (per type) a name to its id, stored or not.
    """

    kinds: tuple[str, ...]
    codes: Mapping[str, int]
    types: Codes
    parents: Ints
    ends: Ints
    names: list[str]
    stored: BitMap
    displaced: BitMap
    named: Mapping[str, Index]
    cyclic: bool

    def __len__(self) -> int:
        return len(self.types)

    def entity(self, id: int) -> Entity:
        """The entity with this id."""
        return Entity(self.kinds[self.types[id]], self.names[id])

    def find(self, entity: Entity) -> int | None:
        """The id of the entity, stored or only mentioned; None when it has none."""
        index = self.named.get(entity.type)
        return None if index is None else index.get(entity.name)

    def of_type(self, type: str) -> BitMap:
        """The stored entities of one type."""
        code = self.codes.get(type)
        if code is None:
            return BitMap()
        return BitMap(np.flatnonzero(self.types == code).astype(np.uint32)) & self.stored

    def ancestors(self, id: int) -> Iterator[int]:
        """The containment ancestors, nearest first; in a cycle each member once."""
        seen = {id}
        parent = int(self.parents[id])
        while parent >= 0 and parent not in seen:
            yield parent
            if self.cyclic:
                seen.add(parent)
            parent = int(self.parents[parent])

    def subtree(self, id: int) -> BitMap:
        """The entity and everything below it, whether stored or only mentioned."""
        below = BitMap()
        below.add_range(id, int(self.ends[id]))
        if self.displaced:
            below -= self.displaced
            below.add(id)
            for other in self.displaced:
                if id in self.ancestors(other):
                    below.add(other)
        return below

    def below(self, ids: BitMap) -> BitMap:
        """The entities and everything below any of them."""
        if not ids or self.displaced:
            return BitMap.union(BitMap(), *(self.subtree(id) for id in ids))
        rows = np.asarray(ids.to_array(), dtype=np.int32)
        inner = rows[self.ends[rows] > rows + 1]
        reached = BitMap(ids)
        for id, end in zip(inner.tolist(), self.ends[inner].tolist(), strict=True):
            reached.add_range(id, end)
        return reached

    def key(self, id: int) -> tuple[Name, ...]:
        """The canonical order: preorder, siblings by name and then type."""
        chain = [id, *self.ancestors(id)]
        return tuple((self.names[i], self.kinds[self.types[i]]) for i in reversed(chain))

    def ordered(self, ids: BitMap) -> list[int]:
        """`ids` in canonical order, whatever was displaced since the numbering."""
        late = ids & self.displaced
        if not late:
            return list(ids)
        return sorted(ids, key=self.key)

    def with_entity(self, entity: Entity, parent: int, *, stored: bool) -> tuple[Tree, int]:
        """The tree with one more entity, and its id; one that is only mentioned is reused."""
        known = self.find(entity)
        if known is not None:
            return self._moved_to(known, parent, stored=stored), known
        id = len(self)
        kinds, codes = self.kinds, self.codes
        if entity.type not in codes:
            kinds, codes = (*kinds, entity.type), {**codes, entity.type: len(kinds)}
        named = {**self.named}
        named[entity.type] = _changed(named.get(entity.type), entity.name, id)
        tree = replace(
            self,
            kinds=kinds,
            codes=codes,
            types=np.append(self.types, np.uint16(codes[entity.type])),
            parents=np.append(self.parents, np.int32(parent)),
            ends=np.append(self.ends, np.int32(id + 1)),
            names=[*self.names, entity.name],
            stored=self.stored | BitMap([id]) if stored else self.stored,
            displaced=self.displaced | BitMap([id]),
            named=named,
        )
        return tree, id

    def _moved_to(self, id: int, parent: int, *, stored: bool) -> Tree:
        parents = self.parents.copy()
        parents[id] = parent
        return replace(
            self,
            parents=parents,
            stored=self.stored | BitMap([id]) if stored else self.stored,
            displaced=self.displaced | self.subtree(id),
        )

    def moved(self, id: int, parent: int) -> Tree:
        """The tree with `id` and all below it hung under `parent` (-1: at the top)."""
        return self._moved_to(id, parent, stored=False)

    def renamed(self, id: int, name: str) -> Tree:
        """The tree with one entity renamed; it keeps its id."""
        type = self.kinds[self.types[id]]
        names = self.names.copy()
        index = _changed(self.named.get(type), names[id], None).changed(name, id)
        names[id] = name
        return replace(
            self,
            names=names,
            named={**self.named, type: index},
            displaced=self.displaced | self.subtree(id),
        )

    def unstored(self, id: int) -> Tree:
        """The tree with an entity no longer stored, but still known by its name."""
        return replace(self, stored=self.stored - BitMap([id]))

    def without(self, ids: BitMap) -> Tree:
        """The tree with `ids` no longer stored, and their names free again."""
        named = dict(self.named)
        for id in ids:
            type = self.kinds[self.types[id]]
            named[type] = _changed(named.get(type), self.names[id], None)
        return replace(self, stored=self.stored - ids, displaced=self.displaced | ids, named=named)


Placed = tuple[Entity, Entity | None]
"""An entity and its containment parent."""


def build(rows: Iterable[Placed], mentioned: Iterable[Placed]) -> Tree:
    """The tree of the stored `rows` and of entities that are only `mentioned`.

    A parent that is neither counts as mentioned. Raises `BadInput` when one stored entity
    is given two parents.
    """
    parent_of = _parents(rows)
    stored = len(parent_of)
    parent_of.setdefault(NO_RESOURCE, None)
    for entity, parent in mentioned:
        parent_of.setdefault(entity, parent)
    for parent in [p for p in parent_of.values() if p is not None and p not in parent_of]:
        parent_of.setdefault(parent, None)
    entities = list(parent_of)
    number = {entity: i for i, entity in enumerate(entities)}
    parents = np.fromiter(
        (-1 if p is None else number[p] for p in parent_of.values()), np.int32, len(entities)
    )
    positions, ends, astray = _preorder(entities, parents)
    return _numbered(entities, parents, positions, ends, stored, astray)


def _parents(rows: Iterable[Placed]) -> dict[Entity, Entity | None]:
    found: dict[Entity, Entity | None] = {}
    for entity, parent in rows:
        if found.setdefault(entity, parent) != parent:
            raise BadInput(f"`{entity.type}:{entity.name}` is given two parents")
    return found


def _preorder(entities: list[Entity], parents: Ints) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Position and subtree end of each row, and which rows lie in a cycle or below one."""
    count = len(entities)
    by_name = sorted(range(count), key=lambda i: (entities[i].name, entities[i].type))
    rank = np.empty(count, dtype=np.int32)
    rank[by_name] = np.arange(count, dtype=np.int32)
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
    """The member of some cycle that comes first by name: there the cycle is cut."""
    reached = np.zeros(len(parents), dtype=bool)
    for level in levels:
        reached[level] = True
    id = int(np.flatnonzero(~reached)[0])
    seen: set[int] = set()
    while id not in seen:
        seen.add(id)
        id = int(parents[id])
    members = [id]
    while int(parents[members[-1]]) != id:
        members.append(int(parents[members[-1]]))
    return min(members, key=lambda member: int(rank[member]))


def _numbered(
    entities: list[Entity],
    parents: Ints,
    positions: Ints,
    ends: Ints,
    stored: int,
    astray: NDArray[np.bool_],
) -> Tree:
    order = np.argsort(positions)
    kinds = tuple(sorted({entity.type for entity in entities}))
    codes = {kind: code for code, kind in enumerate(kinds)}
    types = np.fromiter((codes[entities[i].type] for i in order.tolist()), np.uint16, len(order))
    new_parents = np.full(len(order), -1, dtype=np.int32)
    has_parent = parents >= 0
    new_parents[positions[has_parent]] = positions[parents[has_parent]]
    new_ends = np.empty(len(order), dtype=np.int32)
    new_ends[positions] = ends
    named: dict[str, Index] = {kind: {} for kind in kinds}
    for entity, id in zip(entities, positions.tolist(), strict=True):
        named[entity.type][entity.name] = id  # type: ignore[index]
    return Tree(
        kinds=kinds,
        codes=codes,
        types=types,
        parents=new_parents,
        ends=new_ends,
        names=[entities[i].name for i in order.tolist()],
        stored=BitMap(positions[:stored].astype(np.uint32)),
        displaced=BitMap(positions[astray].astype(np.uint32)),
        named=named,
        cyclic=bool(astray.any()),
    )
