"""The job that makes an access index of an ingested directory, stage by stage.

read      the directory agrees with its manifest; its statements and its people
number    what is only named; the containers; every leaf in its place; ids
code      relations, owners and attributes between ids
gather    each block with what it refers to
match     which entities of each block lie in which scope
publish   the version counts

An estate of few rows that fits into one block is coded by the kernel (stage `code`), in this
process: the ids, the rows and the matches are the same.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict
from lakewarden.kernel.facts import Coded, code
from lakewarden.kernel.grants import interval
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.principal import SERVICE_ADMINS, Principal, members_of
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.snapshot import membership
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import write_statement
from lakewarden.pipeline import directory, directory_manifest, local_mode, parquet_output
from lakewarden.pipeline.directory_statements import statements_of
from lakewarden.pipeline.index import (
    block_rows,
    columns,
    index,
    numbering,
    relation_tables,
    single_block,
)
from lakewarden.pipeline.index.block import ROWS
from lakewarden.pipeline.index.block_rows import Tables
from lakewarden.pipeline.index.guests import anchors, looked_at
from lakewarden.pipeline.index.matching import MATCHES, matches
from lakewarden.pipeline.index.preorder import sequence
from lakewarden.pipeline.index.task_context import TaskContext, each_block, judged, prepared
from lakewarden.pipeline.ingest.source import Progress, silent
from lakewarden.pipeline.ingest.version import read_from
from lakewarden.pipeline.memory import peak
from lakewarden.pipeline.product import (
    Content,
    Draft,
    Input,
    Manifest,
    Stage,
    draft,
    key_of,
    place,
)
from lakewarden.pipeline.tables import spark_schema
from lakewarden.service.system import System, load_system

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STAGES: Final = ("read", "number", "code", "gather", "match", "publish")


class Result(NamedTuple):
    """The manifest that counts now, what the run says of itself, and whether it made a version."""

    manifest: Manifest
    report: Mapping[str, Any]
    is_new: bool


def make_index(
    source: Path,
    out: Path,
    *,
    spark: SparkSession,
    now: float | None = None,
    bits: int = numbering.BLOCK_BITS,
    progress: Progress = silent,
) -> Result:
    """Makes an index of the ingested directory `source` in the folder `out`.

    Statements are in force as of `now` (default: the clock). A block holds 2 to the power of
    `bits` entities. Raises `BadInput` for a directory that is damaged, `Conflict` when another
    process works on `out`; `out` then holds what it held.
    """
    manifest = directory_manifest.read_manifest(source)
    system = load_system(manifest.model, manifest.settings, manifest.model_text)
    stated = statements_of(source, manifest, system)
    start, end = interval(stated, time.time() if now is None else now)
    text = "".join(f"{json.dumps(write_statement(s), ensure_ascii=False)}\n" for s in stated)
    inputs = (Input(manifest.realm, manifest.version, _sha256(manifest.text() + text)),)
    facts = {
        **origin(manifest, source),
        "model": system.model.name,
        "settings": dict(system.model.settings),
        "digest": system.model.digest,
        "bits": bits,
        "from": start if isfinite(start) else None,
        "until": end if isfinite(end) else None,
    }
    if system.text is not None:
        facts["model_text"] = asdict(system.text)
    key = key_of(inputs, {name: str(value) for name, value in facts.items()})
    with draft(out, index.KIND, key, progress) as one:
        (one.folder / index.STATEMENTS).write_text(text, "utf-8")
        moment = index.moment(start, end)
        job = _Job(spark, one, source, manifest, system, stated, moment, bits, progress)
        with peak() as memory:
            more, tables = job.run()
        found = Manifest(index.KIND, 0, inputs, {}, {**facts, **more}, tables)
        return Result(*one.finish(found, {"peak_bytes": memory.bytes}))


def origin(manifest: directory_manifest.Manifest, source: Path) -> dict[str, Any]:
    """The realm; of a store's realm also the revision, and what tells the store from others.

    Raises `BadInput` for a revision that is none.
    """
    options = manifest.options
    revision = options.get("revision")
    if revision is not None and not (revision.isascii() and revision.isdigit()):
        raise BadInput(
            "expected a revision", where=f"{source / directory_manifest.MANIFEST}: revision"
        )
    return {
        "realm": manifest.realm if revision is None else options.get("realm", manifest.realm),
        "revision": None if revision is None else int(revision),
        "store": options.get("store", ""),
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


@dataclass(frozen=True, slots=True)
class _Job:
    """One run: what it reads, and where it writes."""

    spark: SparkSession
    draft: Draft
    source: Path
    manifest: directory_manifest.Manifest
    system: System
    stated: tuple[Statement, ...]
    now: float
    bits: int
    progress: Progress

    def run(self) -> tuple[dict[str, Any], dict[str, Content]]:
        """All stages; facts for readers, and the tables that were written."""
        coded = self._coded_here()
        if coded is not None:
            return self._run_here(coded)
        self.draft.stage("read", self._read, "{entities:,} entities, {principals:,} principals")
        members = self._containers_of_members()
        memberships, ownerships = self._people(members)
        found = self.draft.stage("number", self._number, "{count:,} ids")
        self.draft.stage("code", self._code(memberships), "{edges:,} relations, {owners:,} owners")
        context = self._context(memberships, ownerships, members, int(found["count"]))
        self.draft.stage("gather", self._gather(context), "{rows:,} rows, {guests:,} guests")
        self.draft.stage("match", self._match(context), "{scopes:,} scopes, {rows:,} bitmaps")
        return _facts(context, members), self._publish(memberships)

    # a small estate

    def _coded_here(self) -> Coded | None:
        """The coded facts, where they are few and fit into one block."""
        rows = sum(map(self._rows, self.manifest.tables))
        if self._rows("entities") > 1 << self.bits or not local_mode.has_few(rows, self.spark):
            return None
        self.progress("read", 0, 1, "")
        began = time.monotonic()
        loaded = directory.load(self.source)
        if loaded.manifest != self.manifest:
            raise Conflict(f"another process made a version of `{self.source}`; run again")
        coded = code(loaded.facts, self.system.model, self.system.spelling)
        if len(coded.tree) > 1 << self.bits:
            return None
        self.draft.stages["read"] = Stage({}, round(time.monotonic() - began, 3), reused=False)
        self.progress("read", 1, 1, f"{self._rows('entities'):,} entities, {len(coded.tree):,} ids")
        return coded

    def _run_here(self, coded: Coded) -> tuple[dict[str, Any], dict[str, Content]]:
        """As `run`, from the facts that the kernel coded, and without Spark."""
        tree = coded.tree
        kinds = sorted(self.system.model.membership_types)
        members = sorted(tree.entity(id) for kind in kinds for id in tree.of_type(kind))
        context = self._context(coded.memberships, coded.ownerships, members, len(tree))

        def gather(folder: Path) -> dict[str, Any]:
            rows = single_block.rows(coded)
            parquet_output.put(rows.to_batches(), rows.schema, folder / index.BLOCKS)
            return {"rows": rows.num_rows}

        def match(folder: Path) -> dict[str, Any]:
            rows = columns.read(
                self.draft.kept("gather") / index.BLOCKS, *single_block.SCHEMA.names
            )
            found = judged(rows.to_batches(), context, matches)
            parquet_output.put(found, parquet_output.arrow_schema(MATCHES), folder / index.MATCHES)
            return _matched(folder)

        self.draft.stage("gather", gather, "{rows:,} rows")
        self.draft.stage("match", match, "{scopes:,} scopes, {rows:,} bitmaps")
        return _facts(context, members), self._publish(coded.memberships)

    def _table(self, name: str) -> DataFrame:
        return self.spark.read.schema(spark_schema(name)).parquet(read_from(self._folder(name)))

    def _folder(self, name: str) -> Path:
        return self.source / directory_manifest.VERSIONS / str(self.manifest.version) / name

    def _rows(self, name: str) -> int:
        return self.manifest.tables[name].rows

    # read

    def _read(self, folder: Path) -> dict[str, Any]:
        directory.check_tables(self.source, self.manifest)
        kept = {"owner_kind": pa.string(), "owner_name": pa.string(), "ownership": pa.string()}
        rows = sorted(_distinct(self._folder("owners"), *kept))
        cells = [[row[place] for row in rows] for place in range(len(kept))]
        pq.write_table(pa.table(cells, schema=pa.schema(list(kept.items()))), folder / "owners")
        return {"entities": self._rows("entities"), "principals": self._rows("principals")}

    def _people(self, members: Iterable[Entity]) -> tuple[Memberships, tuple[str, ...]]:
        """Who acts as whom, as `lakewarden.kernel.facts.code` makes it out; ownership types."""
        manifest, source = self.manifest, self.source
        principals = [Principal(*c) for c in directory.rows_of(source, manifest, "principals")]
        rows = [
            MembershipRow(Principal(*c[:2]), Principal(*c[2:]))
            for c in directory.rows_of(source, manifest, "memberships")
        ]
        mentioned = {SERVICE_ADMINS}
        mentioned.update(p for statement in self.stated for p in statement.principals)
        mentioned.update(members_of(entity.name) for entity in members)
        ownerships: set[str] = set()
        owners = pq.read_table(self.draft.kept("read") / "owners")
        kinds, names, types = (c.to_pylist() for c in owners.columns)
        mentioned.update(Principal(*cells) for cells in zip(kinds, names, strict=True))
        ownerships.update(types)
        memberships = Memberships.build(principals, rows, mentioned)
        return memberships, ("", *sorted(ownerships - {""}))

    def _containers_of_members(self) -> list[Entity]:
        """The stored entities that have members of their own (metalakes)."""
        types = sorted(self.system.model.membership_types)
        if not types:
            return []
        entities = self._table("entities")
        rows = entities.where(entities["type"].isin(types)).select("type", "name").toArrow()
        return sorted(Entity(*c) for c in zip(*(x.to_pylist() for x in rows.columns), strict=True))

    # number

    def _number(self, folder: Path) -> dict[str, Any]:
        named = []
        if self._rows("relations"):
            targets = self._table("relations").select("target_type", "target_name")
            named.append(targets.toDF("type", "name"))
        found = numbering.placed(self.spark, self._table("entities"), named, self.system)
        order = sequence(found.containers)
        leaves = numbering.sort_leaves(self.spark, found, order, self.bits)
        parquet_output.write(leaves, folder / "leaves")
        leaves = parquet_output.read(self.spark, folder / "leaves", numbering.LEAVES)
        numbers = numbering.numbered(leaves, found, order)
        parquet_output.write(numbering.with_ids(self.spark, leaves, numbers), folder / "entities")
        shutil.rmtree(folder / "leaves")
        return {"count": numbers.ids.count, "containers": len(found.containers)}

    @property
    def _entities(self) -> DataFrame:
        return parquet_output.read(
            self.spark, self.draft.kept("number") / "entities", numbering.ENTITIES
        )

    # code

    def _code(self, memberships: Memberships) -> Callable[[Path], dict[str, Any]]:
        def code(folder: Path) -> dict[str, Any]:
            made = {}
            if self._rows("relations"):
                made["edges"] = relation_tables.edges(self._table("relations"), self._entities)
            if self._rows("owners"):
                made["owners"] = relation_tables.owners(
                    self._table("owners"), self._entities, memberships
                )
            if self._rows("attributes"):
                made["attributes"] = relation_tables.attributes(
                    self._table("attributes"), self._entities
                )
            for name, frame in made.items():
                parquet_output.write(frame, folder / name)
            tables = {"edges": "relations", "owners": "owners", "attributes": "attributes"}
            return {name: self._rows(table) for name, table in tables.items()}

        return code

    def _coded(self, name: str, schema: str) -> DataFrame | None:
        place = self.draft.kept("code") / name
        if not place.exists():
            return None
        return parquet_output.read(self.spark, place, schema)

    # gather

    def _gather(self, context: TaskContext) -> Callable[[Path], dict[str, Any]]:
        def gather(folder: Path) -> dict[str, Any]:
            tables = Tables(
                entities=self._entities,
                edges=self._coded("edges", relation_tables.EDGES),
                owners=self._coded("owners", relation_tables.OWNERS),
                attributes=self._coded("attributes", relation_tables.ATTRIBUTES),
            )
            kinds = sorted(looked_at(self.system.model))
            named = sorted(anchors(prepared(context).table.scopes, self.system.spelling))
            common = block_rows.everywhere(tables, named, self.system.model)
            pairs = block_rows.guests_of(tables, common, kinds, context.bits, context.count)
            rows = block_rows.rows(tables, pairs, context.bits)
            ordered = rows.repartitionById(context.blocks, "block")
            # By block, kind and id: a file has one block, and one number is sorted fastest.
            place_in_block = F.shiftleft(F.col("what").cast("long"), 32) + F.col("id")
            ordered = ordered.sortWithinPartitions(place_in_block)
            parquet_output.write(ordered, folder / index.BLOCKS)
            return {"rows": _count(folder / index.BLOCKS), "guests": pairs.count()}

        return gather

    def _blocks(self, folder: Path) -> DataFrame:
        return parquet_output.read(self.spark, folder / index.BLOCKS, ROWS)

    # match

    def _context(
        self,
        memberships: Memberships,
        ownerships: tuple[str, ...],
        members: Iterable[Entity],
        count: int,
    ) -> TaskContext:
        implied = map(membership, members)
        statements = (*self.stated, *implied)
        model = self.system.model
        return TaskContext(
            model.name,
            model.settings,
            memberships,
            ownerships,
            statements,
            self.now,
            self.bits,
            count,
            self.system.text,
        )

    def _match(self, context: TaskContext) -> Callable[[Path], dict[str, Any]]:
        def match(folder: Path) -> dict[str, Any]:
            blocks = self._blocks(self.draft.kept("gather"))
            parquet_output.write(
                each_block(blocks, context, matches, MATCHES), folder / index.MATCHES
            )
            return _matched(folder)

        return match

    # publish

    def _publish(self, memberships: Memberships) -> dict[str, Content]:
        folder = self.draft.folder
        place(self.draft.kept("gather") / index.BLOCKS, folder / index.BLOCKS)
        place(self.draft.kept("match") / index.MATCHES, folder / index.MATCHES)
        stored = [id in memberships.stored for id in range(len(memberships.principals))]
        people: list[list[Any]] = [
            [p.kind for p in memberships.principals],
            [p.name for p in memberships.principals],
            stored,
        ]
        edges = {(m, g) for m, groups in memberships.of.items() for g in groups} | memberships.inert
        pairs = sorted(edges)
        members = [[m for m, _ in pairs], [g for _, g in pairs]]
        _put(folder / index.PRINCIPALS, people, index.PRINCIPAL_COLUMNS)
        _put(folder / index.MEMBERSHIPS, members, index.MEMBERSHIP_COLUMNS)
        names = (index.BLOCKS, index.MATCHES, index.PRINCIPALS, index.MEMBERSHIPS)
        if sum(_count(folder / name) for name in names) <= local_mode.ROWS:
            return {name: parquet_output.content_here(folder / name) for name in names}
        read = self.spark.read
        frames = [read.parquet(read_from(folder / name)) for name in names]
        with ThreadPoolExecutor(len(names)) as pool:  # small ones do not wait for large ones
            return dict(zip(names, pool.map(parquet_output.content, frames), strict=True))


def _facts(context: TaskContext, members: Iterable[Entity]) -> dict[str, Any]:
    """What readers have to know beside the tables."""
    return {
        "count": context.count,
        "members": [list(entity) for entity in members],
        "ownerships": list(context.ownerships),
        "scopes": index.scopes_digest(prepared(context).table),
    }


def _matched(folder: Path) -> dict[str, Any]:
    scopes = columns.read(folder / index.MATCHES, "scope").column("scope")
    return {"rows": len(scopes), "scopes": len(scopes.unique())}


def _distinct(folder: Path, *names: str) -> set[tuple[str, ...]]:
    """The different rows of some columns of a table, of which few are in memory at a time."""
    found: set[tuple[str, ...]] = set()
    for file in sorted(folder.glob("*.parquet")):
        with pq.ParquetFile(file) as parquet:
            for batch in parquet.iter_batches(columns=list(names)):
                once = pa.table(batch).group_by(list(names)).aggregate([])
                found.update(zip(*(c.to_pylist() for c in once.columns), strict=True))
    return found


def _count(folder: Path) -> int:
    """How many rows a table has, from what its files say of themselves."""
    return sum(pq.read_metadata(file).num_rows for file in folder.glob("*.parquet"))


def _put(folder: Path, columns: list[list[Any]], schema: pa.Schema) -> None:
    folder.mkdir()
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    pq.write_table(
        pa.table(arrays, schema=schema), folder / "part-00000.parquet", compression="zstd"
    )
