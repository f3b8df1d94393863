"""Entities as integers: ids in preorder of containment, which makes a subtree one interval.

Id 0 is the request without a resource; the request about a type alone and names that only
a relation mentions have ids too, without being stored. A change never renumbers: an entity
added or moved since the numbering is *displaced*, and counted to its true ancestors by
walking them. A full build numbers everything again; only entities in a cycle of bad data,
or below one, are in no interval's order and displaced from the start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.hierarchy import on_cycles, too_deep

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
        """The same with one name changed; None removes it."""
        return Layered(self._below, {**self._top, name: id})


Index = dict[str, int] | Layered


def _changed(index: Index | None, name: str, id: int | None) -> Layered:
    if isinstance(index, Layered):
        return index.changed(name, id)
    return Layered(index or {}, {name: id})


class Lineage:
    """Identifies one numbering. Trees that share it give their common entities the same ids."""

    __slots__ = ("__weakref__",)


@dataclass(frozen=True, slots=True)
class Tree:
    """The integer-coded entities of one realm. Immutable; one row per id in every array.

    `kinds[code]` is a type's name, `codes` its inverse. `parents` holds -1 at the top.
    `ends[i]` closes the interval of `i`'s subtree as numbered. `stored` are the ids that
    exist; `named` maps (per type) a name to its id, stored or not. Entities on a cycle are `looped`
    and have nothing above them; entities with too many levels above them are `deep`, and denied.
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
    looped: BitMap = field(default_factory=BitMap)
    deep: BitMap = field(default_factory=BitMap)
    lineage: Lineage = field(default_factory=Lineage, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.types)

    def entity(self, id: int) -> Entity:
        """The entity with this id."""
        return Entity(self.kinds[self.types[id]], self.names[id])

    def find(self, entity: Entity) -> int | None:
        """The id of the entity, stored or only mentioned; None if it has none."""
        index = self.named.get(entity.type)
        return None if index is None else index.get(entity.name)

    def of_type(self, type: str) -> BitMap:
        """The stored entities of one type."""
        code = self.codes.get(type)
        if code is None:
            return BitMap()
        return BitMap(np.flatnonzero(self.types == code).astype(np.uint32)) & self.stored

    def ancestors(self, id: int) -> Iterator[int]:
        """The containment ancestors, nearest first."""
        while id not in self.looped:
            id = int(self.parents[id])
            if id < 0:
                return
            yield id

    @property
    def above(self) -> Ints:
        """The parents that are followed: none for entities on a cycle."""
        if not self.looped:
            return self.parents
        followed = self.parents.copy()
        followed[self.looped.to_array()] = -1
        return followed

    def settled(self) -> Tree:
        """The same for a fresh numbering, after finding cycles and entities that are too deep."""
        tree = replace(self, looped=on_cycles(self.parents, self.displaced))
        everything = np.arange(len(tree), dtype=np.int32)
        return replace(tree, deep=too_deep(tree.above, everything))

    def with_rechecked_depth(self, ids: BitMap) -> Tree:
        """The same after deciding again whether `ids`, whose place changed, are too deep."""
        rows = np.asarray(ids.to_array(), dtype=np.int32)
        deep = too_deep(self.above, rows)
        return replace(self, deep=(self.deep - ids) | deep) if deep or self.deep else self

    def cycle(self, id: int) -> BitMap:
        """The id and, if it lies on a cycle, all others of the cycle."""
        ids = BitMap()
        while id not in ids:
            ids.add(id)
            id = int(self.parents[id]) if id in self.looped else id
        return ids

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
        """`ids` in canonical order, including those displaced since the numbering."""
        late = ids & self.displaced
        if not late:
            return list(ids)
        return sorted(ids, key=self.key)

    def with_entity(self, entity: Entity, parent: int, *, stored: bool) -> tuple[Tree, int]:
        """The tree with one more entity, and its id; reuses the id of a mentioned one."""
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
        is_freed = id in self.looped
        return replace(
            self,
            parents=parents,
            looped=on_cycles(parents, self.looped) if is_freed else self.looped,
            stored=self.stored | BitMap([id]) if stored else self.stored,
            displaced=self.displaced | self.subtree(id),
        )

    def moved(self, id: int, parent: int) -> Tree:
        """The tree with `id` and all below it moved to `parent` (-1: to the top)."""
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
        return replace(
            self,
            stored=self.stored - ids,
            displaced=self.displaced | ids,
            looped=self.looped - ids,
            named=named,
        )
