"""The job that makes an access index of an ingested directory, stage by stage.

read      check the directory against its manifest; its statements and its people
number    the entities that are only named; the containers; the order of leaves; ids
code      relations, owners and attributes between ids
gather    each block with the entities it refers to
match     which entities of each block lie in which scope
publish   make the version the current one

If an estate has few rows and fits into one block, the kernel codes it (stage `code`) in this
process: the ids, the rows and the matches are the same.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyroaring import BitMap
from pyspark.sql import functions as F  # noqa: N812 — the usual alias

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict
from lakewarden.kernel.facts import Coded, code
from lakewarden.kernel.grants import interval
from lakewarden.kernel.implied import membership
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.principal import SERVICE_ADMINS, Principal, members_of
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import write_statement
from lakewarden.pipeline import directory, directory_manifest, local_mode, parquet_output
from lakewarden.pipeline.directory_statements import STATEMENTS, statements_of
from lakewarden.pipeline.index import block_rows, columns, index, numbering
from lakewarden.pipeline.index.block_rows import Tables
from lakewarden.pipeline.index.guests import anchors, relations_read
from lakewarden.pipeline.index.hosts import hosts_of
from lakewarden.pipeline.index.id_space import IdSpace, IdWidth, checked_id_count
from lakewarden.pipeline.index.matching import MATCHES, matches
from lakewarden.pipeline.index.preorder import sequence
from lakewarden.pipeline.index.task_context import (
    TaskContext,
    each_block_in,
    map_blocks_locally,
    prepared,
)
from lakewarden.pipeline.ingest.inventory import INVENTORY
from lakewarden.pipeline.ingest.source import Progress, silent
from lakewarden.pipeline.job import Counts, Job, Result, Stage
from lakewarden.pipeline.product import Input, key_of, sha256_of
from lakewarden.pipeline.session import begin, expect, runs_locally
from lakewarden.pipeline.storage.files import entries, parquet_files, remove_tree
from lakewarden.pipeline.storage.location import Location, read_from
from lakewarden.pipeline.storage.parquet import parquet_file, read_table, write_table
from lakewarden.pipeline.tables import spark_schema
from lakewarden.pipeline.version_folder import MANIFEST, folder_of
from lakewarden.service.system import System, load_system

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def make_index(
    source: Location,
    out: Location,
    *,
    spark: SparkSession,
    now: float | None = None,
    bits: int = numbering.BLOCK_BITS,
    first: int = 0,
    progress: Progress = silent,
) -> Result:
    """Makes an index of the ingested directory `source` in the folder `out`.

    Statements are in force as of `now` (default: the clock). A block holds 2 to the power of `bits`
    entities. Ids begin at `first`, the first id of a block: only tests begin elsewhere than at 0,
    to have large ids without as many entities. Raises `BadInput` for a damaged directory,
    `LimitExceeded` for more entities than there are ids, `Conflict` if another process works on
    `out`; `out` is then unchanged.
    """
    manifest = directory_manifest.read_manifest(source)
    checked_id_count(manifest.tables["entities"].rows, bits)  # `number` counts unstored ones, too
    system = load_system(manifest.model, manifest.settings, manifest.model_text)
    stated = statements_of(source, manifest, system).all
    start, end = interval(stated, time.time() if now is None else now)
    text = "".join(f"{json.dumps(write_statement(s), ensure_ascii=False)}\n" for s in stated)
    inputs = (Input(manifest.realm, manifest.version, sha256_of(manifest.text() + text)),)
    facts = {
        **origin(manifest, source),
        "model": system.model.name,
        "settings": dict(system.model.settings),
        "digest": system.model.digest,
        "relations": sorted(relations_read(system.model)),
        "bits": bits,
        "from": start if isfinite(start) else None,
        "until": end if isfinite(end) else None,
        "differs": differences_from_store(manifest, source),
    }
    if system.text is not None:
        facts["model_text"] = asdict(system.text)
    moment = index.moment(start, end)
    keyed = {**facts, "first": first} if first else facts
    key = key_of(inputs, {name: str(value) for name, value in keyed.items()})
    job = Job(index.KIND, out, index.TABLES, spark, inputs, progress=progress, key=key)
    job.most_rows = local_mode.ROWS
    indexing = _Indexing(job, source, manifest, system, stated, moment, bits, first)

    def publish(folder: Location) -> None:
        (folder / index.STATEMENTS).write_text(text, "utf-8")
        index.write_people(indexing.context.memberships, folder)

    return job.run(
        indexing.stages(),
        indexing,
        facts=lambda: {**facts, **indexing.facts()},
        publish_more=publish,
    )


def origin(manifest: directory_manifest.Manifest, source: Location) -> dict[str, Any]:
    """The realm; for a store's realm also the revision, and the identity of the store.

    Raises `BadInput` for a malformed revision.
    """
    options = manifest.options
    revision = options.get("revision")
    if revision is not None and not (revision.isascii() and revision.isdigit()):
        raise BadInput("expected a revision", where=f"{source / MANIFEST}: revision")
    return {
        "realm": manifest.realm if revision is None else options.get("realm", manifest.realm),
        "revision": None if revision is None else int(revision),
        "store": options.get("store", ""),
    }


def differences_from_store(manifest: directory_manifest.Manifest, source: Location) -> list[str]:
    """How a directory of a store's realm differs from the store, in words.

    The store does not catch up from an index of such a directory: the difference would never end.
    """
    options = manifest.options
    if "revision" not in options:
        return []
    merged = sorted(name for name in options if name.startswith(INVENTORY))
    by_pattern = ["owners by pattern"] if "ownership" in options else []
    files = [file.name for file in entries(source / STATEMENTS) if not file.name.startswith(".")]
    written = [f"{STATEMENTS}/{name}" for name in files]
    count = manifest.quarantined
    return [*merged, *by_pattern, *written, *([f"{count:,} rows set aside"] if count else [])]


@dataclass
class _Indexing:
    """What the stages share: their input, and their results."""

    job: Job
    source: Location
    manifest: directory_manifest.Manifest
    system: System
    stated: tuple[Statement, ...]
    now: float
    bits: int
    first: int

    def stages(self) -> Iterator[Stage[_Indexing]]:
        """The stages of a small estate, or those on Spark."""
        yield from STAGES if self.coded is None else STAGES_OF_ONE_BLOCK

    def facts(self) -> dict[str, Any]:
        """Further values that readers need beside the tables."""
        return {
            **self.space.facts(),
            "members": [list(entity) for entity in self.members],
            "ownerships": list(self.context.ownerships),
            "scopes": index.scopes_digest(prepared(self.context).table),
        }

    @cached_property
    def members(self) -> list[Entity]:
        """The stored entities that have members of their own (metalakes)."""
        types = sorted(self.system.model.membership_types)
        if not types:
            return []
        if self.coded is not None:
            tree = self.coded.tree
            return sorted(tree.entity(id) for type in types for id in tree.of_type(type))
        entities = self._table("entities")
        rows = entities.where(entities["type"].isin(types)).select("type", "name").toArrow()
        return sorted(Entity(*c) for c in zip(*(x.to_pylist() for x in rows.columns), strict=True))

    @cached_property
    def context(self) -> TaskContext:
        """The data that every task needs."""
        if self.coded is None:
            memberships, ownerships = self._people
        else:
            memberships, ownerships = self.coded.memberships, self.coded.ownerships
        return TaskContext(
            self.system.model.name,
            self.system.model.settings,
            memberships,
            ownerships,
            (*self.stated, *map(membership, self.members)),
            self.now,
            self.space,
            self.system.text,
        )

    @property
    def space(self) -> IdSpace:
        """The ids, once they are counted."""
        if self.coded is None:
            count = int(self.job.counts("number")["count"])
        else:
            count = len(self.coded.tree)
        return IdSpace.of(count, self.bits, self.first)

    # a small estate

    @cached_property
    def coded(self) -> Coded | None:
        """The coded facts, if they are few and fit into one block of narrow ids; else None."""
        rows = sum(map(self._rows, self.manifest.tables))
        expect(self.job.spark, rows)
        is_small = local_mode.is_small(rows, self.job.spark)
        if self._rows("entities") > 1 << self.bits or not is_small:
            return None
        self.job.progress("read", 0, 1, "")
        began = time.monotonic()
        loaded = directory.load(self.source)
        if loaded.manifest != self.manifest:
            raise Conflict(f"another process made a version of `{self.source}`; run again")
        coded = code(loaded.facts, self.system.model, self.system.spelling)
        space = IdSpace.of(len(coded.tree), self.bits, self.first)
        if len(space.blocks) > 1 or space.width is not IdWidth.NARROW or space.first:
            return None
        message = f"{self._rows('entities'):,} entities, {len(coded.tree):,} ids"
        self.job.keep_in_memory("read", began, message)
        return coded

    def gather_one_block(self, folder: Location) -> Counts:
        assert self.coded is not None  # noqa: S101 — INVARIANT: `stages` ensures it
        rows = block_rows.rows_of_one_block(self.coded)
        parquet_output.put(rows.to_batches(), rows.schema, folder / index.BLOCKS)
        return {"rows": rows.num_rows}

    def match_one_block(self, folder: Location) -> Counts:
        blocks = self.job.folder("gather") / index.BLOCKS
        rows = columns.read(blocks, *block_rows.SCHEMA.names)
        matched = map_blocks_locally(rows.to_batches(), self.context, matches)
        parquet_output.put(matched, parquet_output.arrow_schema(MATCHES), folder / index.MATCHES)
        return _matched(folder)

    # on Spark

    def _table(self, name: str) -> DataFrame:
        return self.job.spark.read.schema(spark_schema(name)).parquet(read_from(self._folder(name)))

    def _folder(self, name: str) -> Location:
        return folder_of(self.source, self.manifest) / name

    def _rows(self, name: str) -> int:
        return self.manifest.tables[name].rows

    def read(self, folder: Location) -> Counts:
        if runs_locally(self.job.spark):
            with ThreadPoolExecutor(1) as pool:
                checked = pool.submit(directory.check_tables, self.source, self.manifest)
                begin(self.job.spark)
                checked.result()
        else:
            directory.check_tables(self.source, self.manifest, self.job.spark)
        write_table(self._owners(), folder / "owners")
        return {"entities": self._rows("entities"), "principals": self._rows("principals")}

    def _owners(self) -> pa.Table:
        """The distinct owners, with their types of ownership; computed by tasks."""
        names = ("owner_kind", "owner_name", "ownership")
        if not self._rows("owners"):
            return pa.table({name: pa.array([], pa.string()) for name in names})
        owners: pa.Table = self._table("owners").select(*names).distinct().toArrow()
        return owners

    @cached_property
    def _people(self) -> tuple[Memberships, tuple[str, ...]]:
        """The memberships, coded as in `lakewarden.kernel.facts.code`; the ownership types."""
        manifest, source = self.manifest, self.source
        principals = (Principal(*c) for c in directory.rows_of(source, manifest, "principals"))
        rows = (
            MembershipRow(Principal(*c[:2]), Principal(*c[2:]))
            for c in directory.rows_of(source, manifest, "memberships")
        )
        mentioned = {SERVICE_ADMINS}
        mentioned.update(p for statement in self.stated for p in statement.named)
        mentioned.update(members_of(entity.name) for entity in self.members)
        owners = read_table(self.job.folder("read") / "owners")
        kinds, names, types = (c.to_pylist() for c in owners.columns)
        mentioned.update(Principal(*cells) for cells in zip(kinds, names, strict=True))
        memberships = Memberships.build(principals, rows, mentioned)
        return memberships, ("", *sorted({*types} - {""}))

    def number(self, folder: Location) -> Counts:
        spark, named = self.job.spark, []
        if self._rows("relations"):
            targets = block_rows.targets(self._table("relations"))
            parquet_output.write(targets, folder / "targets")
            named.append(self._targets(folder))
        entities = self._table("entities")
        placed = numbering.placed(spark, entities, named, self.system, folder / "containers")
        order = sequence(placed.containers)
        leaves = numbering.sort_leaves(spark, placed, order, self.bits)
        parquet_output.write(leaves, folder / "leaves")
        leaves = parquet_output.read(spark, folder / "leaves", numbering.LEAVES)
        numbers = numbering.numbered(leaves, placed, order, self.bits, self.first)
        levels = numbering.write(spark, leaves, numbers, placed, folder / "entities")
        for place in (folder / "leaves", *folder.glob("containers*")):
            remove_tree(place)
        held = len(placed.containers)
        return {"count": numbers.ids.count, "containers": held, "levels": levels}

    def _targets(self, folder: Location) -> DataFrame:
        """The targets of relations, read from files: this tells Spark how few they are."""
        return parquet_output.read(self.job.spark, folder / "targets", block_rows.TARGETS)

    @property
    def _entities(self) -> DataFrame:
        place = self.job.folder("number") / "entities"
        levels = int(self.job.counts("number")["levels"])
        return numbering.read(self.job.spark, place, levels, self.space.width)

    def _entities_named_in(self, rows: DataFrame, type: str) -> DataFrame:
        """The entities that the rows may name; the column `type` has the types of those.

        Columns are most of the entities, and hardly any table names them: without them a join
        with the names of all entities is a join with those of containers.
        """
        if int(self.job.counts("number")["levels"]) == 1:
            return self._entities
        types = rows.select(type).distinct().toArrow().column(0).to_pylist()
        return self._entities.where(F.col("type").isin(*types))

    def code(self, folder: Location) -> Counts:
        frames = {}
        if self._rows("relations"):
            targets, place = self._targets(self.job.folder("number")), folder / "targets"
            entities = self._entities_named_in(targets, "type")
            parquet_output.write(block_rows.with_ids(targets, entities), place)
            columns = self.space.width.columns(block_rows.TARGETS_WITH_IDS)
            known = parquet_output.read(self.job.spark, place, columns)
            relations = self._table("relations")
            entities = self._entities_named_in(relations, "source_type")
            frames["edges"] = block_rows.edges(relations, entities, known)
        if self._rows("owners"):
            memberships, _ = self._people
            owners = self._table("owners")
            entities = self._entities_named_in(owners, "type")
            frames["owners"] = block_rows.owners(owners, entities, memberships)
        if self._rows("attributes"):
            attributes = self._table("attributes")
            entities = self._entities_named_in(attributes, "type")
            frames["attributes"] = block_rows.attributes(attributes, entities)
        parquet_output.write_all(frames, folder)
        tables = {"edges": "relations", "owners": "owners", "attributes": "attributes"}
        return {name: self._rows(table) for name, table in tables.items()}

    def _coded(self, name: str, schema: str) -> DataFrame | None:
        place = self.job.folder("code") / name
        if not place.exists():
            return None
        return parquet_output.read(self.job.spark, place, self.space.width.columns(schema))

    def gather(self, folder: Location) -> Counts:
        context = self.context
        tables = Tables(
            entities=self._entities,
            edges=self._coded("edges", block_rows.EDGES),
            owners=self._coded("owners", block_rows.OWNERS),
            attributes=self._coded("attributes", block_rows.ATTRIBUTES),
        )
        kinds = sorted(relations_read(self.system.model))
        named = sorted(anchors(prepared(context).table.scopes, self.system.spelling))
        common = block_rows.everywhere(tables, named, self.system.model, self.first)
        edges, place = tables.edges_of(kinds), folder / "guests"
        hosts = hosts_of(tables.entities, edges, common, context.space, place)
        rows = block_rows.rows(tables, hosts, context.space)
        ordered = rows.repartitionById(context.blocks, "block")
        # Sorted by block, kind and id: a file has one block, and sorting by one number is fastest.
        place_in_block = F.shiftleft(F.col("what").cast("long"), _KIND_AT) + F.col("id")
        ordered = ordered.sortWithinPartitions(place_in_block)
        parquet_output.write(ordered, folder / index.BLOCKS)
        written = parquet_output.count_rows(folder / index.BLOCKS)
        return {"rows": written, "guests": hosts.count}

    def match(self, folder: Location) -> Counts:
        place = self.job.folder("gather") / index.BLOCKS
        matched = each_block_in(place, self.job.spark, self.context, matches, MATCHES)
        parquet_output.write(matched, folder / index.MATCHES)
        return _matched(folder)


_KIND_AT: Final = 60
"""The bit at which a row's kind begins in the number that orders it; no id has so many bits."""

_MATCHED: Final = "{scopes:,} scopes, {rows:,} bitmaps"
STAGES: Final = (
    Stage("read", (), _Indexing.read, (), "{entities:,} entities, {principals:,} principals"),
    Stage("number", (), _Indexing.number, (), "{count:,} ids"),
    Stage("code", ("read", "number"), _Indexing.code, (), "{edges:,} relations, {owners:,} owners"),
    Stage(
        "gather",
        ("read", "number", "code"),
        _Indexing.gather,
        (index.BLOCKS,),
        "{rows:,} rows, {guests:,} guests",
    ),
    Stage("match", ("read", "gather"), _Indexing.match, (index.MATCHES,), _MATCHED),
)
STAGES_OF_ONE_BLOCK: Final = (
    Stage("gather", (), _Indexing.gather_one_block, (index.BLOCKS,), "{rows:,} rows"),
    Stage("match", ("gather",), _Indexing.match_one_block, (index.MATCHES,), _MATCHED),
)


def _matched(folder: Location) -> dict[str, Any]:
    matched = folder / index.MATCHES
    scopes = BitMap()
    for file in parquet_files(matched):  # one by one: a row per scope and block
        with parquet_file(file) as parquet:
            scopes |= BitMap(columns.ints(parquet.read(["scope"]).column("scope")))
    return {"rows": parquet_output.count_rows(matched), "scopes": len(scopes)}
