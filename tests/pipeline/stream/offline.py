"""Executes a plan in this process, without Spark: the resulting rows and matches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.snapshot import Snapshot, compile
from lakewarden.pipeline.index import matching, task_context
from lakewarden.pipeline.index.block import ENTITY, ROWS
from lakewarden.pipeline.index.index import BLOCKS, MATCHES, Index, open_index
from lakewarden.pipeline.index.matching import canonical
from lakewarden.pipeline.index.task_context import BlockFunction, TaskContext
from lakewarden.pipeline.stream import reused_matches
from lakewarden.pipeline.stream.plan import Plan
from lakewarden.pipeline.stream.policy import Policy
from lakewarden.service.system import System
from lakewarden.testing.world_draft import NOW
from tests.pipeline.index import worlds

Row = tuple[Any, ...]


def compiled(system: System, facts: Facts) -> tuple[Snapshot, Facts]:
    """The facts with their statements in a directory's order, compiled; and those facts."""
    known = {s.id: s for s in facts.statements}
    stated = Policy(system, known, set(), set(), set()).stated()
    ordered = replace(facts, statements=stated)
    return compile(ordered, system.model, system.spelling, now=NOW), ordered


def indexed(
    out: Path, system: System, facts: Facts, told: Mapping[str, object], bits: int
) -> Index:
    """The index of the facts; `told` are added to those of its manifest."""
    snapshot, ordered = compiled(system, facts)
    worlds.index(out, snapshot, system, ordered.statements, bits=bits, facts=told)
    return open_index(out)


def names(index: Index, wanted: Iterable[Entity]) -> dict[int, Entity]:
    """Like `plan` looks names up: the wanted ones, and those that are not stored."""
    asked = set(wanted)
    found = {}
    for row in own(index):
        _, what, id, _, _, type, name, flag = row
        if what == ENTITY and (not flag or Entity(type, name) in asked):
            found[id] = Entity(type, name)
    return found


def before(
    index: Index, placed: Mapping[int, int], named: Mapping[int, Entity], leaving: set[int]
) -> dict[int, int]:
    """Like `plan` finds the member of a container before which a node is inserted."""
    found: dict[int, int] = {}
    entities = [row for row in own(index) if row[1] == ENTITY]
    for node, parent in placed.items():
        key = named[node].name, named[node].type
        after = [r[2] for r in entities if r[3] == parent and (r[6], r[5]) > key]
        after = [id for id in after if id not in leaving]
        if after:
            found[node] = min(after)
    return found


def table(index: Index, name: str) -> list[Row]:
    """All rows of a table."""
    read = pq.read_table(index.folder / name)
    return list(zip(*(c.to_pylist() for c in read.columns), strict=True))


def own(index: Index) -> list[Row]:
    """The rows of blocks, without guests."""
    bits = index.manifest.facts["bits"]
    return [row for row in table(index, BLOCKS) if row[2] >> bits == row[0]]


def rows(index: Index, plan: Plan) -> list[Row]:
    """The rows of all blocks after the plan; those not rewritten are unchanged."""
    bits = plan.context.bits
    read = pq.read_table(index.folder / BLOCKS)
    mine = pa.array([row[2] >> bits == row[0] for row in table(index, BLOCKS)])
    moved = plan.translation.moved(iter(read.filter(mine).to_batches()))
    cells = [tuple(row.values()) for batch in moved for row in batch.to_pylist()]
    cells += [tuple(row.values()) for row in plan.new_rows.to_pylist()]
    by_id: dict[int, list[Row]] = {}
    for row in cells:
        by_id.setdefault(row[1], []).append(row)
    found = [(row[1] >> bits, *row) for row in cells if row[1] >> bits in plan.rewritten]
    for block, id in zip(plan.pairs.blocks.tolist(), plan.pairs.ids.tolist(), strict=True):
        if block in plan.rewritten:
            found += [(block, *row) for row in by_id[id]]
    kept = [row for row in table(index, BLOCKS) if row[0] not in plan.rewritten]
    return sorted([*found, *([] if plan.is_shifted else kept)], key=repr)


def matches(index: Index, plan: Plan) -> dict[tuple[int, int], bytes]:
    """The matches of all blocks after the plan, by scope and block."""
    found: dict[tuple[int, int], Any] = {}
    width = plan.context.space.width
    for scope, _, _, bits in table(index, MATCHES):
        if scope in plan.reused_scopes:
            ids = width.read_bitmap(bits)
            for block, part in reused_matches.parts(ids, plan.shift, plan.context.bits):
                if block in plan.clean:
                    key = plan.reused_scopes[scope], block
                    found[key] = found.get(key, width.bitmap_type()) | part
    judged = list(_judged(index, plan, plan.context, plan.dirty, matching.matches))
    if plan.anew:
        estate = replace(plan.context, statements=plan.stated_anew, key="anew")
        judged += _judged(index, plan, estate, plan.clean, reused_matches.only(plan.anew))
    told = {(scope, block): bits for scope, block, _, bits in judged}
    return {key: canonical(ids) for key, ids in found.items()} | told


def _judged(
    index: Index, plan: Plan, estate: TaskContext, blocks: frozenset[int], judge: BlockFunction
) -> Iterator[Row]:
    """Like `each_block` evaluates these blocks."""
    cells = sorted(rows(index, plan), key=lambda row: row[:3])
    for number in sorted(blocks):
        columns = list(zip(*(row for row in cells if row[0] == number), strict=True))
        schema = estate.space.width.schema(ROWS)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
        read = pa.table(arrays, schema=schema)
        for batch in judge(task_context.compiled(number, read, estate)):
            yield from (tuple(row.values()) for row in batch.to_pylist())
