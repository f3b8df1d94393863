"""What a task says of a block: where two sides differ on it, or what one side is like there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import pyarrow as pa
from pyroaring import BitMap

from lakewarden.kernel.snapshot import Snapshot, assemble
from lakewarden.pipeline.diff.entity_signature import Signed, differing
from lakewarden.pipeline.diff.part import PART, PART_FIELDS, Comparison, Part, class_of
from lakewarden.pipeline.diff.profile import NOTHING, Profiler, domain, profiles
from lakewarden.pipeline.diff.user_numbering import Everyone, UserNumbering, stated
from lakewarden.pipeline.index.matching import canonical
from lakewarden.pipeline.index.task_context import NO_REVISION, CompiledBlock, TaskContext, prepared

BEFORE: Final = "before"
AFTER: Final = "after"


class Change(NamedTuple):
    """Entities of one type that gain and lose alike, by their ids, and what that is."""

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
    """Where two snapshots that give entities the same ids differ, among some of them.

    `about`: compared are only the questions that turn on any of these privileges.
    """
    crowds = UserNumbering(before, users), UserNumbering(after, users)
    signed = Signed(crowds[0], BEFORE), Signed(crowds[1], AFTER)
    old, new = (domain(crowd) for crowd in crowds)
    changed = differing(*signed, ids & old & new) | (ids & (old ^ new))
    pairs: dict[tuple[int, int], BitMap] = {}
    for id in changed:
        had = signed[0].numbers[id] if id in old else -1
        has = signed[1].numbers[id] if id in new else -1
        pairs.setdefault((had, has), BitMap()).add(id)
    sides = [Profiler(c, s, about) for c, s in zip(crowds, signed, strict=True)]
    had_by = profiles(sides[0], signed[0], changed & old)
    has_by = profiles(sides[1], signed[1], changed & new)
    tree = after.coded.tree
    for (had, has), alike in pairs.items():
        type = tree.kinds[tree.types[alike.min()]]
        one, other = had_by.get(had, NOTHING), has_by.get(has, NOTHING)
        parts = tuple(comparison.parts(type, one, other))
        if parts:
            yield Change(type, parts, alike)


FOUND: Final = (
    f"class string, type string, block int, n long, bits binary, id int, example string, {PART}"
)
"""Classes of a block (`gained` is null), and the parts of what each gains and loses."""

_FOUND: Final = pa.schema(
    [
        ("class", pa.string()),
        ("type", pa.string()),
        ("block", pa.int32()),
        ("n", pa.int64()),
        ("bits", pa.binary()),
        ("id", pa.int32()),
        ("example", pa.string()),
        *PART_FIELDS,
    ]
)
_PER_BATCH: Final = 4_096


def part_rows(type: str, parts: Iterable[Part]) -> Iterator[dict[str, object]]:
    """The parts of a class as rows of `FOUND`."""
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
    """Rows as batches of a bounded size."""
    waiting: list[Mapping[str, object]] = []
    for row in rows:
        waiting.append(row)
        if len(waiting) == _PER_BATCH:
            yield pa.RecordBatch.from_pylist(waiting, schema)
            waiting = []
    yield pa.RecordBatch.from_pylist(waiting, schema)


def found_batches(rows: Iterable[Mapping[str, object]]) -> Iterator[pa.RecordBatch]:
    """Rows of `FOUND` as batches."""
    return batches(rows, _FOUND)


@dataclass(frozen=True)
class Policies:
    """Judges blocks under two policy sets; the rows are `FOUND`."""

    before: TaskContext
    after: TaskContext
    users: Everyone
    about: frozenset[str] | None

    def __call__(self, judged: CompiledBlock) -> Iterator[pa.RecordBatch]:
        """Where the two differ in a block."""
        return found_batches(self._rows(judged))

    def _rows(self, judged: CompiledBlock) -> Iterator[dict[str, object]]:
        block = judged.block
        comparison = comparing(self.before, self.after, self.users)
        known = prepared(self.after)
        coded = replace(block.coded, memberships=self.after.memberships)
        after = assemble(coded, known.table, NO_REVISION)
        merged: dict[str, Change] = {}
        for change in changes(
            judged.snapshot, after, self.users, comparison, block.own, self.about
        ):
            number = class_of(change.type, change.parts)
            before = merged.get(number)
            ids = change.ids if before is None else before.ids | change.ids
            merged[number] = change._replace(ids=ids)
        for number, change in merged.items():
            ids = block.everywhere(change.ids)
            yield {
                "class": number,
                "type": change.type,
                "block": judged.number,
                "n": len(ids),
                "bits": canonical(ids),
                "id": ids.min(),
                "example": coded.tree.names[change.ids.min()],
            }
            yield from part_rows(change.type, change.parts)


def comparing(before: TaskContext, after: TaskContext, users: Everyone) -> Comparison:
    """The comparison of two estates, made once in each process."""
    key = (before.key, after.key)
    found = _COMPARISONS.get(key)
    if found is None:
        _COMPARISONS.clear()
        sides = stated(before, users), stated(after, users)
        model = prepared(after).system.model
        found = _COMPARISONS[key] = Comparison(model, *sides)
    return found


_COMPARISONS: dict[tuple[str, str], Comparison] = {}
