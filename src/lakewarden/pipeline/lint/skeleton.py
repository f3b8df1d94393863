"""An index in the form in which rules see a realm: as numbers, with names looked up on demand.

The entities of each scope come from the index, where the kernel matched them block by block. Types,
places, owners and relations come as columns of numbers. Ten million entities take some hundred
megabytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyroaring import BitMap
from pyspark.sql import functions as F  # noqa: N812 — the usual alias

from lakewarden.kernel.blocks import Stored
from lakewarden.kernel.edges import Edges
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.facts import Coded
from lakewarden.kernel.relations import READS
from lakewarden.kernel.snapshot import Snapshot, decisions
from lakewarden.kernel.tree import Tree
from lakewarden.pipeline import parquet_output
from lakewarden.pipeline.index.block import (
    ATTRIBUTE,
    EDGE,
    ENTITY,
    OWNER,
    attributes_of,
    edges_of,
)
from lakewarden.pipeline.index.id_space import block_number
from lakewarden.pipeline.index.index import MATCHES, Index, bitmaps_of, scopes_digest
from lakewarden.pipeline.index.matching import MATCHES as COLUMNS
from lakewarden.pipeline.index.task_context import NO_REVISION, blocks_of, prepared, task_context_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Ints = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A realm without its names: `snapshot` notes in `register` the names that it needs."""

    snapshot: Snapshot
    register: Register
    entities: DataFrame

    def look_up(self) -> None:
        """Looks up all noted names and entities."""
        spark, register = self.entities.sparkSession, self.register
        named_entities: list[tuple[int, Entity]] = []
        if register.missing_ids:
            ids = pa.table({"id": pa.array(sorted(register.missing_ids), pa.int32())})
            named_entities += _named(
                self.entities.join(F.broadcast(spark.createDataFrame(ids)), "id")
            )
        if register.missing_entities:
            missing = sorted(register.missing_entities)
            table = pa.table({"s": [e.type for e in missing], "t": [e.name for e in missing]})
            frame = F.broadcast(spark.createDataFrame(table))
            named_entities += _named(self.entities.join(frame, ["s", "t"]))
        register.learn(named_entities)


def _named(rows: DataFrame) -> list[tuple[int, Entity]]:
    columns = (column.to_pylist() for column in rows.select("id", "s", "t").toArrow().columns)
    return [(id, Entity(type, name)) for id, type, name in zip(*columns, strict=True)]


def skeleton(index: Index, spark: SparkSession) -> Skeleton:
    """The skeleton of an index.

    Raises `BadInput` if its scopes belong to other statements, `LimitExceeded` for more entities
    than the kernel numbers.
    """
    context = task_context_of(index)
    table = prepared(context).table
    if scopes_digest(table) != index.manifest.facts["scopes"]:
        raise BadInput("was made of other statements; rebuild the index", where=str(index.out))
    count, home = index.space.places(), block_number("id", index.space.bits)
    own = blocks_of(index, spark).where(home == F.col("block"))
    entities = own.where(F.col("what") == ENTITY)
    register = Register()
    coded = Coded(
        model=index.system.model,
        spelling=index.system.spelling,
        tree=_tree(entities, count, register),
        memberships=context.memberships,
        relations=_relations(own, index, count),
        owners=_owners(own, index, count),
        ownerships=index.ownerships,
        attributes=_attributes(own),
    )
    snapshot = Snapshot(
        coded=coded,
        table=table,
        block=Stored(coded),
        bitmaps=_bitmaps(index, spark, len(table.scopes)),
        classes=None,
        owned_by=coded.owners.inverted(),
        revision=NO_REVISION,
        decisions=decisions(NO_REVISION),
    )
    return Skeleton(snapshot, register, entities)


def _tree(entities: DataFrame, count: int, register: Register) -> Tree:
    kinds = tuple(sorted(row["s"] for row in entities.select("s").distinct().collect()))
    code = F.array_position(F.array(*map(F.lit, kinds)), F.col("s")) - 1
    ids, codes, parents, ends, stored = _columns(
        entities.select("id", code.cast("int"), "a", "b", F.col("flag").cast("int"))
    )
    if len(ids) != count:
        raise BadInput("an index whose blocks are not whole; make it anew")
    types = np.zeros(count, dtype=np.uint16)
    above, behind = np.zeros(count, dtype=np.int32), np.zeros(count, dtype=np.int32)
    types[ids], above[ids], behind[ids] = codes, parents, ends
    return Tree(
        kinds=kinds,
        codes={kind: number for number, kind in enumerate(kinds)},
        types=types,
        parents=above,
        ends=behind,
        names=Names(register, count),
        stored=BitMap(ids[stored != 0].astype(np.uint32)),
        displaced=BitMap(),
        named={kind: Ids(register, kind) for kind in kinds},
    ).settled()


def _relations(own: DataFrame, index: Index, count: int) -> dict[str, Edges]:
    by_kind = {}
    for kind in index.system.model.relations:
        rows = own.where((F.col("what") == EDGE) & (F.col("s") == kind))
        sources, targets = _columns(rows.select("id", "a"))
        by_kind[kind] = edges_of(count, sources, targets, np.zeros(len(targets), np.int32))
    return by_kind


def _owners(own: DataFrame, index: Index, count: int) -> Edges:
    labels = F.array(*map(F.lit, index.ownerships))
    label = F.array_position(labels, F.col("s")) - 1
    rows = own.where(F.col("what") == OWNER).select("id", "a", label.cast("int"))
    return edges_of(count, *_columns(rows))


def _attributes(own: DataFrame) -> dict[int, dict[str, tuple[str, ...]]]:
    """The attribute that rules read: the sources of views."""
    rows = own.where((F.col("what") == ATTRIBUTE) & (F.col("s") == READS))
    ids, names, values = (c.to_pylist() for c in rows.select("id", "s", "t").toArrow().columns)
    return attributes_of(zip(ids, names, values, strict=True))


def _bitmaps(index: Index, spark: SparkSession, count: int) -> tuple[BitMap, ...]:
    rows = (
        parquet_output.read(spark, index.folder / MATCHES, COLUMNS)
        .select("scope", "bits")
        .toArrow()
    )
    return bitmaps_of(rows, count, index.space.width)


def _columns(frame: DataFrame) -> list[Ints]:
    return [np.asarray(column, dtype=np.int32) for column in frame.toArrow().columns]


UNKNOWN = ""
"""Stands for a name that has not been looked up yet."""


class Register:
    """The names that were looked up, and those to look up next.

    `misses` counts the lookups of names that are not known yet.
    """

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.ids: dict[Entity, int | None] = {}
        self.missing_ids: set[int] = set()
        self.missing_entities: set[Entity] = set()
        self.misses = 0

    def name(self, id: int) -> str:
        """The name of the entity with this id."""
        name = self.names.get(id)
        if name is None:
            self.misses += 1
            self.missing_ids.add(id)
        return UNKNOWN if name is None else name

    def id(self, entity: Entity) -> int | None:
        """The id of the entity, stored or only named."""
        if entity not in self.ids:
            self.misses += 1
            self.missing_entities.add(entity)
        return self.ids.get(entity)

    def learn(self, rows: Iterable[tuple[int, Entity]]) -> None:
        """Adds lookup results; requested entities without a result are recorded as missing."""
        for id, entity in rows:
            self.names[id] = entity.name
            self.ids[entity] = id
        for entity in self.missing_entities - self.ids.keys():
            self.ids[entity] = None
        self.missing_ids.clear()
        self.missing_entities.clear()


class Names(list[str]):
    """Replaces a tree's list of the names of all entities, by id."""

    def __init__(self, register: Register, count: int) -> None:
        super().__init__()
        self._register = register
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: SupportsIndex) -> str: ...
    @overload
    def __getitem__(self, at: Any) -> list[str]: ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[id] for id in range(*at.indices(self._count))]
        return self._register.name(int(at))


class Ids(dict[str, int]):
    """Replaces a tree's ids of all entities of a type, by name."""

    def __init__(self, register: Register, type: str) -> None:
        super().__init__()
        self._register = register
        self._type = type

    def get(self, name: str, default: Any = None) -> Any:
        """The id of the name; None if there is no such entity, or it was not looked up yet."""
        id = self._register.id(Entity(self._type, name))
        return default if id is None else id
