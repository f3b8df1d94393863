"""The assets of one block, each with its classes, its container and its owners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lakewarden.kernel.relations import REMOVED
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.pipeline.index.task_context import CompiledBlock
from lakewarden.pipeline.review.audience import Audience
from lakewarden.pipeline.review.column import Column
from lakewarden.pipeline.review.question import Agenda
from lakewarden.pipeline.review.reduction import Reduction
from lakewarden.pipeline.review.residue import NOBODY
from lakewarden.pipeline.review.row import ASSET, GONE, batch, lists

Ids = NDArray[np.int32]


def containers(snapshot: Snapshot, ids: Ids) -> tuple[NDArray[np.int64], Sequence[str | None]]:
    """The outermost ancestor of each that itself has a parent type: codes, and names."""
    model, tree = snapshot.model, snapshot.coded.tree
    declared = (model.types.get(kind) for kind in tree.kinds)
    inner = np.array([t is not None and bool(t.parents) for t in declared], dtype=bool)
    nearest = np.full(len(ids), -1, dtype=np.int64)
    at = tree.above[ids]
    while (at >= 0).any():
        nearest = np.where((at >= 0) & inner[tree.types[at]], at, nearest)
        at = np.where(at >= 0, tree.above[at], -1)
    distinct, codes = np.unique(nearest, return_inverse=True)
    names = [None if id < 0 else ":".join(tree.entity(id)) for id in distinct.tolist()]
    return codes.reshape(-1).astype(np.int64), names


class Listing:
    """The rows of single assets; `shown` are the residues that their classes name."""

    def __init__(
        self, compiled_block: CompiledBlock, reduction: Reduction, audience: Audience
    ) -> None:
        self._block = compiled_block.block
        self._snapshot = compiled_block.snapshot
        self._reduction = reduction
        self._audience = audience
        self.shown: set[int] = set()

    def assets(
        self,
        type: str,
        ids: Ids,
        agenda: Agenda,
        columns: Mapping[int, Column],
        people: Sequence[pa.Array],
    ) -> pa.RecordBatch:
        """The assets of one type; a way without a column is left empty.

        `people` are the keys of the users who reach them, by way.
        """
        names = self._snapshot.coded.tree.names
        columns_by_way = [
            self._reached(columns.get(-1 if at is None else at), ids) for at in agenda.ways
        ]
        codes, above = containers(self._snapshot, ids)
        return batch(
            what=np.full(len(ids), ASSET, dtype=np.int32),
            type=[type] * len(ids),
            id=self._block.ids_of(ids),
            text=[names[id] for id in ids.tolist()],
            container=pa.array(above, pa.string()).take(pa.array(codes)),
            owners=self._owners(ids),
            keys=lists([keys for keys, _ in columns_by_way], pa.binary()),
            counts=lists([counts for _, counts in columns_by_way], pa.int64()),
            people=lists(list(people), pa.binary()),
        )

    def _reached(self, column: Column | None, ids: Ids) -> tuple[pa.Array, pa.Array]:
        """For one way: the class of each entity, and how many users statements allow."""
        if column is None:
            return pa.nulls(len(ids), pa.binary()), pa.nulls(len(ids), pa.int64())
        residues = self._reduction.residues
        plain = [residues.plain(residue) for residue in column.of]
        keys = [None if n == NOBODY else residues.digest(n) for n in plain]
        counts = [len(self._audience.stated(n)) for n in plain]
        self.shown.update(n for n in plain if n != NOBODY)
        places = pa.array(column.codes)
        return pa.array(keys, pa.binary()).take(places), pa.array(counts, pa.int64()).take(places)

    def _owners(self, ids: Ids) -> pa.Array:
        codes, owners = self._reduction.owners
        distinct = [sorted({owner for owner, _ in pairs}) for pairs in owners]
        return pa.array(distinct, pa.list_(pa.int32())).take(pa.array(codes[ids]))

    def removed_users(self) -> Iterator[pa.RecordBatch]:
        """The users who were removed."""
        attributes, own = self._snapshot.coded.attributes, self._block.own
        removed = [id for id, of in attributes.items() if "true" in of.get(REMOVED, ())]
        stored = self._snapshot.coded.tree.stored
        removed_here = np.array(
            [id for id in removed if id in own and id in stored], dtype=np.int32
        )
        people = sorted({n for n in self._reduction.persons(removed_here).tolist() if n >= 0})
        if people:
            yield batch(what=[GONE] * len(people), id=people)
