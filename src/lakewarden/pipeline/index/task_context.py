"""The part of the realm that every block needs, and how to evaluate a block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from lakewarden.kernel.blocks import Stored
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.facts import ROOT
from lakewarden.kernel.grants import Table, table
from lakewarden.kernel.implied import membership
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.scopes import match
from lakewarden.kernel.snapshot import Snapshot, assemble
from lakewarden.kernel.statement import Statement
from lakewarden.models.own import ModelText
from lakewarden.pipeline import local_mode, parquet_output
from lakewarden.pipeline.index.block import ROWS, Block, People, block_of
from lakewarden.pipeline.index.columns import Ints
from lakewarden.pipeline.index.id_space import IdSpace
from lakewarden.pipeline.index.index import BLOCKS, Index
from lakewarden.pipeline.session import expect, runs_locally
from lakewarden.pipeline.storage.files import parquet_files
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.parquet import parquet_file
from lakewarden.pipeline.storage.remote_path import RemotePath
from lakewarden.service.system import System, load_system

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterator[pa.RecordBatch]
NO_REVISION: Final = 0

SIDES: Final = 2
"""How many estates a process keeps prepared: as many as a comparison has."""

_TASKS_OF_A_CORE: Final = 2
"""More tasks would each receive the estate for few blocks; with one, the last would be slow."""


@dataclass(frozen=True, slots=True)
class TaskContext:
    """The realm without its entities: the model, the memberships, and the statements.

    `statements` include implied ones. `now` is the moment of the question. `space` are the ids of
    the entities, and their blocks.
    """

    model: str
    settings: Mapping[str, str]
    memberships: Memberships
    ownerships: tuple[str, ...]
    statements: tuple[Statement, ...]
    now: float
    space: IdSpace
    model_text: ModelText | None = None
    key: str = field(default_factory=lambda: uuid4().hex, compare=False)
    """Identifies this estate: a process prepares it once for many blocks."""

    @property
    def bits(self) -> int:
        """A block holds 2 to the power of this number of ids."""
        return self.space.bits

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return len(self.space.blocks)


def task_context_of(index: Index, statements: Iterable[Statement] | None = None) -> TaskContext:
    """The estate of an index, with its own statements or with the given ones."""
    facts = index.manifest.facts
    stated = tuple(index.statements() if statements is None else statements)
    memberships = index.memberships()
    for statement in stated:
        for principal in sorted(statement.named):
            memberships, _ = memberships.numbered(principal)
    implied = (membership(Entity(*cells)) for cells in facts["members"])
    return TaskContext(
        model=index.system.model.name,
        settings=index.system.model.settings,
        memberships=memberships,
        ownerships=index.ownerships,
        statements=(*stated, *implied),
        now=index.now,
        space=index.space,
        model_text=index.system.text,
    )


def blocks_of(index: Index, spark: SparkSession) -> DataFrame:
    """The rows of all blocks of an index; see `each_block`."""
    return parquet_output.read(spark, index.folder / BLOCKS, index.space.width.columns(ROWS))


@dataclass(frozen=True, slots=True)
class Prepared:
    """An estate, prepared for tasks."""

    system: System
    people: People
    table: Table


def prepared(context: TaskContext) -> Prepared:
    """The estate, prepared once in each process."""
    known = _PREPARED.get(context.key)
    if known is None:
        if len(_PREPARED) >= SIDES:
            _PREPARED.clear()
        known = _PREPARED[context.key] = _prepare(context)
    return known


_PREPARED: dict[str, Prepared] = {}


def _prepare(context: TaskContext) -> Prepared:
    system = load_system(context.model, context.settings, context.model_text)
    statements = {statement.id: statement for statement in context.statements}
    index = table(statements, system.model, context.memberships, context.now)
    return Prepared(system, People(context.memberships, context.ownerships), index)


@dataclass(frozen=True)
class CompiledBlock:
    """A block that the kernel compiles with the statements of `table`."""

    number: int
    block: Block
    table: Table

    @cached_property
    def snapshot(self) -> Snapshot:
        """The block, compiled, including its guests."""
        return assemble(self.block.coded, self.table, NO_REVISION)

    @cached_property
    def bitmaps(self) -> Sequence[BitMap]:
        """The entities and guests in each scope of the table, without the rest of a snapshot."""
        return match(Stored(self.block.coded), self.table.scopes)

    def types(self) -> Iterator[tuple[str, Ints]]:
        """The types of the block's own entities that rules judge, with their ids."""
        tree, own = self.snapshot.coded.tree, self.block.own
        if ROOT in own and tree.entity(ROOT) == NO_RESOURCE:
            yield "", np.array([ROOT], dtype=np.int32)
        for type in tree.kinds:
            ids = self.snapshot.of_type(type) & own if type else BitMap()
            if ids:
                yield type, np.asarray(ids.to_array(), dtype=np.int32)


BlockFunction = Callable[[CompiledBlock], Iterable[pa.RecordBatch]]


def each_block(
    blocks: DataFrame, context: TaskContext, function: BlockFunction, schema: str
) -> DataFrame:
    """The output of `function` for every block; `blocks` are the rows of the index."""

    def run(batches: Batches) -> Batches:
        return map_blocks_locally(batches, context, function)

    return blocks.mapInArrow(run, schema)


def each_block_in(
    place: Location, spark: SparkSession, context: TaskContext, function: BlockFunction, schema: str
) -> DataFrame:
    """Like `each_block`, for all blocks whose files are in the folder `place`.

    On this machine the tasks open the files themselves: the rows do not pass through Java.
    """
    if isinstance(place, RemotePath) or not runs_locally(spark):
        columns = context.space.width.columns(ROWS)
        return each_block(parquet_output.read(spark, place, columns), context, function, schema)
    files = parquet_files(place.absolute())
    tasks = max(1, min(len(files), _TASKS_OF_A_CORE * spark.sparkContext.defaultParallelism))

    def run(numbers: Batches) -> Batches:
        for batch in numbers:
            for number in batch.column("id").to_pylist():
                for file in files[number::tasks]:
                    yield from map_blocks_locally(_rows_of(file), context, function)

    return spark.range(0, tasks, 1, tasks).mapInArrow(run, schema)


def write_each_block(
    index: Index,
    context: TaskContext,
    function: BlockFunction,
    schema: str,
    place: Location,
    spark: SparkSession,
) -> None:
    """Writes the output of `function` for every block of an index to the folder `place`.

    A single block is evaluated in this process, unless Spark runs elsewhere: this saves starting a
    worker and sending it the estate.
    """
    blocks = index.folder / BLOCKS
    expect(spark, context.space.count)
    if context.blocks <= 1 and local_mode.is_small(context.space.count, spark):
        rows = (rows for file in parquet_files(blocks) for rows in _rows_of(file))
        judgements = map_blocks_locally(rows, context, function)
        parquet_output.put(judgements, parquet_output.arrow_schema(schema), place)
    else:
        parquet_output.write(each_block_in(blocks, spark, context, function, schema), place)


def _rows_of(file: Location) -> Batches:
    with parquet_file(file) as parquet:
        yield from parquet.read().to_batches()


def map_blocks_locally(batches: Batches, context: TaskContext, function: BlockFunction) -> Batches:
    """The output of `function` for the blocks of some rows, in this process."""
    for number, rows in _blocks(batches):
        yield from function(compiled(number, rows, context))


def compiled(number: int, rows: pa.Table, context: TaskContext) -> CompiledBlock:
    """The block of these rows. Raises `WardenError` if some are missing."""
    known, own = prepared(context), context.space.own(number)
    block = block_of(rows, own, known.system, known.people, context.space.width)
    if block.stop - block.start != own[1] - own[0]:
        raise WardenError(f"block {number} is not whole; rebuild the index")
    return CompiledBlock(number, block, known.table)


def _blocks(batches: Batches) -> Iterator[tuple[int, pa.Table]]:
    """The rows by block; those of a block are adjacent in one file."""
    waiting: list[pa.RecordBatch] = []
    at = -1
    for batch in batches:
        numbers = batch.column("block")
        for part in _runs(batch, numbers):
            number = part.column("block")[0].as_py()
            if waiting and number != at:
                yield at, pa.Table.from_batches(waiting)
                waiting = []
            at = number
            waiting.append(part)
    if waiting:
        yield at, pa.Table.from_batches(waiting)


def _runs(batch: pa.RecordBatch, numbers: pa.Array) -> Iterator[pa.RecordBatch]:
    """The batch, cut at the start of each block."""
    ends = pc.run_end_encode(numbers).run_ends.to_pylist() if len(batch) else []
    begin = 0
    for end in ends:
        yield batch.slice(begin, end - begin)
        begin = end
