"""The tables of a review with a row for each asset, and the counts derived from them.

All steps work batch by batch, to avoid holding all assets in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.model import WAYS
from lakewarden.pipeline.index.columns import flags, ints
from lakewarden.pipeline.review.audience import People
from lakewarden.pipeline.review.block_merge import MergedFindings
from lakewarden.pipeline.review.labels import Labels
from lakewarden.pipeline.review.question import Chosen
from lakewarden.pipeline.review.schemas import (
    BY_ASSET,
    BY_CONTAINER,
    BY_DOMAIN,
    BY_TAG,
    GROUPS,
    ORPHANS,
    principal_label,
)

NO_OWNER: Final = "no owner"
NOT_STORED: Final = "no owner is stored"
INACTIVE: Final = "every owner was removed"

FINDING_COLUMNS: Final = ("id", "type", "text", "container", "owners", "keys", "counts")
"""The columns that are needed of the assets that blocks found."""

Reached = Mapping[tuple[int, str], Mapping[str | None, tuple[bytes | None, BitMap]]]
"""For coarse matters, by way and type, then by container: a group, and the users allowed there.

The group is None if no user can be allowed on any of its entities."""


def reached(findings: MergedFindings, chosen: Chosen) -> Reached:
    """The groups of the ways whose matters have too many classes."""
    known: dict[tuple[int, str], dict[str | None, tuple[bytes | None, BitMap]]] = {}
    for type in findings.census:
        for way, matter in enumerate(chosen.agenda(findings.people.model, type).ways):
            if matter is not None and (type, matter) in findings.coarse:
                groups = findings.groups((type, matter))
                known[way, type] = {
                    group.container: (group.key if group.some or group.opens else None, group.some)
                    for group in groups
                }
    return known


class Describing:
    """Describes the assets that blocks found, and counts them at the same time.

    `owners` counts the assets of each owner, by name. `groups` counts the assets of each class by
    what they belong to; its keys are the table, the name, the way and the class.
    """

    def __init__(
        self,
        people: People,
        removed: frozenset[int],
        coarse: Reached,
        labels: Labels,
        schemas: Mapping[str, pa.Schema],
    ) -> None:
        memberships, model = people.memberships, people.model
        self._names = pa.array(
            [principal_label(principal) for principal in memberships.principals], pa.string()
        )
        self._stored, self._active = (
            sorted(memberships.stored),
            sorted(memberships.stored - removed),
        )
        self._unowned = sorted(n for n, declared in model.types.items() if not declared.owned)
        self._coarse = {
            at: {name: (key, len(users)) for name, (key, users) in of.items()}
            for at, of in coarse.items()
        }
        self._labels = labels
        self._schemas = schemas
        self.owners: Counter[str] = Counter()
        self.groups: Counter[tuple[str, str, int, bytes | None]] = Counter()

    def tables(self, batch: pa.RecordBatch) -> tuple[pa.Table, pa.Table]:
        """The rows of `by_asset` and of `orphans`; the columns of a batch are `FINDING_COLUMNS`."""
        ids = ints(batch.column("id"))
        keys, counts = _by_group(batch, self._coarse)
        by_way = [pc.list_element(keys, way) for way in range(len(WAYS))]
        owners = self._named(batch.column("owners"))
        belongs = {
            BY_CONTAINER: batch.column("container"),
            BY_DOMAIN: self._labels.domains(ids),
            BY_TAG: self._labels.tags(ids),
        }
        self._count(owners, belongs, by_way)
        schema = self._schemas[BY_ASSET]
        columns = [
            batch.column("id").cast(schema.field("id").type),
            *(batch.column(name) for name in ("type", "text")),
            *(*belongs.values(), owners),
            *map(_hex, by_way),
            *(pc.list_element(counts, way) for way in range(len(WAYS))),
        ]
        table = pa.Table.from_arrays(columns, schema=schema)
        reasons = self._reasons(batch)
        orphaned = table.append_column("reason", reasons).filter(reasons.is_valid())
        return table, orphaned.select(self._schemas[ORPHANS].names)

    def _named(self, owners: pa.ListArray) -> pa.ListArray:
        return pa.ListArray.from_arrays(_offsets(owners), self._names.take(owners.flatten()))

    def _reasons(self, batch: pa.RecordBatch) -> pa.Array:
        """Why each asset is an orphan; null if it is none."""
        owners = batch.column("owners")
        offsets, numbers = ints(_offsets(owners)), ints(owners.flatten())
        codes = np.full(len(batch), -1, dtype=np.int32)
        codes[_none(offsets, np.isin(numbers, self._active))] = 2
        codes[_none(offsets, np.isin(numbers, self._stored))] = 1
        codes[np.diff(offsets) == 0] = 0
        unowned = pa.array(self._unowned, pa.string())
        codes[_places(pc.is_in(batch.column("type"), value_set=unowned))] = -1
        known = pa.array([NO_OWNER, NOT_STORED, INACTIVE], pa.string())
        return known.take(pa.array(codes, mask=codes < 0))

    def _count(
        self, owners: pa.ListArray, belongs: Mapping[str, pa.Array], keys: Sequence[pa.Array]
    ) -> None:
        for name, n in _counted([owners.flatten()]):
            self.owners[name] += n
        for group, names in belongs.items():
            if pa.types.is_list(names.type):
                rows, flat = pc.list_parent_indices(names), names.flatten()
            else:
                rows, flat = pc.indices_nonzero(names.is_valid()), names.drop_null()
            for way, column in enumerate(keys):
                for name, key, n in _counted([flat, column.take(rows)]):
                    self.groups[group, name, way, key] += n


def _offsets(cells: pa.ListArray) -> pa.Array:
    """The offsets of each list in the elements of all lists; none is null."""
    offsets = ints(cells.offsets)
    return pa.array(offsets - offsets[0])


def _places(truths: pa.BooleanArray) -> NDArray[np.int64]:
    return np.flatnonzero(flags(truths))


def _counted(columns: Sequence[pa.Array]) -> Iterator[tuple[Any, ...]]:
    """The distinct rows, and the count of each."""
    names = [str(place) for place, _ in enumerate(columns)]
    table = pa.table(dict(zip(names, columns, strict=True)))
    counts = table.group_by(names).aggregate([([], "count_all")])
    cells = (counts.column(name).to_pylist() for name in (*names, "count_all"))
    return zip(*cells, strict=True)


def _hex(keys: pa.Array) -> pa.Array:
    """The keys in hexadecimal; few of them are distinct."""
    codes = keys.dictionary_encode()
    shown = [key.hex() for key in codes.dictionary.to_pylist()]
    return pa.array(shown, pa.string()).take(codes.indices)


_Sizes = Mapping[tuple[int, str], Mapping[str | None, tuple[bytes | None, int]]]
_Cells = NDArray[np.object_]


def _by_group(batch: pa.RecordBatch, coarse: _Sizes) -> tuple[pa.Array, pa.Array]:
    """Keys and counts of the assets; for coarse ways those of the asset's container."""
    lists = batch.column("keys"), batch.column("counts")
    if not coarse:
        return lists
    keys, counts = (_cells(column) for column in lists)
    above = batch.column("container").dictionary_encode()
    names = [*above.dictionary.to_pylist(), None]
    codes = ints(above.indices.fill_null(len(names) - 1))
    for (way, type), groups in coarse.items():
        rows = _places(pc.equal(batch.column("type"), type))
        key_and_size = [groups.get(name, (None, 0)) for name in names]
        keys[rows, way] = np.array([key for key, _ in key_and_size], dtype=object)[codes[rows]]
        counts[rows, way] = np.array([n for _, n in key_and_size], dtype=object)[codes[rows]]
    offsets = pa.array(np.arange(len(batch) + 1, dtype=np.int32) * len(WAYS))
    flat = pa.array(keys.reshape(-1), pa.binary()), pa.array(counts.reshape(-1), pa.int64())
    arrays = [pa.ListArray.from_arrays(offsets, part) for part in flat]
    return arrays[0], arrays[1]


def _cells(column: pa.Array) -> _Cells:
    """Lists with one cell per way, as rows."""
    flat = np.empty(len(column) * len(WAYS), dtype=object)
    flat[:] = column.flatten().to_pylist()
    return flat.reshape(-1, len(WAYS))


def _none(offsets: Any, marks: Any) -> Any:
    """For each list, whether none of its elements is marked."""
    before = np.concatenate([[0], np.cumsum(marks)])
    return before[offsets[1:]] == before[offsets[:-1]]


def standing(people: People, removed: frozenset[int]) -> Mapping[str, tuple[bool, bool]]:
    """For each principal, by name: whether it is stored, and whether it was removed."""
    memberships = people.memberships
    known = enumerate(memberships.principals)
    return {
        principal_label(principal): (id in memberships.stored, id in removed)
        for id, principal in known
    }


def group_rows(
    counted: Mapping[tuple[str, str, int, bytes | None], int],
    findings: MergedFindings,
    coarse: Reached,
) -> Mapping[str, list[tuple[Any, ...]]]:
    """The rows of the tables that count assets by what they belong to."""
    residues = {
        judged_class.key: judged_class.residue
        for classes in findings.classes.values()
        for judged_class in classes
    }
    by_group = {(way, key): users for (way, _), of in coarse.items() for key, users in of.values()}
    sizes: dict[tuple[str, str], int] = {}
    users: dict[tuple[str, str, int], BitMap] = {}
    for (group, name, way, key), n in counted.items():
        if way == 0:
            sizes[group, name] = sizes.get((group, name), 0) + n
        at = group, name, way
        if key is None:
            readers = BitMap()
        elif (way, key) in by_group:
            readers = by_group[way, key]
        else:
            readers = findings.audience.stated(residues[key])
        users[at] = users.get(at, BitMap()) | readers
    rows_by_group: dict[str, list[tuple[Any, ...]]] = {group: [] for group in GROUPS}
    for (group, name), size in sorted(sizes.items()):
        counts = (len(users.get((group, name, way), ())) for way in range(len(WAYS)))
        rows_by_group[group].append((name, size, *counts))
    return rows_by_group
