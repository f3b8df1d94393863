"""Signatures and profiles of a block of one index, for the comparison of two indexes.

The blocks of the two hold different entities, so entities are matched by type and name. First every
entity is signed. Profiles are only computed for entities whose signatures differ, or that are on
one side only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyroaring import BitMap, BitMap64

from lakewarden.pipeline.diff.block_diff import batches, comparing, part_rows
from lakewarden.pipeline.diff.entity_signature import Signed
from lakewarden.pipeline.diff.part import PART, PART_FIELDS, class_of
from lakewarden.pipeline.diff.profile import NOTHING, Profile, Profiler, domain
from lakewarden.pipeline.diff.rule_evaluator import RuleEvaluator
from lakewarden.pipeline.diff.user_numbering import Everyone, numbered_people
from lakewarden.pipeline.index.task_context import CompiledBlock, TaskContext

BEFORE: Final = "before"
AFTER: Final = "after"

SIGNS: Final = "type string, name string, id long, sign string"
"""The entities of a block to compare, each with its signature."""

_SIGNS: Final = pa.schema(
    [("type", pa.string()), ("name", pa.string()), ("id", pa.int64()), ("sign", pa.string())]
)

PROFILED: Final = "id long, profile string, text string"
"""Entities with the digests of their profiles; and (`id` is null) the profiles themselves."""

_PROFILED: Final = pa.schema([("id", pa.int64()), ("profile", pa.string()), ("text", pa.string())])

PAIRED: Final = f"type string, had string, has string, class string, {PART}"
"""The parts in which two profiles differ, and the class of entities with this pair."""

_PAIRED: Final = pa.schema(
    [
        ("type", pa.string()),
        ("had", pa.string()),
        ("has", pa.string()),
        ("class", pa.string()),
        *PART_FIELDS,
    ]
)


@dataclass(frozen=True)
class Sign:
    """Signs the entities of a block; the rows are `SIGNS`."""

    context: TaskContext
    users: Everyone
    side: str

    def __call__(self, compiled_block: CompiledBlock) -> Iterator[pa.RecordBatch]:
        """The signatures of a block's own entities."""
        block, snapshot = compiled_block.block, compiled_block.snapshot
        tree = snapshot.coded.tree
        people = numbered_people(self.context, self.users)
        signed = Signed(snapshot, people.numbering, self.side)
        ids = list(domain(snapshot) & block.own)
        columns = [
            pa.array([tree.kinds[tree.types[id]] for id in ids], pa.string()),
            pa.array([tree.names[id] for id in ids], pa.string()),
            pa.array([id - block.start + block.first for id in ids], pa.int64()),
            pa.array([signed.marks[signed.numbers[id]] for id in ids], pa.string()),
        ]
        yield pa.record_batch(columns, schema=_SIGNS)


@dataclass(frozen=True)
class Describe:
    """Computes the profiles of some entities of a block; the rows are `PROFILED`.

    `ids` are the ids of the entities, as a serialized bitmap of 64 bits.
    """

    context: TaskContext
    users: Everyone
    side: str
    ids: bytes

    def __call__(self, compiled_block: CompiledBlock) -> Iterator[pa.RecordBatch]:
        """The profiles of the given entities that are in a block."""
        places = compiled_block.block.here(BitMap64.deserialize(self.ids))
        return batches(self._rows(compiled_block, places) if places else (), _PROFILED)

    def _rows(self, compiled_block: CompiledBlock, places: BitMap) -> Iterator[dict[str, object]]:
        block, snapshot = compiled_block.block, compiled_block.snapshot
        people = numbered_people(self.context, self.users)
        signed = Signed(snapshot, people.numbering, self.side)
        profiler = Profiler(RuleEvaluator(snapshot, people), signed)
        places_by_sign: dict[int, list[int]] = {}
        for place in places:
            places_by_sign.setdefault(signed.numbers[place], []).append(place)
        written: set[str] = set()
        firsts = [alike[0] for alike in places_by_sign.values()]
        for first, profile in profiler.profiles(firsts):
            text = profile.text()
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
            if digest not in written:
                written.add(digest)
                yield {"profile": digest, "text": text}
            for place in places_by_sign[signed.numbers[first]]:
                yield {"id": place - block.start + block.first, "profile": digest}


@dataclass(frozen=True)
class Pair:
    """Compares pairs of profiles; the rows are `PAIRED`."""

    before: TaskContext
    after: TaskContext
    users: Everyone

    def parts(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The parts of each pair, given as type, had, has and the texts of the two profiles."""
        for batch in rows:
            yield from batches(self._rows(batch), _PAIRED)

    def _rows(self, batch: pa.RecordBatch) -> Iterator[dict[str, object]]:
        comparison = comparing(self.before, self.after, self.users)
        for row in batch.to_pylist():
            first, second = (_read(row[name]) for name in ("had_text", "has_text"))
            parts = list(comparison.parts(row["type"], first, second))
            number = class_of(row["type"], (part.digest() for part in parts))
            for part in part_rows(number, row["type"], parts):
                yield {"had": row["had"], "has": row["has"], **part}


def _read(text: str | None) -> Profile:
    return NOTHING if text is None else Profile.read(text)
