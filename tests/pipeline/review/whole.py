"""A random world in small blocks, reviewed without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import pyarrow as pa
from pyroaring import BitMap

from lakewarden.kernel import snapshot as snapshots
from lakewarden.kernel.edges import Edges
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.memos import Memos
from lakewarden.kernel.model import Model
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.pipeline.index.task_context import CompiledBlock
from lakewarden.pipeline.review.audience import Audience, People
from lakewarden.pipeline.review.finding import Plan, comparison_evaluator, find, users_by_comparison
from lakewarden.pipeline.review.question import Chosen, Question, attribute_comparisons
from lakewarden.pipeline.review.residue import Residue, read
from lakewarden.pipeline.review.row import (
    ASSET,
    CENSUS,
    CLASS,
    COLUMN,
    GAINS,
    GROUP,
    MOST,
    PEOPLE,
    RESIDUE,
)
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size, World, make
from tests.agreement import harness
from tests.pipeline.index import worlds


@dataclass(frozen=True, slots=True)
class Class:
    """A class of one matter: its entities, the principals of statements, and other access."""

    entities: BitMap
    users: BitMap
    opens: tuple[str, ...]
    atoms: frozenset[Residue]


Named = Mapping[int, tuple[list[int] | None, ...]]
"""The users with access to each asset, by access level; None: there is no such level."""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A world and its review; `classes` and `gains` by type and matter, `people` by asset.

    `columns` has the masks of a column, the readers of its values, and the readers with masks.
    """

    matrix: Matrix
    unowned: Matrix
    classes: Mapping[tuple[str, int], list[Class]]
    gains: Mapping[tuple[str, int], Mapping[int, int]]
    census: Mapping[str, int]
    chosen: Chosen
    people: Named
    columns: Mapping[int, tuple[list[str], list[int], list[int]]]

    def questions(self) -> Iterator[tuple[str, int, Question]]:
        """Every question: the type of entities, the matter, and the question itself."""
        for type in self.census:
            agenda = self.chosen.agenda(self.model, type)
            for number, matter in enumerate(agenda.matters):
                for question in matter.questions:
                    yield type, number, question

    @property
    def model(self) -> Model:
        return self.matrix.snapshot.model


def some(name: str, first: int, count: int, size: Size | None = None) -> Iterator[World]:
    """Worlds of the system that an index can hold, from the seed `first` on."""
    drawn = (make(harness.system(name), seed, size) for seed in range(first, first + 100 * count))
    return islice((world for world in drawn if worlds.is_plain(compiled(world).coded)), count)


def compiled(world: World) -> Snapshot:
    """The whole world, compiled."""
    system = world.system
    return snapshots.compile(world.facts, system.model, system.spelling, now=NOW)


@dataclass(frozen=True, slots=True)
class Group:
    """Entities of one container: the principals allowed on any of them and on all; other access."""

    entities: BitMap
    some: BitMap
    every: BitMap
    atoms: frozenset[Residue]


Row = dict[str, Any]
At = tuple[str, int]


def _planned(
    world: World, chosen: Chosen | None, bits: int = worlds.BITS
) -> tuple[list[CompiledBlock], People, Plan]:
    whole = compiled(world)
    blocks = list(worlds.compiled_blocks(whole, world.system, bits))
    asked = attribute_comparisons(world.system.model)
    said = [row for block in blocks for row in _rows(comparison_evaluator(asked)(block))]
    answers = users_by_comparison(asked, [tuple(row.values()) for row in said])
    people = People(whole.coded.memberships, whole.coded.ownerships, whole.table)
    return blocks, people, Plan(chosen or Chosen(), answers)


def grouped(
    world: World, limit: int
) -> tuple[Mapping[At, Mapping[bytes, Group]], Mapping[At, Mapping[int, int]], Named]:
    """The groups of all matters, the owners' greatest number of entities, and people by asset.

    As in the job: first blocks that distinguish more than `limit` kinds, then the others. Blocks
    are larger here, so groups are, too.
    """
    blocks, people, plan = _planned(world, None, bits=5)
    plan = replace(plan, limit=limit)
    found = [row for block in blocks for row in _rows(find(block, plan, people))]
    named = _named(found)
    again = frozenset(
        (row["type"], row["matter"]) for row in found if row["what"] in (CLASS, GROUP)
    )
    plan = replace(plan, again=again)
    found += [row for block in blocks for row in _rows(find(block, plan, people))]
    residues, numbers = read({r["key"]: r["text"] for r in found if r["what"] == RESIDUE})
    groups: dict[At, dict[bytes, Group]] = {}
    most: dict[At, Counter[int]] = {}
    for row in found:
        at = row["type"], row["matter"]
        if row["what"] == MOST:
            more = dict(zip(row["owners"], row["counts"], strict=True))
            most.setdefault(at, Counter()).update(more)
        if row["what"] == GROUP:
            ids, some, every = map(BitMap.deserialize, (row["bits"], row["users"], row["every"]))
            atoms = frozenset[Residue]().union(*(residues.leaves(numbers[k]) for k in row["keys"]))
            known = groups.setdefault(at, {}).get(row["key"], Group(BitMap(), some, every, atoms))
            assert not known.entities & ids
            groups[at][row["key"]] = Group(
                known.entities | ids, known.some | some, known.every & every, known.atoms | atoms
            )
    return groups, most, named


def _named(found: Iterable[Row]) -> Named:
    """The users with access to each asset, by access level."""
    rows = list(found)
    known = _audiences(rows)
    return {
        row["id"]: tuple(None if key is None else known[key] for key in row["people"])
        for row in rows
        if row["what"] == ASSET
    }


def _columns(rows: Iterable[Row]) -> dict[int, tuple[list[str], list[int], list[int]]]:
    found = list(rows)
    known = _audiences(found)
    columns = (row for row in found if row["what"] == COLUMN)
    return {
        row["id"]: (row["statements"], *(known[key] for key in row["people"])) for row in columns
    }


def _audiences(rows: Iterable[Row]) -> dict[bytes, list[int]]:
    """The people that keys represent."""
    found = [row for row in rows if row["what"] == PEOPLE]
    assert all(len(row["owners"]) == row["n"] for row in found)
    return {row["key"]: row["owners"] for row in found}


def review(world: World, chosen: Chosen | None = None) -> Reviewed:
    """The review of all that is in the world, block by block."""
    whole = compiled(world)
    coded = whole.coded
    blocks, people, plan = _planned(world, chosen)
    found = [row for block in blocks for row in _rows(find(block, plan, people))]
    residues, numbers = read({r["key"]: r["text"] for r in found if r["what"] == RESIDUE})
    audience = Audience(people, residues, plan.telling)
    members: dict[tuple[str, int], dict[bytes, BitMap]] = {}
    gains: dict[tuple[str, int], Counter[int]] = {}
    census: Counter[str] = Counter()
    for row in found:
        at = row["type"], row["matter"]
        if row["what"] == CLASS:
            bits = BitMap.deserialize(row["bits"])
            assert (len(bits), bits.min()) == (row["n"], row["id"])
            known = members.setdefault(at, {})
            assert not known.get(row["key"], BitMap()) & bits
            known[row["key"]] = known.get(row["key"], BitMap()) | bits
        if row["what"] == GAINS:
            more = dict(zip(row["owners"], row["counts"], strict=True))
            gains.setdefault(at, Counter()).update(more)
        if row["what"] == CENSUS:
            census[row["type"]] += row["n"]
    classes = {
        at: [
            Class(
                bits,
                audience.stated(numbers[key]),
                audience.opens(numbers[key]),
                residues.leaves(numbers[key]),
            )
            for key, bits in known.items()
        ]
        for at, known in members.items()
    }
    nothing = replace(coded, owners=Edges.build(len(coded.tree), ()))
    unowned = replace(whole, coded=nothing, owned_by={}, memos=Memos())
    return Reviewed(
        matrix=Matrix(whole),
        unowned=Matrix(unowned),
        classes=classes,
        gains=gains,
        census=census,
        chosen=plan.chosen,
        people=_named(found),
        columns=_columns(found),
    )


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    for batch in batches:
        yield from batch.to_pylist()
