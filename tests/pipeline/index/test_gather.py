"""The rows of blocks and their guests: their contents, and the driver's work for them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from lakewarden.pipeline.index import block_rows, guests, hosts
from lakewarden.pipeline.index.block import EDGE, ENTITY
from lakewarden.pipeline.index.block_rows import Tables
from lakewarden.pipeline.index.id_space import IdSpace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BITS, COUNT, COMMON = 2, 320, 120
BLOCKS = COUNT >> BITS


class Estate:
    """Nested entities, some relations, and ids that are guests of every block."""

    def __init__(self, seed: int, upwards: float) -> None:
        """`upwards`: the probability of leaving a container; smaller means deeper nesting."""
        rng = random.Random(seed)
        self.parents = [-1]
        for id in range(1, COUNT):  # preorder: below or next to the previous entity
            at = id - 1
            while at >= 0 and rng.random() < upwards:
                at = self.parents[at]
            self.parents.append(at)
        self.edges = sorted({(rng.randrange(COUNT), rng.randrange(COUNT)) for _ in range(24)})
        self.common = sorted(rng.sample(range(COUNT), COMMON))

    def guests(self) -> Iterator[tuple[int, int]]:
        """For every block, the entities reachable from its own and the common ids, step by step."""
        for block in range(BLOCKS):
            todo = [*self.common, *(id for id in range(COUNT) if id >> BITS == block)]
            met: set[int] = set()
            while todo:
                id = todo.pop()
                if id >= 0 and id not in met:
                    met.add(id)
                    todo += [self.parents[id], *(t for s, t in self.edges if s == id)]
            yield from ((block, id) for id in met if id >> BITS != block)

    def ends(self) -> list[int]:
        """For each id, the one after its last descendant."""
        ends = [id + 1 for id in range(COUNT)]
        for id in reversed(range(1, COUNT)):
            if self.parents[id] >= 0:
                ends[self.parents[id]] = max(ends[self.parents[id]], ends[id])
        return ends

    def tables(self, spark: SparkSession, space: IdSpace) -> Tables:
        """The tables in Spark."""
        first, kind = space.first, space.width.arrow
        parents = [first + id if id >= 0 else id for id in self.parents]
        entities = pa.table(
            {
                "id": pa.array(range(first, first + COUNT), kind),
                "type": ["t"] * COUNT,
                "name": [f"n{id}" for id in range(COUNT)],
                "parent": pa.array(parents, kind),
                "end": pa.array([first + end for end in self.ends()], kind),
                "stored": [True] * COUNT,
            }
        )
        sources, targets = zip(*self.edges, strict=True)
        edges = pa.table(
            [["k"] * len(sources), [first + s for s in sources], [first + t for t in targets]],
            schema=space.width.schema(block_rows.EDGES),
        )
        return Tables(spark.createDataFrame(entities), spark.createDataFrame(edges), None, None)


@pytest.mark.parametrize("first", [0, 5 << 30])
@pytest.mark.parametrize("here", [True, False])
@pytest.mark.parametrize(
    ("seed", "upwards"),  # Spark follows the contents of containers level by level
    [(1, 0.8), *(pytest.param(s, 0.6, marks=pytest.mark.nightly) for s in (1, 2, 3))],
)
def test_each_block_has_its_guests_and_the_driver_takes_no_statement_for_each_block(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    upwards: float,
    here: bool,
    first: int,
) -> None:
    estate, handled = Estate(seed, upwards), 0

    def counting(blocks: guests.Ints, places: guests.Ints) -> guests.Ints:
        nonlocal handled
        handled += len(places)
        return pair(blocks, places)

    pair = guests.pair
    monkeypatch.setattr(guests, "pair", counting)
    if not here:
        monkeypatch.setattr(hosts, "ON_DRIVER", 0)
    space = IdSpace.of(COUNT, BITS, first)
    tables = estate.tables(spark, space)
    common = np.array(estate.common, dtype=np.int64) + first
    edges = tables.edges_of(["k"])
    hosting = hosts.hosts_of(tables.entities, edges, common, space, tmp_path / "guests")
    found = block_rows.rows(tables, hosting, space).toArrow()
    assert [found.schema.field(name).type for name in ("id", "a", "b")] == [space.width.arrow] * 3

    expected = set(estate.guests())
    by_guest = Counter(id for _, id in expected)
    everywhere = {id for id, count in by_guest.items() if count == BLOCKS - 1}
    others = len(expected) - len(everywhere) * (BLOCKS - 1)
    assert everywhere >= set(estate.common)
    assert hosting.count == len(expected)
    assert handled < 6 * (len(everywhere) + here * (others + BLOCKS)) < len(expected) // 4

    columns = (found.column(name).to_pylist() for name in ("block", "what", "id", "a"))
    got = [
        (block - space.blocks[0], what, id - first, a - first if a >= 0 else a)
        for block, what, id, a in zip(*columns, strict=True)
    ]
    members = {*expected, *((id >> BITS, id) for id in range(COUNT))}
    entities = [(block, ENTITY, id, estate.parents[id]) for block, id in members]
    relations = [(b, EDGE, id, t) for b, id in members for s, t in estate.edges if s == id]
    assert sorted(got) == sorted([*entities, *relations])
