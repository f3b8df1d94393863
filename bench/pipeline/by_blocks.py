"""Compares some blocks of an index that is too large to be compared as a whole.

python -m bench.pipeline.by_blocks WORLD INDEX [SEED]

The rows of the world's tables about the entities of these blocks, and about all that those refer
to, make a small directory, which the kernel compiles. The entities in each scope, and the answers
to aimed questions about these entities, must be those of the index.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from multiprocessing import get_context
from operator import or_
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyroaring import BitMap

from bench.literal import Void
from bench.pipeline.agreement import compared_by
from bench.pipeline.aiming import Aiming
from bench.pipeline.rows import Rows
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.request import Decision, Request
from lakewarden.kernel.snapshot import Snapshot, compile
from lakewarden.kernel.statement import On
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.directory_manifest import read_manifest
from lakewarden.pipeline.directory_statements import STATEMENT_LINES
from lakewarden.pipeline.index.id_space import Bits
from lakewarden.pipeline.index.index import BLOCKS, MATCHES, Index, open_index, scopes_digest
from lakewarden.pipeline.index.task_context import (
    CompiledBlock,
    TaskContext,
    compiled,
    prepared,
    task_context_of,
)
from lakewarden.pipeline.tables import COLUMNS
from lakewarden.pipeline.version_folder import MANIFEST, folder_of

COUNT: Final = 8
"""How many blocks are compared: a million entities."""

QUESTIONS: Final = 200_000

_ABOUT: Final = {
    "entities": ("type", "name"),
    "attributes": ("type", "name"),
    "owners": ("type", "name"),
    "relations": ("source_type", "source_name"),
}
"""The columns that name the entity that a row is about; tables of people have none."""

_REFERS_TO: Final = {
    "entities": ("parent_type", "parent_name"),
    "relations": ("target_type", "target_name"),
}
"""The columns that name the entity that a row refers to."""


def apart(directory: Path, index: Path, seed: int) -> dict[str, Any]:
    """The comparison in a separate process; raises `Void` if something differs."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(agree, (directory, index, seed))


def agree(
    directory: Path, index: Path, seed: int, count: int = COUNT, questions: int = QUESTIONS
) -> dict[str, Any]:
    """The blocks, and the number of questions and of allowed ones, by aim; raises `Void`."""
    random, opened = Random(seed), open_index(index)
    context = task_context_of(opened)
    blocks = _blocks(opened, context, random, count)
    stored = {block.number: _stored(block) for block in blocks}
    named = {
        scope.entity for r in prepared(context).table.scopes if isinstance(scope := r.scope, On)
    }
    with TemporaryDirectory() as folder:
        part = Path(folder) / "part"
        write_part(directory, part, [named, *stored.values()])
        loaded = load(part)
    system = loaded.system
    kernel = compile(loaded.facts, system.model, system.spelling, now=context.now)
    ids = {number: _numbered(kernel, entities) for number, entities in stored.items()}
    _compare_scopes(opened, kernel, blocks, ids)
    aiming = Aiming(kernel, random, context.now, BitMap.union(*ids.values()))
    found = compared_by(kernel, _decides(kernel, blocks, ids), aiming.questions(questions))
    return {**found, "blocks": sorted(stored), "entities": len(aiming.within)}


# the index: some of its blocks, as every job evaluates them


def _blocks(index: Index, context: TaskContext, random: Random, count: int) -> list[CompiledBlock]:
    files = sorted((index.folder / BLOCKS).glob("*.parquet"))
    tables = (pq.read_table(file) for file in random.sample(files, min(count, len(files))))
    return [
        compiled(number, table.filter(pc.equal(table.column("block"), number)), context)
        for table in tables
        for number in pc.unique(table.column("block")).to_pylist()
    ]


def _stored(block: CompiledBlock) -> list[Entity]:
    """The block's own stored entities, in the order of their ids."""
    tree = block.block.coded.tree
    return [tree.entity(id) for id in block.block.own & tree.stored]


def _decides(
    kernel: Snapshot, blocks: Sequence[CompiledBlock], ids: Mapping[int, BitMap]
) -> Callable[[Request], Decision]:
    """Answers a request by the block of its target."""
    matrices = [Matrix(block.snapshot) for block in blocks]
    block_of = np.zeros(len(kernel.coded.tree), np.int32)
    for place, block in enumerate(blocks):
        block_of[ids[block.number].to_array()] = place

    def decide(request: Request) -> Decision:
        id = kernel.coded.tree.find(request.target)
        return matrices[block_of[id]].decide(request)

    return decide


def _compare_scopes(
    index: Index, kernel: Snapshot, blocks: Sequence[CompiledBlock], ids: Mapping[int, BitMap]
) -> None:
    """Raises `Void` unless the stored matches of the blocks are the kernel's."""
    if scopes_digest(kernel.table) != index.manifest.facts["scopes"]:
        raise Void("the scopes of the statements differ")
    is_chosen = ds.field("block").isin(list(ids))
    rows = ds.dataset(index.folder / MATCHES).to_table(filter=is_chosen)
    found: dict[tuple[int, int], Bits] = {}
    width = index.space.width
    for number, scope, bits in zip(
        *(rows.column(name).to_pylist() for name in ("block", "scope", "bits")), strict=True
    ):
        found[number, scope] = width.read_bitmap(bits)
    for block in blocks:
        own = block.block
        stored = own.own & own.coded.tree.stored
        for scope, members in enumerate(kernel.bitmaps):
            theirs = own.here(found.get((block.number, scope), width.bitmap_type())) & stored
            ours = members & ids[block.number]
            if {own.coded.tree.entity(id) for id in theirs} != set(
                map(kernel.coded.tree.entity, ours)
            ):
                reaching = kernel.table.scopes[scope]
                raise Void(f"block {block.number} has other entities in the scope {reaching}")


# the part of the directory


def write_part(directory: Path, out: Path, groups: Iterable[Iterable[Entity]]) -> None:
    """A directory of the rows about these entities and what they refer to, and of all people."""
    manifest = read_manifest(directory)
    tables = folder_of(directory, manifest)
    version = out / tables.relative_to(directory)
    version.mkdir(parents=True)
    (version / STATEMENT_LINES).write_bytes((tables / STATEMENT_LINES).read_bytes())
    selected, contents = _selected(tables, groups), {}
    for name in COLUMNS:
        rows = selected[name] if name in selected else pq.read_table(tables / name)
        with Rows(version, name) as written:
            if rows.num_rows:
                written.add(*(column.combine_chunks() for column in rows.columns))
        contents[name] = written.content()
    (out / MANIFEST).write_text(replace(manifest, tables=contents).text(), "utf-8")


def _selected(tables: Path, groups: Iterable[Iterable[Entity]]) -> dict[str, pa.Table]:
    """The rows about the entities, and about all that these refer to, step by step."""
    names, parts = set[Entity](), defaultdict[str, list[pa.Table]](list)
    for group in groups:
        new = set(group) - names
        while new:
            names |= new
            rows = {name: _rows(tables, name, new) for name in _ABOUT}
            for name, of_table in rows.items():
                parts[name].append(of_table)
            new = {e for name in _REFERS_TO for e in _referred_to(rows[name], name)} - names
    return {name: pa.concat_tables(of_table) for name, of_table in parts.items()}


def _rows(tables: Path, name: str, entities: Iterable[Entity]) -> pa.Table:
    """The rows of a table about some entities."""
    names = defaultdict[str, list[str]](list)
    for entity in entities:
        names[entity.type].append(entity.name)
    of_type, of_name = map(ds.field, _ABOUT[name])
    # The names of a block are close to each other: most of a table is skipped by its statistics.
    kinds = [
        (of_type == type) & (of_name >= min(these)) & (of_name <= max(these)) & of_name.isin(these)
        for type, these in names.items()
    ]
    return ds.dataset(tables / name).to_table(filter=reduce(or_, kinds))


def _referred_to(rows: pa.Table, name: str) -> Iterator[Entity]:
    named = rows.select(_REFERS_TO[name]).drop_null()
    distinct = named.group_by(named.column_names).aggregate([])
    yield from map(Entity, *(column.to_pylist() for column in distinct.columns))


def _numbered(kernel: Snapshot, entities: Sequence[Entity]) -> BitMap:
    """The kernel's ids of entities; raises `Void` for one that the directory does not have."""
    tree = kernel.coded.tree
    ids = BitMap(id for entity in entities if (id := tree.find(entity)) is not None)
    if len(ids & tree.stored) != len(entities):
        raise Void("the index has an entity that its directory does not have")
    return ids


def main(given: Sequence[str]) -> int:
    """Prints what was compared as JSON; the exit code is 1 if it differs, 2 for a wrong call."""
    if len(given) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        found = agree(Path(given[0]), Path(given[1]), int(given[2]) if len(given) == 3 else 1)
    except Void as reason:
        print(f"the index differs: {reason}", file=sys.stderr)
        return 1
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
