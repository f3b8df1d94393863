"""A block of the estate, in the kernel's form of a realm: its own entities and those it refers to.

A block holds consecutive ids. Beside its *own* entities it has *guests*: the ancestors of its own
entities, the targets of their relations, and the ancestors of these. Everything that a scope or a
rule reads is therefore there, and the kernel's own functions evaluate a block like a realm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.edges import Edges
from lakewarden.kernel.errors import LimitExceeded
from lakewarden.kernel.facts import Coded
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.tree import Tree
from lakewarden.pipeline.index.columns import Ints, encoded, flags, ints, numbered
from lakewarden.pipeline.index.guests import relations_read
from lakewarden.pipeline.index.id_space import Bits, IdWidth, within
from lakewarden.service.system import System

ENTITY: Final = 0
EDGE: Final = 1
OWNER: Final = 2
ATTRIBUTE: Final = 3

_MOST: Final = (1 << 63) - 1

_MOST_EDGES: Final = (1 << 31) - 1
"""The most edges of one kind: the offset of an entity's edges is an integer of 32 bits."""

ROWS: Final = "block int, what int, id ID, a ID, b ID, s string, t string, flag boolean"
"""Rows of a block, of four kinds.

    ENTITY     id, a = parent or -1, b = end, s = type, t = name, flag = stored
    EDGE       id = source, a = target, s = kind
    OWNER      id, a = principal, s = ownership
    ATTRIBUTE  id, s = attribute, t = value
"""


@dataclass(frozen=True, slots=True)
class People:
    """The memberships of the whole realm, and the ownership types that occur in owner rows."""

    memberships: Memberships
    ownerships: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """A compiled block: its own entities are the ids `start` to `stop` of `coded`.

    `first` is the estate-wide id of the entity at `start`; `ids` those of all entities. `width` is
    that of estate-wide ids.
    """

    coded: Coded
    ids: Ints
    start: int
    stop: int
    first: int
    width: IdWidth

    @property
    def own(self) -> BitMap:
        """The block's own entities."""
        return BitMap(range(self.start, self.stop))

    def everywhere(self, rows: BitMap) -> Bits:
        """The block's own entities among `rows`, by their estate-wide ids."""
        own = rows & self.own
        if self.width is IdWidth.NARROW:
            return own.shift(self.first - self.start)
        return self.width.bitmap(self.ids_of(np.asarray(own.to_array())))

    def ids_of(self, own: NDArray[Any]) -> NDArray[np.int64]:
        """The estate-wide ids of some of the block's own entities."""
        return own.astype(np.int64) + (self.first - self.start)

    def here(self, ids: Bits) -> BitMap:
        """The block's own entities among estate-wide ids: the inverse of `everywhere`."""
        own = within(ids, self.first, self.first + self.stop - self.start)
        places = np.asarray(own.to_array()).astype(np.int64) - (self.first - self.start)
        return BitMap(places.astype(np.uint32))


def block_of(
    table: pa.Table,
    own: tuple[int, int],
    system: System,
    people: People,
    width: IdWidth = IdWidth.NARROW,
) -> Block:
    """The block whose own entities have the ids from `own[0]` to before `own[1]`."""
    entities = _rows(table, ENTITY).sort_by("id")
    ids = ints(entities.column("id"))
    tree = _tree(entities, ids)
    coded = Coded(
        model=system.model,
        spelling=system.spelling,
        tree=tree,
        memberships=people.memberships,
        relations=_relations(_rows(table, EDGE), ids, system),
        owners=_owners(_rows(table, OWNER), ids, people),
        ownerships=people.ownerships,
        attributes=_attributes(_rows(table, ATTRIBUTE), ids),
    )
    start, stop = np.searchsorted(ids, own).tolist()
    return Block(coded, ids, start, stop, own[0], width)


def _rows(table: pa.Table, kind: int) -> pa.Table:
    return table.filter(pc.equal(table.column("what"), kind))


def _tree(entities: pa.Table, ids: Ints) -> Tree:
    """The tree of consecutive rows; the rows are in preorder, so the tree is, too."""
    parents = ints(entities.column("a"))
    above = np.where(parents >= 0, np.searchsorted(ids, parents), -1).astype(np.int32)
    stored = np.flatnonzero(flags(entities.column("flag")))
    return tree_of(
        entities.column("s"),
        entities.column("t").to_pylist(),
        above,
        np.searchsorted(ids, ints(entities.column("b"))).astype(np.int32),
        BitMap(stored.astype(np.uint32)),
    )


def tree_of(
    types: pa.ChunkedArray, names: list[str], parents: Ints, ends: Ints, stored: BitMap
) -> Tree:
    """The tree of entities that are in preorder, row by row."""
    texts, indices = encoded(types)
    used = np.flatnonzero(np.bincount(indices, minlength=len(texts))).tolist()
    kinds = tuple(sorted(texts[place] for place in used))
    places = np.zeros(len(texts), dtype=np.uint16)
    places[used] = [kinds.index(texts[place]) for place in used]
    codes = places[indices]
    named: dict[str, dict[str, int]] = {}
    for code, kind in enumerate(kinds):
        rows = np.flatnonzero(codes == code).tolist()
        named[kind] = dict(zip(map(names.__getitem__, rows), rows, strict=True))
    return Tree(
        kinds=kinds,
        codes={kind: code for code, kind in enumerate(kinds)},
        types=codes,
        parents=parents,
        ends=ends,
        names=names,
        stored=stored,
        displaced=BitMap(),
        named=dict(named),
    ).settled()


def _relations(edges: pa.Table, ids: Ints, system: System) -> Mapping[str, Edges]:
    """The relations that scopes and rules read; targets of others may be missing here."""
    by_kind: dict[str, Edges] = {}
    looked = relations_read(system.model)
    for kind in system.model.relations:
        is_own = pc.equal(edges.column("s"), kind)
        own = edges.filter(is_own) if kind in looked else edges.slice(0, 0)
        sources = np.searchsorted(ids, ints(own.column("id")))
        targets = np.searchsorted(ids, ints(own.column("a")))
        edges_of_kind = edges_of(len(ids), sources, targets, np.zeros(len(targets), np.int32))
        by_kind[kind] = edges_of_kind.ordered()  # statements name thousands of tags and terms
    return by_kind


def _owners(owners: pa.Table, ids: Ints, people: People) -> Edges:
    labels = {name: label for label, name in enumerate(people.ownerships)}
    numbers = numbered(owners.column("s"), labels)
    return edges_of(
        len(ids), np.searchsorted(ids, ints(owners.column("id"))), ints(owners.column("a")), numbers
    )


def edges_of(
    count: int,
    sources: Ints | NDArray[np.int64],
    targets: Ints | NDArray[np.int64],
    labels: Ints,
) -> Edges:
    """Like `Edges.build`, from columns; duplicates are removed.

    Raises `LimitExceeded` if ids, targets and labels do not fit into one number, or if the edges
    are too many to count.
    """
    wide, deep = int(targets.max(initial=0)) + 1, int(labels.max(initial=0)) + 1
    if count * wide * deep > _MOST:
        raise LimitExceeded("too many entities, principals and ownership types for an index")
    # One number per edge: this sorts five times as fast as sorting by columns.
    edges = np.sort((sources.astype(np.int64) * wide + targets) * deep + labels)
    edges = edges[np.append(True, np.diff(edges) != 0)[: len(edges)]]
    if len(edges) > _MOST_EDGES:
        raise LimitExceeded("too many relations or owners for an index")
    pairs, edge_labels = np.divmod(edges, deep)
    edge_sources, edge_targets = np.divmod(pairs, wide)
    offsets = np.zeros(count + 1, dtype=np.int32)
    np.cumsum(np.bincount(edge_sources, minlength=count), out=offsets[1:])
    return Edges(offsets, edge_targets.astype(np.int32), edge_labels.astype(np.int32))


def _attributes(rows: pa.Table, ids: Ints) -> dict[int, dict[str, tuple[str, ...]]]:
    places = np.searchsorted(ids, ints(rows.column("id"))).tolist()
    names, values = rows.column("s").to_pylist(), rows.column("t").to_pylist()
    return attributes_of(zip(places, names, values, strict=True))


def attributes_of(
    rows: Iterable[tuple[int, str, str]],
) -> dict[int, dict[str, tuple[str, ...]]]:
    """Values by entity and attribute, sorted, without duplicates; rows: id, attribute, value."""
    by_entity: dict[int, dict[str, tuple[str, ...]]] = {}
    for place, attribute, value in sorted(set(rows)):
        of_entity = by_entity.setdefault(place, {})
        of_entity[attribute] = (*of_entity.get(attribute, ()), value)
    return by_entity
