"""The rows of every block: its own entities, its guests, and the facts about both."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import functions as F  # noqa: N812 — the usual alias

from lakewarden.kernel.edges import Edges
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.facts import ROOT, Coded
from lakewarden.kernel.memberships import Memberships
from lakewarden.pipeline import parquet_output
from lakewarden.pipeline.index.block import ATTRIBUTE, EDGE, ENTITY, OWNER, ROWS
from lakewarden.pipeline.index.guests import EVERY, subject_attributes
from lakewarden.pipeline.index.hosts import Hosts
from lakewarden.pipeline.index.id_space import IdSpace, IdWidth, block_number

if TYPE_CHECKING:
    Ints = NDArray[np.int64]
    from pyspark.sql import Column, DataFrame, SparkSession

    from lakewarden.kernel.entity import Entity
    from lakewarden.kernel.model import Model


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of the estate by id, see `numbering.ENTITIES`; None: the table is empty.

    A table that is known to be empty is not queried: each query costs Spark time.
    """

    entities: DataFrame
    edges: DataFrame | None
    owners: DataFrame | None
    attributes: DataFrame | None

    def edges_of(self, kinds: Collection[str]) -> DataFrame | None:
        """Source and target of the relations of these kinds."""
        if self.edges is None:
            return None
        return self.edges.where(F.col("kind").isin(*kinds)).select("source", "target")


def everywhere(tables: Tables, named: Collection[Entity], model: Model, first: int = 0) -> Ints:
    """The ids that are guests of every block; `first` is the first id of all.

    These are: no resource, each type without a name, `named`, and subjects whose attributes are
    read.
    """
    entities = tables.entities
    table = pa.table({"type": [e.type for e in named], "name": [e.name for e in named]})
    selected = entities.where("name = ''").select("id")
    if named:
        names_frame = F.broadcast(entities.sparkSession.createDataFrame(table))
        selected = selected.unionAll(
            entities.join(names_frame, ["type", "name"], "left_semi").select("id")
        )
    keys = sorted(subject_attributes(model))
    if keys and tables.attributes is not None:
        people = [type.name for type in model.types.values() if type.principal is not None]
        with_attributes = tables.attributes.where(F.col("attribute").isin(keys)).select("id")
        subjects = entities.where(F.col("type").isin(people)).select("id")
        selected = selected.unionAll(subjects.join(with_attributes, "id", "left_semi"))
    ids = np.asarray(selected.toArrow().column("id"), dtype=np.int64)
    return np.union1d(ids, np.array([first + ROOT], dtype=np.int64))


def rows(tables: Tables, hosts: Hosts, space: IdSpace) -> DataFrame:
    """The rows of all blocks; the columns are `lakewarden.pipeline.index.block.ROWS`."""
    wide, blocks = space.width, space.blocks
    entities, owners, attributes = tables.entities, tables.owners, tables.attributes
    parts = [_row(wide, entities, ENTITY, a="parent", b="end", s="type", t="name", flag="stored")]
    if tables.edges is not None:
        edges = tables.edges.withColumnRenamed("source", "id")
        parts.append(_row(wide, edges, EDGE, a="target", s="kind"))
    if owners is not None:
        parts.append(_row(wide, owners, OWNER, a="owner", s="ownership"))
    if attributes is not None:
        parts.append(_row(wide, attributes, ATTRIBUTE, s="attribute", t="value"))
    everything = parquet_output.union(parts)
    home = block_number("id", space.bits)
    # Distributed by id: guests of many blocks may have adjacent ids, and become a row for each
    # block.
    of_guests = everything.join(F.broadcast(hosts.ids), "id", "left_semi")
    guests = of_guests.repartition(len(blocks), "id")
    every = F.sequence(F.lit(blocks[0]), F.lit(blocks[-1]))
    hosting = F.when(F.col("block") == EVERY, every).otherwise(F.array("block"))
    hosted = guests.join(hosts.pairs, "id").withColumn("block", F.explode(hosting))
    return (
        everything.withColumn("block", home)
        .unionByName(hosted.where(home != F.col("block")))
        .select("block", *everything.columns)
    )


def _row(width: IdWidth, frame: DataFrame, row_kind: int, **columns: str) -> DataFrame:
    def column(name: str, type: str) -> Column:
        source = F.col(columns[name]) if name in columns else F.lit(None)
        return source.cast(type).alias(name)

    return frame.select(
        F.lit(row_kind).alias("what"),
        F.col("id"),
        *(column(name, width.sql) for name in ("a", "b")),
        *(column(name, "string") for name in ("s", "t")),
        column("flag", "boolean"),
    )


EDGES: Final = "kind string, source ID, target ID"
OWNERS: Final = "id ID, owner int, ownership string"
ATTRIBUTES: Final = "id ID, attribute string, value string"
TARGETS: Final = "type string, name string"
TARGETS_WITH_IDS: Final = f"{TARGETS}, id ID"


def targets(relations: DataFrame) -> DataFrame:
    """The targets of relations; the columns are `TARGETS`."""
    return relations.select("target_type", "target_name").distinct().toDF("type", "name")


def with_ids(named: DataFrame, entities: DataFrame) -> DataFrame:
    """Entities given by type and name, with their ids."""
    return named.join(entities.select("type", "name", "id"), ["type", "name"])


def edges(relations: DataFrame, entities: DataFrame, targets: DataFrame) -> DataFrame:
    """The relations between ids; the columns are `EDGES`. `targets` are `TARGETS_WITH_IDS`."""
    sources = entities.select("type", "name", "id")
    numbered = targets.toDF("target_type", "target_name", "target")
    return (
        relations.join(numbered, ["target_type", "target_name"])
        .join(sources.toDF("source_type", "source_name", "source"), ["source_type", "source_name"])
        .select("kind", "source", "target")
    )


def owners(rows: DataFrame, entities: DataFrame, memberships: Memberships) -> DataFrame:
    """The owners by id, as numbers of principals; the columns are `OWNERS`."""
    principals = memberships.principals
    table = pa.table(
        {
            "owner_kind": pa.array([p.kind for p in principals], pa.string()),
            "owner_name": pa.array([p.name for p in principals], pa.string()),
            "owner": pa.array(range(len(principals)), pa.int32()),
        }
    )
    numbers = F.broadcast(rows.sparkSession.createDataFrame(table))
    return (
        rows.join(entities.select("type", "name", "id"), ["type", "name"])
        .join(numbers, ["owner_kind", "owner_name"])
        .select("id", "owner", "ownership")
    )


def attributes(rows: DataFrame, entities: DataFrame) -> DataFrame:
    """The attributes by id; the columns are `ATTRIBUTES`."""
    joined = rows.join(entities.select("type", "name", "id"), ["type", "name"])
    return joined.select("id", "attribute", "value")


def empty(spark: SparkSession, schema: str) -> DataFrame:
    """An empty table."""
    return spark.createDataFrame([], schema)


SCHEMA = IdWidth.NARROW.schema(ROWS)
"""The columns of `rows_of_one_block`."""


def rows_of_one_block(coded: Coded) -> pa.Table:
    """The rows of an estate that is one block, by kind and id, from the kernel's coded form.

    The columns are those of `ROWS`. Raises `BadInput` if containment has a cycle.
    """
    if coded.tree.displaced:
        lost = coded.tree.entity(coded.tree.displaced.min())
        raise BadInput(f"`{lost}` lies below itself")
    rows = pa.concat_tables([_entities(coded), _edges(coded), _owners(coded), _attributes(coded)])
    return rows.sort_by([("what", "ascending"), ("id", "ascending")])


def _entities(coded: Coded) -> pa.Table:
    tree = coded.tree
    stored = np.zeros(len(tree), dtype=np.bool_)
    stored[tree.stored.to_array()] = True
    kinds = pc.take(pa.array(tree.kinds, pa.string()), pa.array(tree.types.astype(np.int32)))
    return _table(
        ENTITY,
        np.arange(len(tree)),
        a=tree.parents,
        b=tree.ends,
        s=kinds,
        t=tree.names,
        flag=stored,
    )


def _edges(coded: Coded) -> pa.Table:
    parts = [_table(EDGE, np.zeros(0, np.int32))]
    for kind, edges in coded.relations.items():
        sources = _sources(edges)
        parts.append(_table(EDGE, sources, a=edges.targets, s=[kind] * len(sources)))
    return pa.concat_tables(parts)


def _owners(coded: Coded) -> pa.Table:
    owners = coded.owners
    types = pc.take(pa.array(coded.ownerships, pa.string()), pa.array(owners.labels))
    return _table(OWNER, _sources(owners), a=owners.targets, s=types)


def _attributes(coded: Coded) -> pa.Table:
    cells = list(_values(coded))
    ids, names, values = zip(*cells, strict=True) if cells else ((), (), ())
    return _table(ATTRIBUTE, np.array(ids, dtype=np.int32), s=list(names), t=list(values))


def _values(coded: Coded) -> Iterator[tuple[int, str, str]]:
    for id, attributes in coded.attributes.items():
        for name, values in attributes.items():
            yield from ((id, name, value) for value in values)


def _sources(edges: Edges) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(edges.offsets) - 1), np.diff(edges.offsets))


def _table(row_kind: int, ids: NDArray[Any], **cells: Any) -> pa.Table:
    """Rows of one kind; columns that are not given are null."""
    filled = {
        "block": np.zeros(len(ids), np.int32),
        "what": np.full(len(ids), row_kind, np.int32),
        "id": ids.astype(np.int32),
        **cells,
    }
    columns = [
        pa.array(filled[f.name], f.type) if f.name in filled else pa.nulls(len(ids), f.type)
        for f in SCHEMA
    ]
    return pa.table(columns, schema=SCHEMA)
