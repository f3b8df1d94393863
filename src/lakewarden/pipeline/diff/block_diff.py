"""The difference of two sides on a block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import pyarrow as pa
from pyroaring import BitMap

from lakewarden.kernel.snapshot import Snapshot, assemble
from lakewarden.pipeline.diff.entity_signature import DifferingPrivileges, Signed, differing
from lakewarden.pipeline.diff.part import PART, PART_FIELDS, Comparison, Part, class_of
from lakewarden.pipeline.diff.profile import NOTHING, Profiler, domain
from lakewarden.pipeline.diff.user_numbering import Everyone, UserNumbering, stated
from lakewarden.pipeline.index.matching import canonical
from lakewarden.pipeline.index.task_context import NO_REVISION, CompiledBlock, TaskContext, prepared

BEFORE: Final = "before"
AFTER: Final = "after"


class Change(NamedTuple):
    """Entities of one type with the same gains and losses, by their ids, and these parts."""

    type: str
    parts: tuple[Part, ...]
    ids: BitMap


def changes(
    before: Snapshot,
    after: Snapshot,
    users: Everyone,
    comparison: Comparison,
    ids: BitMap,
    about: frozenset[str] | None = None,
) -> Iterator[Change]:
    """The differences of some entities between two snapshots with the same entity ids.

    `about`: the snapshots differ only in statements, and these only concern these privileges. Then
    only questions that depend on any of them are compared.
    """
    crowds = UserNumbering(before, users), UserNumbering(after, users)
    signed = Signed(crowds[0], BEFORE), Signed(crowds[1], AFTER)
    old, new = (domain(numbering) for numbering in crowds)
    changed = differing(*signed, ids & old & new) | (ids & (old ^ new))
    pairs: dict[tuple[int, int], BitMap] = {}
    for id in changed:
        had = signed[0].numbers[id] if id in old else -1
        has = signed[1].numbers[id] if id in new else -1
        pairs.setdefault((had, has), BitMap()).add(id)
    otherwise = None if about is None else DifferingPrivileges(*signed)
    sides = [Profiler(c, s, about, otherwise) for c, s in zip(crowds, signed, strict=True)]
    tree = after.coded.tree
    for alike in pairs.values():
        first = alike.min()
        type = tree.kinds[tree.types[first]]
        profiles = [
            profiler.profile(first) if first in present_on_side else NOTHING
            for profiler, present_on_side in zip(sides, (old, new), strict=True)
        ]
        parts = tuple(comparison.parts(type, *profiles))
        if parts:
            yield Change(type, parts, alike)


BLOCK_DIFF: Final = (
    f"class string, type string, block int, n long, bits binary, id long, example string, {PART}"
)
"""Classes of a block (`gained` is null), and the parts that each gains and loses."""

_BLOCK_DIFF: Final = pa.schema(
    [
        ("class", pa.string()),
        ("type", pa.string()),
        ("block", pa.int32()),
        ("n", pa.int64()),
        ("bits", pa.binary()),
        ("id", pa.int64()),
        ("example", pa.string()),
        *PART_FIELDS,
    ]
)
_PER_BATCH: Final = 4_096


def part_rows(type: str, parts: Iterable[Part]) -> Iterator[dict[str, object]]:
    """The parts of a class as rows of `BLOCK_DIFF`."""
    known = list(parts)
    number = class_of(type, known)
    for part in known:
        yield {
            "class": number,
            "type": type,
            "gained": part.gained,
            "kind": part.question.kind,
            "name": part.question.name,
            "users": part.users,
            "principals": list(part.principals),
            "statements": list(part.statements),
        }


def batches(rows: Iterable[Mapping[str, object]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows in batches of a bounded size."""
    waiting: list[Mapping[str, object]] = []
    for row in rows:
        waiting.append(row)
        if len(waiting) == _PER_BATCH:
            yield pa.RecordBatch.from_pylist(waiting, schema)
            waiting = []
    yield pa.RecordBatch.from_pylist(waiting, schema)


def block_diff_batches(rows: Iterable[Mapping[str, object]]) -> Iterator[pa.RecordBatch]:
    """Rows of `BLOCK_DIFF` in batches."""
    return batches(rows, _BLOCK_DIFF)


@dataclass(frozen=True)
class Policies:
    """Judges blocks under two policy sets; the rows are `BLOCK_DIFF`."""

    before: TaskContext
    after: TaskContext
    users: Everyone
    about: frozenset[str] | None

    def __call__(self, compiled_block: CompiledBlock) -> Iterator[pa.RecordBatch]:
        """The differences of the two in a block."""
        return block_diff_batches(self._rows(compiled_block))

    def _rows(self, compiled_block: CompiledBlock) -> Iterator[dict[str, object]]:
        block = compiled_block.block
        comparison = comparing(self.before, self.after, self.users)
        known = prepared(self.after)
        coded = replace(block.coded, memberships=self.after.memberships)
        after = assemble(coded, known.table, NO_REVISION)
        merged: dict[str, Change] = {}
        for change in changes(
            compiled_block.snapshot, after, self.users, comparison, block.own, self.about
        ):
            number = class_of(change.type, change.parts)
            before = merged.get(number)
            ids = change.ids if before is None else before.ids | change.ids
            merged[number] = change._replace(ids=ids)
        for number, change in merged.items():
            members = block.everywhere(change.ids)
            yield {
                "class": number,
                "type": change.type,
                "block": compiled_block.number,
                "n": len(members),
                "bits": canonical(members),
                "id": members.min(),
                "example": coded.tree.names[change.ids.min()],
            }
            yield from part_rows(change.type, change.parts)


def comparing(before: TaskContext, after: TaskContext, users: Everyone) -> Comparison:
    """The comparison of two estates, created once in each process."""
    key = (before.key, after.key)
    comparison = _COMPARISONS.get(key)
    if comparison is None:
        _COMPARISONS.clear()
        sides = stated(before, users), stated(after, users)
        model = prepared(after).system.model
        comparison = _COMPARISONS[key] = Comparison(model, *sides)
    return comparison


_COMPARISONS: dict[tuple[str, str], Comparison] = {}
