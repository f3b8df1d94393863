"""Joins accesses with the blocks of their entities, and evaluates them in tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.request import Request
from lakewarden.pipeline.index.task_context import CompiledBlock, TaskContext, compiled
from lakewarden.pipeline.unused.statement_paths import SAID, Access, Ways

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LOST: Final = "access long"
"""The numbers of accesses that are not allowed."""

Both = Callable[[pa.Table, pa.Table], pa.Table]


def decided(blocks: DataFrame, accesses: DataFrame, context: TaskContext, pieces: int) -> DataFrame:
    """The evaluation of accesses that were allowed; the columns are `SAID`."""

    def evaluate_block(rows: pa.Table, done: pa.Table) -> pa.Table:
        ways = Ways(_compiled_block(rows, context), context.now, pieces)
        for access in _accesses(done):
            ways.take(access)
        return pa.Table.from_batches([ways.batch()])

    return _together(blocks, accesses, evaluate_block, SAID)


def lost(blocks: DataFrame, accesses: DataFrame, context: TaskContext) -> DataFrame:
    """The accesses that the estate does not allow; the columns are `LOST`."""

    def evaluate_block(rows: pa.Table, done: pa.Table) -> pa.Table:
        judged = _compiled_block(rows, context)
        matrix = Matrix(judged.snapshot)
        people = judged.snapshot.coded.memberships.principals
        missing = [
            access.number
            for access in _accesses(done)
            if not matrix.decide(
                Request(people[access.principal], access.operation, access.entity, context.now)
            ).allow
        ]
        return pa.table({"access": pa.array(missing, pa.int64())})

    return _together(blocks, accesses, evaluate_block, LOST)


def _together(
    blocks: DataFrame, accesses: DataFrame, evaluate_block: Both, schema: str
) -> DataFrame:
    """Each affected block, with its accesses."""
    from pyspark.sql import functions as F  # noqa: N812 — the usual alias

    concerned = F.broadcast(accesses.select("block").distinct())
    own = blocks.join(concerned, "block", "left_semi").groupBy("block")
    return own.cogroup(accesses.groupBy("block")).applyInArrow(evaluate_block, schema)


def _compiled_block(rows: pa.Table, context: TaskContext) -> CompiledBlock:
    return compiled(rows.column("block")[0].as_py(), rows, context)


def _accesses(done: pa.Table) -> list[Access]:
    names = ("number", "principal", "operation", "type", "name", "recent", "last")
    columns = (done.column(name).to_pylist() for name in names)
    return [
        Access(number, principal, operation, Entity(type, name), n, last)
        for number, principal, operation, type, name, n, last in zip(*columns, strict=True)
    ]
