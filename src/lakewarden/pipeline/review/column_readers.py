"""Who reads the values of the columns of one block: unmasked, and masked.

A column is read by every user who may read its table, except those for whom a DENY closes the
column. Masks on the column bind some of these users; the others read its values. For the users that
a mask binds, see `lakewarden.kernel.obligations`; for closed columns,
`lakewarden.kernel.denied_inside`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.denied_inside import users_denied_inside
from lakewarden.kernel.grants import Grant
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.model import READ, WAYS, EntityType
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect, Owners
from lakewarden.pipeline.index.task_context import CompiledBlock
from lakewarden.pipeline.review.labels import TAGS, TERMS
from lakewarden.pipeline.review.named_access import Naming
from lakewarden.pipeline.review.ownership_access import Owning
from lakewarden.pipeline.review.question import Chosen
from lakewarden.pipeline.review.reduction import Reduction
from lakewarden.pipeline.review.row import COLUMN, batch
from lakewarden.service.effective_read import reading_values

Ids = NDArray[np.int32]

_READ = WAYS.index(READ)

_NOBODY = BitMap()

_Masks = tuple[Grant, ...]


class ColumnReaders:
    """Finds the columns of a block that have masks or labels, and their readers."""

    def __init__(
        self,
        compiled_block: CompiledBlock,
        chosen: Chosen,
        reduction: Reduction,
        owning: Owning,
        naming: Naming,
    ) -> None:
        self._block = compiled_block.block
        self._snapshot = compiled_block.snapshot
        self._chosen = chosen
        self._reduction = reduction
        self._owning = owning
        self._naming = naming
        self._known: dict[tuple[bytes, bytes, _Masks, int], list[bytes]] = {}

    def rows(self, type: str, ids: Ids) -> Iterator[pa.RecordBatch]:
        """A `COLUMN` row for each reported column; none if the type has no values."""
        model, tree = self._snapshot.model, self._snapshot.coded.tree
        if type not in model.types or not model.types[type].masked:
            return
        masks = self._masks(ids)
        declaring = np.union1d(np.fromiter(masks, np.int32, len(masks)), self._labelled(ids))
        tables = self._nearest(declaring, lambda declared: declared.filtered)
        columns, tables = declaring[tables >= 0], tables[tables >= 0]
        if not len(columns):
            return
        masks_of = [masks.get(column, ()) for column in columns.tolist()]
        yield batch(
            what=[COLUMN] * len(columns),
            type=[type] * len(columns),
            id=self._block.ids_of(columns),
            text=[tree.names[column] for column in columns.tolist()],
            container=[":".join(tree.entity(table)) for table in tables.tolist()],
            statements=[[mask.statement.id for mask in of] for of in masks_of],
            people=self._people(columns, tables, masks_of),
        )

    def _masks(self, ids: Ids) -> dict[int, _Masks]:
        """The masks on each of the columns, by id; without columns that have none."""
        among, found = BitMap(ids.astype(np.uint32)), dict[int, _Masks]()
        obligations = self._snapshot.table.obligations(Effect.MASK)
        for mask in sorted(obligations, key=lambda mask: mask.statement.id):
            for column in self._snapshot.bitmaps[mask.scope] & among:
                found[column] = (*found.get(column, ()), mask)
        return found

    def _labelled(self, ids: Ids) -> Ids:
        """The entities among them that have a tag or a term."""
        relations = self._snapshot.coded.relations
        edges = (relations[kind] for kind in (*TAGS, *TERMS) if kind in relations)
        places = [of.flat(ids)[0] for of in edges]
        labelled: Ids = ids[np.unique(np.concatenate([*places, np.zeros(0, np.int64)]))]
        return labelled

    def _nearest(self, ids: Ids, is_wanted: Callable[[EntityType], bool]) -> Ids:
        """For each entity, the first of such a type among itself and its ancestors; -1 if none."""
        tree, types = self._snapshot.coded.tree, self._snapshot.model.types
        wanted = np.array([kind in types and is_wanted(types[kind]) for kind in tree.kinds], bool)
        found, at = np.full(len(ids), -1, np.int32), ids
        while (at >= 0).any():
            found = np.where((found < 0) & (at >= 0) & wanted[tree.types[at]], at, found)
            at = np.where(at >= 0, tree.above[at], -1)
        return found

    def _people(self, columns: Ids, tables: Ids, masks_of: Sequence[_Masks]) -> list[list[bytes]]:
        """For each column, the keys of the users who read its values, and who read them masked."""
        owned = self._nearest(columns, lambda declared: declared.owned)
        codes, _ = self._reduction.owners
        owners = np.where(owned >= 0, codes[owned], 0).tolist()
        readers, denied = self._readers(tables), self._denied(columns, tables)
        people = []
        asked = zip(columns.tolist(), tables.tolist(), masks_of, owners, strict=True)
        for column, table, masks, owner in asked:
            key, users = readers[table]
            closed = denied.get(column, _NOBODY)
            at = key, closed.serialize(), masks, owner
            if at not in self._known:
                masked = BitMap.union(BitMap(), *(self._bound(mask, owner) for mask in masks))
                left = users - closed
                self._known[at] = [self._naming.key(left - masked), self._naming.key(left & masked)]
            people.append(self._known[at])
        return people

    def _denied(self, columns: Ids, tables: Ids) -> dict[int, BitMap]:
        """The users for whom a DENY closes columns; without columns that it closes for nobody."""
        snapshot, found = self._snapshot, dict[int, BitMap]()
        model, tree, matrix = snapshot.model, snapshot.coded.tree, Matrix(snapshot)
        for code in np.unique(tree.types[tables]).tolist():
            operation = model.reaching(READ, tree.kinds[code])
            if operation is None:
                continue
            among: dict[int, list[int]] = {}
            is_one = tree.types[tables] == code
            for table, column in zip(
                tables[is_one].tolist(), columns[is_one].tolist(), strict=True
            ):
                among.setdefault(table, []).append(column)
            target, now = tree.entity(min(among)), snapshot.table.moment
            request = Request(Principal(USER, ""), operation, target, now)
            stored, inside = self._naming.people.stored, reading_values(model)
            found |= users_denied_inside(matrix, request, among, stored, inside)
        return found

    def _readers(self, tables: Ids) -> dict[int, tuple[bytes, BitMap]]:
        """The users who may read each table, and their key; nobody if no operation reads it."""
        tree, model = self._snapshot.coded.tree, self._snapshot.model
        readers: dict[int, tuple[bytes, BitMap]] = {}
        each = np.unique(tables)
        for code in np.unique(tree.types[each]).tolist():
            ids, agenda = (
                each[tree.types[each] == code],
                self._chosen.agenda(model, tree.kinds[code]),
            )
            matter = agenda.ways[_READ]
            if matter is None:
                found = [BitMap() for _ in ids]
            else:
                found = list(self._naming.readers(agenda.matters[matter].rule, ids))
            readers |= {
                id: (self._naming.key(users), users)
                for id, users in zip(ids.tolist(), found, strict=True)
            }
        return readers

    def _bound(self, mask: Grant, owner: int) -> BitMap:
        """The users that the mask binds, for an owner code and without request attributes."""
        statement, people = mask.statement, self._naming.people
        if statement.owners is None and not mask.principals:
            bound = people.users.everyone
        else:
            bound = people.of(mask.principals) | self._owners(statement.owners, owner)
        return bound - people.of(mask.exceptions) - self._owners(statement.except_owners, owner)

    def _owners(self, clause: Owners | None, owner: int) -> BitMap:
        """The owners that a clause selects, for an owner code."""
        if clause is None:
            return BitMap()
        types = None if clause.types is None else tuple(sorted(clause.types))
        return self._owning.users_satisfying(((), True, types, False), owner)
