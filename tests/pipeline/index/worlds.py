"""Worlds as directories, and as indexes made without Spark."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path

import numpy as np
import pyarrow as pa

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.facts import ROOT, Coded
from lakewarden.kernel.grants import Table
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.snapshot import Snapshot, compile
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import read_statements, write_statement
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.directory_manifest import Manifest as Directory
from lakewarden.pipeline.index import guests
from lakewarden.pipeline.index import index as indexes
from lakewarden.pipeline.index.block import (
    ATTRIBUTE,
    EDGE,
    ENTITY,
    OWNER,
    ROWS,
    Block,
    People,
    block_of,
)
from lakewarden.pipeline.index.guests import Pairs, relations_read, subject_attributes
from lakewarden.pipeline.index.id_space import FIRST, IdSpace
from lakewarden.pipeline.index.matching import matches
from lakewarden.pipeline.index.task_context import CompiledBlock
from lakewarden.pipeline.ingest.source import silent
from lakewarden.pipeline.product import Content, Input, Manifest, draft
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.parquet import write_table
from lakewarden.service.system import System
from tests.pipeline.directories import write_directory

BITS = 3
"""Blocks of eight entities, so even a small world has several."""

Row = tuple[int, int, int | None, int | None, str | None, str | None, bool | None]
"""A row of a block, without the number of the block."""


def is_plain(coded: Coded) -> bool:
    """Whether there are no cycles: otherwise there is no index."""
    return not coded.tree.displaced and not coded.tree.looped


def kept(system: System, facts: Facts) -> Facts:
    """The facts with statements as files store them: an owner without a type names nobody there."""
    tables = [write_statement(statement) for statement in facts.statements]
    stated = read_statements(tables, system.model, system.spelling, "the world", builtin=True)
    return replace(facts, statements=stated)


def possible(system: System, facts: Facts) -> Facts:
    """The facts without statements about privileges that cannot be granted."""
    privilege = system.model.privilege
    stated = [s for s in facts.statements if all(privilege(p).grantable for p in s.privileges)]
    return replace(facts, statements=stated)


def directory(path: Path, system: System, facts: Facts) -> Directory:
    """An ingested directory with the facts, without statements that cannot be created."""
    stated = {statement.id for statement in facts.statements}
    model, defaults = system.model, system.model.defaults
    granted = possible(system, facts).statements
    return write_directory(
        path,
        {
            "entities": [(*e, *(parent or (None, None))) for e, parent in facts.entities],
            "relations": [(r.kind, *r.source, *r.target) for r in facts.relations],
            "attributes": [(*r.entity, r.attribute, r.value) for r in facts.attributes],
            "owners": [(*r.entity, *r.owner, r.ownership) for r in facts.owners],
            "principals": [tuple(p) for p in facts.principals],
            "memberships": [(*r.member, *r.of) for r in facts.memberships],
        },
        statements=[write_statement(statement) for statement in granted],
        model=model.name,
        settings=model.settings,
        deleted=[str(t["id"]) for t in defaults if t.get("editable") and t["id"] not in stated],
    )


def rows(coded: Coded, first: int = 0) -> Iterator[Row]:
    """The entities of a realm, row by row, with ids from `first` on."""
    tree = coded.tree
    for at in range(len(tree)):
        id, (kind, name) = first + at, tree.entity(at)
        parent, end = int(tree.parents[at]), first + int(tree.ends[at])
        parent = first + parent if parent >= 0 else -1
        yield (ENTITY, id, parent, end, kind, name, at in tree.stored)
        for relation, edges in coded.relations.items():
            yield from ((EDGE, id, first + t, None, relation, None, None) for t, _ in edges.of(at))
        for owner, label in coded.owners.of(at):
            yield (OWNER, id, owner, None, coded.ownerships[label], None, None)
        for attribute, values in coded.attributes.get(at, {}).items():
            yield from ((ATTRIBUTE, id, None, None, attribute, v, None) for v in values)


def blocks(coded: Coded, table: Table, space: IdSpace) -> dict[int, pa.Table]:
    """The realm in blocks, each with its guests."""
    first, bits, schema = space.first, space.bits, space.width.schema(ROWS)
    known: dict[int, list[Row]] = {}
    for row in rows(coded, first):
        known.setdefault(row[1], []).append(row)
    inside: dict[int, set[int]] = {}
    for id in range(first, first + len(coded.tree)):
        inside.setdefault(id >> bits, set()).add(id)
    hosted = _guests(coded, table, bits)
    for block, guest in zip(hosted.blocks.tolist(), hosted.ids.tolist(), strict=True):
        inside[block + space.blocks[0]].add(guest + first)
    found = {}
    for block, ids in inside.items():
        cells = sorted(((block, *row) for id in ids for row in known[id]), key=lambda r: r[1:3])
        columns = list(zip(*cells, strict=True))
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
        found[block] = pa.table(arrays, schema=schema)
    return found


def _guests(coded: Coded, table: Table, bits: int) -> Pairs:
    tree = coded.tree
    everyone = np.arange(len(tree), dtype=np.int64)
    kinds = relations_read(coded.model)
    edges = [
        (id, target)
        for kind in sorted(kinds)
        for id in range(len(tree))
        for target, _ in coded.relations[kind].of(id)
    ]
    sources, targets = np.array(sorted(edges), dtype=np.int64).reshape(-1, 2).T
    parents = tree.parents.astype(np.int64)
    reached = guests.Reached(everyone, parents, sources, targets)
    common = np.array(sorted({ROOT, *_common(coded, table)}), dtype=np.int64)
    numbers = np.arange((len(tree) - 1 >> bits) + 1, dtype=np.int64)
    inner = everyone[parents >= 0]
    start = Pairs(
        np.concatenate([np.repeat(numbers, len(common)), inner >> bits, sources >> bits]),
        np.concatenate([np.tile(common, len(numbers)), parents[inner], targets]),
    )
    return guests.closure(start, reached, bits)


def _common(coded: Coded, table: Table) -> Iterator[int]:
    """The contents of every block: types, ancestors of scopes, reported subjects."""
    keys = subject_attributes(coded.model)
    for subject, told in coded.attributes.items():
        if keys & told.keys() and coded.model.principal_kind(coded.tree.entity(subject)):
            yield subject
    for index in coded.tree.named.values():
        id = index.get("")
        if id is not None:
            yield id
    for entity in guests.anchors(table.scopes, coded.spelling):
        id = coded.tree.find(entity)
        if id is not None:
            yield id


def compiled_blocks(
    snapshot: Snapshot, system: System, bits: int = BITS, first: int = 0
) -> Iterator[CompiledBlock]:
    """The blocks of a realm, each compiled separately; ids begin at `first`."""
    coded = snapshot.coded
    people = People(coded.memberships, coded.ownerships)
    space = IdSpace.of(len(coded.tree), bits, first)
    for number, table in sorted(blocks(coded, snapshot.table, space).items()):
        block: Block = block_of(table, space.own(number), system, people, space.width)
        yield CompiledBlock(number, block, snapshot.table)


def index(
    out: Path,
    snapshot: Snapshot,
    system: System,
    statements: Iterable[Statement],
    *,
    bits: int = BITS,
    facts: Mapping[str, object] | None = None,
    inputs: tuple[Input, ...] = (),
) -> Manifest:
    """An index of the realm, as the job makes it; `facts` are added to those of its manifest.

    They may have the first id.
    """
    coded, table = snapshot.coded, snapshot.table
    first = int(str((facts or {}).get(FIRST, 0)))
    space = IdSpace.of(len(coded.tree), bits, first)
    memberships = coded.memberships
    told = {
        **{"realm": "lake", "revision": None, "store": "", "bits": bits, **space.facts()},
        "model": system.model.name,
        "settings": dict(system.model.settings),
        "digest": system.model.digest,
        "relations": sorted(relations_read(system.model)),
        "from": table.start if isfinite(table.start) else None,
        "until": table.end if isfinite(table.end) else None,
        "differs": [],
        "members": [list(entity) for entity in _members(coded)],
        "ownerships": list(coded.ownerships),
        "scopes": indexes.scopes_digest(table),
        **(facts or {}),
    }
    with draft(out, indexes.KIND, "key", silent) as one:
        tables = (json.dumps(write_statement(s), ensure_ascii=False) for s in statements)
        text = "".join(f"{table}\n" for table in tables)
        (one.folder / indexes.STATEMENTS).write_text(text, "utf-8")
        parts = [blocks for _, blocks in sorted(blocks(coded, table, space).items())]
        _put(
            one.folder / indexes.BLOCKS,
            [pa.concat_tables(some) for n in range(2) if (some := parts[n::2])],
        )
        found = [
            batch
            for each in compiled_blocks(snapshot, system, bits, first)
            for batch in matches(each)
        ]
        _put(one.folder / indexes.MATCHES, [pa.Table.from_batches(found)])
        people = [
            (p.kind, p.name, id in memberships.stored)
            for id, p in enumerate(memberships.principals)
        ]
        _put(one.folder / indexes.PRINCIPALS, [_table(people, indexes.PRINCIPAL_COLUMNS)])
        pairs = {(m, g) for m, groups in memberships.of.items() for g in groups} | memberships.inert
        _put(one.folder / indexes.MEMBERSHIPS, [_table(sorted(pairs), indexes.MEMBERSHIP_COLUMNS)])
        content = dict.fromkeys((indexes.BLOCKS, indexes.MATCHES), Content(0, "0" * 32))
        manifest, _, _ = one.finish(Manifest(indexes.KIND, 0, inputs, {}, told, content), {})
    return manifest


def index_of(source: Path, out: Path, *, now: float, bits: int = BITS, first: int = 0) -> None:
    """An index of an ingested directory of a realm without a store, for jobs that read an index.

    Ids begin at `first`.

    It takes a tenth of the time of Spark. `tests.pipeline.index.test_run` compares the job's index
    with the kernel's.
    """
    found = load(source)
    system, facts = found.system, found.facts
    tables = (json.dumps(write_statement(s), ensure_ascii=False) for s in facts.statements)
    text = found.manifest.text() + "".join(f"{table}\n" for table in tables)
    sha256 = hashlib.sha256(text.encode("utf-8")).hexdigest()
    index(
        out,
        compile(facts, system.model, system.spelling, now=now),
        system,
        facts.statements,
        bits=bits,
        facts={"realm": found.manifest.realm, **({FIRST: first} if first else {})},
        inputs=(Input(found.manifest.realm, found.manifest.version, sha256),),
    )


def _members(coded: Coded) -> list[Entity]:
    kinds = sorted(coded.model.membership_types)
    return [coded.tree.entity(id) for kind in kinds for id in coded.tree.of_type(kind)]


def _put(folder: Location, parts: Sequence[pa.Table]) -> None:
    folder.mkdir()
    for number, part in enumerate(parts):
        write_table(part, folder / f"part-{number:05}.parquet")


def _table(cells: Sequence[Sequence[object]], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*cells, strict=True)) or [()] * len(schema)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def differences(one: Snapshot, other: Snapshot) -> list[str]:
    """The differences between two compiled realms, array by array."""
    a, b = one.coded, other.coded
    pairs = {
        "kinds": (a.tree.kinds, b.tree.kinds),
        "names": (a.tree.names, b.tree.names),
        "named": (a.tree.named, b.tree.named),
        "types": (a.tree.types.tolist(), b.tree.types.tolist()),
        "parents": (a.tree.parents.tolist(), b.tree.parents.tolist()),
        "ends": (a.tree.ends.tolist(), b.tree.ends.tolist()),
        "stored": (a.tree.stored, b.tree.stored),
        "deep": (a.tree.deep, b.tree.deep),
        "acting": (a.memberships, b.memberships),
        "attributes": (a.attributes, b.attributes),
        "ownerships": (a.ownerships, b.ownerships),
        "owners": (_edges(a.owners), _edges(b.owners)),
        "relations": tuple({k: _edges(e) for k, e in c.relations.items()} for c in (a, b)),
        "scopes": (one.table.scopes, other.table.scopes),
        "statements": (one.table.statements, other.table.statements),
        "interval": tuple((s.table.start, s.table.end) for s in (one, other)),
        "bitmaps": (one.bitmaps, other.bitmaps),
        "owned by": (one.owned_by, other.owned_by),
        "classes": tuple(s.classes and s.classes.classes.tolist() for s in (one, other)),
    }
    return [name for name, (ours, theirs) in pairs.items() if ours != theirs]


def _edges(edges: object) -> list[list[int]]:
    return [getattr(edges, name).tolist() for name in ("offsets", "targets", "labels")]
