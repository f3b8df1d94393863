"""The difference of two sides on a block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from lakewarden.kernel.snapshot import assemble
from lakewarden.pipeline.diff.access_changes import Change, changes
from lakewarden.pipeline.diff.part import PART, PART_FIELDS, Comparison, Part
from lakewarden.pipeline.diff.user_numbering import Everyone, stated
from lakewarden.pipeline.index.matching import canonical
from lakewarden.pipeline.index.task_context import NO_REVISION, CompiledBlock, TaskContext, prepared

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


def part_rows(number: str, type: str, parts: Iterable[Part]) -> Iterator[dict[str, object]]:
    """The parts of a class as rows of `BLOCK_DIFF`."""
    for part in parts:
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


@dataclass(frozen=True)
class Policies:
    """Judges blocks under two policy sets; the rows are `BLOCK_DIFF`."""

    before: TaskContext
    after: TaskContext
    users: Everyone

    def __call__(self, compiled_block: CompiledBlock) -> Iterator[pa.RecordBatch]:
        """The differences of the two in a block."""
        return batches(self._rows(compiled_block), _BLOCK_DIFF)

    def _rows(self, compiled_block: CompiledBlock) -> Iterator[dict[str, object]]:
        block = compiled_block.block
        comparison = comparing(self.before, self.after, self.users)
        coded = replace(block.coded, memberships=self.after.memberships)
        after = assemble(coded, prepared(self.after).table, NO_REVISION)
        for change in changes(compiled_block.snapshot, after, comparison, block.own):
            yield self._class_row(compiled_block, change)
            yield from part_rows(change.number, change.type, change.parts)

    def _class_row(self, compiled_block: CompiledBlock, change: Change) -> dict[str, object]:
        members = compiled_block.block.everywhere(change.ids)
        names = compiled_block.block.coded.tree.names
        return {
            "class": change.number,
            "type": change.type,
            "block": compiled_block.number,
            "n": len(members),
            "bits": canonical(members),
            "id": members.min(),
            "example": names[change.ids.min()],
        }


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
