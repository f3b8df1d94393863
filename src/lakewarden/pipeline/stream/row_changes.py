"""The index rows of changed nodes, and the old rows that are no longer valid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakewarden.kernel.principal import Principal
from lakewarden.pipeline.index.block import ATTRIBUTE, EDGE, ENTITY, OWNER
from lakewarden.pipeline.index.columns import ints
from lakewarden.pipeline.index.id_space import IdWidth
from lakewarden.pipeline.index.preorder import TOP
from lakewarden.pipeline.stream.id_shift import Shift, new_subtree_sizes
from lakewarden.pipeline.stream.nodes import Changed, Nodes
from lakewarden.pipeline.stream.skeleton import Ints, Rows

Batches = Iterator[pa.RecordBatch]

MOVED = "what int, id ID, a ID, b ID, s string, t string, flag boolean"
"""`lakewarden.pipeline.index.block.ROWS` without the block."""

Edge = tuple[int, str, int]
"""A node, the kind of a relation, and the target node."""

Owner = tuple[int, Principal, str]
"""A node, its owner, and the ownership type."""

K = TypeVar("K", Edge, Owner)


@dataclass(frozen=True, slots=True)
class CurrentRows(Generic[K]):
    """For relations or owners: the nodes with any change, and all current rows of these nodes.

    `rest` are the places of index rows that belong to other nodes.
    """

    nodes: frozenset[int]
    rows: frozenset[K]
    rest: Ints


def current_edges(nodes: Nodes) -> CurrentRows[Edge]:
    """The relations of nodes."""
    rows = nodes.skeleton.edges

    def read(at: int) -> Edge:
        return int(rows.ids[at]), rows.texts[rows.codes[at]], int(rows.to[at])

    return _current(nodes, rows, nodes.edges, read)


def current_owners(nodes: Nodes, principals: tuple[Principal, ...]) -> CurrentRows[Owner]:
    """The owners of nodes; `principals` are the old ones by their numbers."""
    rows = nodes.skeleton.owners

    def read(at: int) -> Owner:
        return int(rows.ids[at]), principals[rows.to[at]], rows.texts[rows.codes[at]]

    return _current(nodes, rows, nodes.owners, read)


def _current(
    nodes: Nodes, rows: Rows, changes: Mapping[K, bool], read: Callable[[int], K]
) -> CurrentRows[K]:
    touched = frozenset({*nodes.emptied, *(key[0] for key in changes)})
    mine = np.isin(rows.ids, np.array(sorted(touched), np.int64))
    present_rows = {read(at) for at in np.flatnonzero(mine).tolist()}
    present_rows = {row for row in present_rows if row[0] not in nodes.emptied}
    for key, present in changes.items():
        (present_rows.add if present else present_rows.discard)(key)
    return CurrentRows(touched, frozenset(present_rows), np.flatnonzero(~mine))


@dataclass(frozen=True, slots=True)
class Translation:
    """Translates old rows to new rows; runs in the tasks.

    Omits rows of `entities`, relations of `sources`, owners of `owned`, attributes of `emptied` and
    the pairs of `attributes`. `owners` maps numbers of principals to their new numbers. Ids have
    this `width`.
    """

    width: IdWidth
    shift: Shift
    entities: Ints
    sources: Ints
    owned: Ints
    emptied: Ints
    attributes: frozenset[tuple[int, str]]
    owners: Ints

    def moved(self, batches: Batches) -> Batches:
        """Rows of an index as `MOVED`."""
        for batch in batches:
            table = pa.Table.from_batches([batch])
            for kind, move in _MOVES.items():
                rows = table.filter(pc.equal(table.column("what"), kind))
                if len(rows):
                    yield from move(self, rows).to_batches()

    def _of(self, rows: pa.Table, dropped: Ints) -> tuple[pa.Table, Ints, Ints]:
        """The rows that stay, with the old and the new id of each."""
        ids = ints(rows.column("id")).astype(np.int64)
        now = self.shift.ids(ids)
        stay = (now >= 0) & ~np.isin(ids, dropped)
        return rows.filter(pa.array(stay)), ids[stay], now[stay]

    def entity(self, rows: pa.Table) -> pa.Table:
        """Entities with their parents and ends."""
        rows, ids, now = self._of(rows, self.entities)
        above = self.shift.ids(ints(rows.column("a")).astype(np.int64))
        ends = self.shift.ends(ids, ints(rows.column("b")).astype(np.int64))
        return self._with(rows, id=now, a=above, b=ends)

    def edge(self, rows: pa.Table) -> pa.Table:
        """Relations with their targets."""
        rows, _, now = self._of(rows, self.sources)
        return self._with(rows, id=now, a=self.shift.ids(ints(rows.column("a")).astype(np.int64)))

    def owner(self, rows: pa.Table) -> pa.Table:
        """Owners with the numbers of the principals."""
        rows, _, now = self._of(rows, self.owned)
        return self._with(rows, id=now, a=self.owners[ints(rows.column("a"))])

    def attribute(self, rows: pa.Table) -> pa.Table:
        """Attributes."""
        rows, ids, now = self._of(rows, self.emptied)
        if not self.attributes:
            return self._with(rows, id=now)
        some = np.isin(ids, np.array(sorted({id for id, _ in self.attributes}), np.int64))
        names = rows.column("s").to_pylist() if some.any() else []
        for at in np.flatnonzero(some).tolist():
            some[at] = (int(ids[at]), names[at]) in self.attributes
        return self._with(rows.filter(pa.array(~some)), id=now[~some])

    def _with(self, rows: pa.Table, **columns: Ints) -> pa.Table:
        for name, cells in columns.items():
            place = rows.column_names.index(name)
            rows = rows.set_column(place, name, self.width.array(cells))
        schema = self.width.schema(MOVED)
        return rows.select(schema.names).cast(schema)


_MOVES = {
    ENTITY: Translation.entity,
    EDGE: Translation.edge,
    OWNER: Translation.owner,
    ATTRIBUTE: Translation.attribute,
}


def new_rows(
    nodes: Nodes,
    changed: Changed,
    shift: Shift,
    current: tuple[CurrentRows[Edge], CurrentRows[Owner]],
    ids: Mapping[Principal, int],
    width: IdWidth,
) -> pa.Table:
    """The rows of changed nodes, with new ids of this `width`, as `MOVED`.

    `current` are their relations and their owners.
    """
    edges, owners = current
    rows: list[tuple[object, ...]] = list(_entities(nodes, changed, shift))
    present_nodes = {node for node in (*edges.nodes, *owners.nodes) if shift.id(node) >= 0}
    for source, kind, target in edges.rows:
        if source in present_nodes:
            place = shift.id(source), shift.id(target)
            rows.append((EDGE, *place, None, kind, None, None))
    for node, owner, ownership in owners.rows:
        if node in present_nodes:
            rows.append((OWNER, shift.id(node), ids[owner], None, ownership, None, None))
    for (node, attribute), values in nodes.attributes.items():
        cells = ((ATTRIBUTE, shift.id(node), None, None, attribute, v, None) for v in values)
        rows += cells if shift.id(node) >= 0 else ()
    schema = width.schema(MOVED)
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def _entities(nodes: Nodes, changed: Changed, shift: Shift) -> Iterator[tuple[object, ...]]:
    skeleton = nodes.skeleton
    sizes = new_subtree_sizes(changed, shift, skeleton.ends)
    for node in (*changed.moved, *changed.restated, *changed.fresh):
        id, parent, entity = shift.id(node), nodes.parent(node), nodes.names[node]
        size = sizes[node] if node in sizes else shift.size(node, skeleton.ends)
        above = TOP if parent == TOP else shift.id(parent)
        yield (ENTITY, id, above, id + size, *entity, nodes.is_stored(node))
