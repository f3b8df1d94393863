"""An index without its names, on the driver: the places and references of entities, as numbers.

Takes about twenty bytes per entity and twelve per relation or owner. Read directly from the files,
without tasks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.index.block import ATTRIBUTE, EDGE, ENTITY, OWNER
from lakewarden.pipeline.index.columns import encoded, flags, ints
from lakewarden.pipeline.index.guests import Pairs
from lakewarden.pipeline.storage.files import parquet_files
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.parquet import parquet_file

Ints = NDArray[np.int64]
_COLUMNS = ("block", "what", "id", "a", "b", "s", "flag")


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one kind: their entities, targets (relations, owners), and indexes into `texts`."""

    ids: Ints
    to: Ints
    codes: Ints
    texts: tuple[str, ...]

    def of_word(self, selected: frozenset[str]) -> NDArray[np.bool_]:
        """A mask of the rows that have one of these words."""
        matching_codes = [code for code, text in enumerate(self.texts) if text in selected]
        return np.isin(self.codes, matching_codes)


@dataclass(frozen=True, slots=True)
class Skeleton:
    """For every id: its parent (-1: none), its end, its type, and whether it is stored.

    The end is the id after the last descendant. `guests` are pairs of blocks and ids, ascending.
    `files` lists the blocks with rows in each file.
    """

    parents: Ints
    ends: Ints
    types: Ints
    kinds: tuple[str, ...]
    stored: NDArray[np.bool_]
    edges: Rows
    owners: Rows
    attributes: Rows
    guests: Pairs
    files: dict[Location, frozenset[int]]

    @property
    def count(self) -> int:
        """The number of ids."""
        return len(self.parents)


def read_skeleton(folder: Location, bits: int, count: int) -> Skeleton:
    """The skeleton of the blocks in a folder. Raises `BadInput` if a part is missing."""
    parts: dict[int, list[pa.Table]] = {kind: [] for kind in (ENTITY, EDGE, OWNER, ATTRIBUTE)}
    hosting, hosted = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    files = {}
    for file in parquet_files(folder):
        with parquet_file(file, read_dictionary=["s"]) as parquet:
            table = parquet.read(list(_COLUMNS))
        blocks, ids = ints(table.column("block")), ints(table.column("id"))
        files[file] = frozenset(np.unique(blocks).tolist())
        is_guest = (ids >> bits) != blocks
        entities = ints(table.column("what")) == ENTITY
        hosting.append(blocks[is_guest & entities].astype(np.int64))
        hosted.append(ids[is_guest & entities].astype(np.int64))
        own = table.filter(pa.array(~is_guest))
        for kind, of_kind in parts.items():
            of_kind.append(own.filter(pc.equal(own.column("what"), kind)))
    if not files:
        raise BadInput("is not whole; rebuild the index", where=str(folder))
    tables = {kind: pa.concat_tables(of_kind) for kind, of_kind in parts.items()}
    entities = tables[ENTITY].sort_by("id")
    if not np.array_equal(ints(entities.column("id")), np.arange(count)):
        raise BadInput("is not whole; rebuild the index", where=str(folder))
    kinds, codes = encoded(entities.column("s"))
    return Skeleton(
        parents=_wide(entities, "a"),
        ends=_wide(entities, "b"),
        types=codes.astype(np.int64),
        kinds=tuple(kinds),
        stored=flags(entities.column("flag")),
        edges=_rows(tables[EDGE], "a"),
        owners=_rows(tables[OWNER], "a"),
        attributes=_rows(tables[ATTRIBUTE], None),
        guests=Pairs.of(np.concatenate(hosting), np.concatenate(hosted)),
        files=files,
    )


def _wide(table: pa.Table, column: str) -> Ints:
    return ints(table.column(column)).astype(np.int64)


def _rows(table: pa.Table, to: str | None) -> Rows:
    texts, codes = encoded(table.column("s"))
    ids = _wide(table, "id")
    led = np.full(len(ids), -1, np.int64) if to is None else _wide(table, to)
    return Rows(ids, led, codes.astype(np.int64), tuple(texts))


def with_ancestors(parents: Ints, id: int) -> Iterator[int]:
    """The entity and all its ancestors, nearest first."""
    while id >= 0:
        yield id
        id = int(parents[id])
