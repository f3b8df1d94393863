"""Containers that are numbered in Spark, not on the driver, get the same ids as in the kernel."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.facts import code
from lakewarden.kernel.relations import EntityRow, Facts
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.index import block_rows, containers, numbering
from lakewarden.pipeline.index.preorder import sequence
from lakewarden.pipeline.tables import spark_schema
from lakewarden.service.system import System, load_system
from lakewarden.testing.worlds import Size
from tests.agreement import harness
from tests.pipeline.index import worlds
from tests.pipeline.index.test_run import a_world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BITS = 4
LARGE = Size(entities=120, users=16, groups=8, roles=8, statements=60, goals=40)


def a_tree(seed: int) -> Facts:
    """Nested containers of one type, with few or many members, in random order."""
    rng = random.Random(seed)
    drawn: list[Entity] = []
    rows = []
    for number in rng.sample(range(400), 150):
        entity = Entity(rng.choice(("domain", "container")), f"urn:li:{number}")
        same = [other for other in drawn if other.type == entity.type]
        parent = rng.choice([None, *same[:20], *same[-3:]])
        drawn.append(entity)
        rows.append(EntityRow(entity, parent))
    return Facts(tuple(rows), (), (), (), (), (), ())


def numbered(
    spark: SparkSession, folder: Path, first: int = 0
) -> tuple[dict[Entity, tuple[int, int, int]], int]:
    """For every entity its id, its parent's id and its end; and the number of small containers.

    Ids begin at `first`, and are returned as if they began at 0.
    """
    found = load(folder)
    tables = folder / "versions" / "1"
    frames = {
        name: spark.read.schema(spark_schema(name)).parquet(str(tables / name))
        for name in ("entities", "relations")
    }
    named = block_rows.targets(frames["relations"])
    place = folder / "containers"
    placed = numbering.placed(spark, frames["entities"], [named], found.system, place)
    order = sequence(placed.containers)
    leaves = numbering.sort_leaves(spark, placed, order, BITS).localCheckpoint()
    numbers = numbering.numbered(leaves, placed, order, BITS, first)
    levels = numbering.write(spark, leaves, numbers, placed, folder / "ids")
    rows = numbering.read(spark, folder / "ids", levels, numbers.space.width).collect()
    small = sum(level.count() for level in placed.small.levels)
    assert len(rows) == numbers.ids.count
    assert {r.parent for r in rows} - {r.id for r in rows} == {-1}
    return {
        Entity(r.type, r.name): (r.id - first, max(r.parent - first, -1), r.end - first)
        for r in rows
    }, small


def by_kernel(system: System, facts: Facts) -> dict[Entity, tuple[int, int, int]]:
    tree = code(facts, system.model, system.spelling).tree
    return {
        tree.entity(id): (id, int(tree.parents[id]), int(tree.ends[id])) for id in range(len(tree))
    }


@pytest.mark.parametrize(
    ("name", "seed", "small"),
    [
        ("gravitino", 1, 6),
        *(
            pytest.param(name, seed, small, marks=pytest.mark.nightly)
            for name in ("gravitino", "datahub", "cdap")
            for seed in (2, 3, 4)
            for small in (4, 20, 1_000)
        ),
    ],
)
def test_any_world_is_numbered_as_by_the_kernel(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    seed: int,
    small: int,
) -> None:
    system = harness.system(name)
    facts = a_world(system, seed, LARGE).facts
    worlds.directory(tmp_path, system, facts)
    _compared(spark, tmp_path, monkeypatch, system, facts, small)


def test_ids_of_64_bits_are_those_of_the_kernel_too(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = harness.system("gravitino")
    facts = a_world(system, 1, LARGE).facts
    worlds.directory(tmp_path, system, facts)
    _compared(spark, tmp_path, monkeypatch, system, facts, 6, first=1 << 33)


@pytest.mark.parametrize(
    ("seed", "small"),
    [pytest.param(s, n, marks=pytest.mark.nightly) for s in (1, 2, 3) for n in (3, 12, 40)],
)
def test_any_tree_is_numbered_as_by_the_kernel(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, small: int
) -> None:
    system = load_system("datahub")
    facts = a_tree(seed)
    worlds.directory(tmp_path, system, facts)
    _compared(spark, tmp_path, monkeypatch, system, facts, small)


def _compared(
    spark: SparkSession,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    system: System,
    facts: Facts,
    small: int,
    first: int = 0,
) -> None:
    for module in (containers, numbering):
        monkeypatch.setattr(module, "ON_DRIVER", 0)
    monkeypatch.setattr(containers, "SMALL", small)
    ids, count = numbered(spark, folder, first)
    assert count > 0
    assert ids == by_kernel(system, facts)
