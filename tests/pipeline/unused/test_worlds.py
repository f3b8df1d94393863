"""Whole runs over random worlds have the same findings as an evaluation in one process."""

from __future__ import annotations

import csv
import random
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement_file import principal_text
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.unused import policy, run
from lakewarden.pipeline.unused.finding import SCHEMAS
from lakewarden.pipeline.unused.log_formats import USAGE_COLUMNS
from lakewarden.pipeline.unused.run import Log, UnusedCriteria, find_unused
from lakewarden.pipeline.unused.statement_paths import Access
from lakewarden.pipeline.version_folder import folder_of
from lakewarden.service.system import System
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size, make
from tests.agreement import harness
from tests.pipeline.diff.directories import write_facts
from tests.pipeline.index import worlds
from tests.pipeline.unused.reckoned import LAST, Fact, acts, allowed, compiled, reckon, some

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZE = Size(entities=40, users=6, groups=3, roles=3, statements=14, goals=10)
BEFORE = "2000-01-01"
FIRST = {"cdap": 157, "gravitino": 1, "datahub": 0}
"""The seeds of the first worlds with such accesses; earlier ones are skipped."""


def spelled(system: System, fact: Fact) -> bool:
    """Whether a log can express it."""
    who, _, entity = fact
    try:
        again = system.entity(f"{entity.type}:{entity.name}" if entity.type else None)
        return again == entity and system.principal(principal_text(who)) == who
    except BadInput:
        return False


def world(name: str, folder: Path) -> tuple[Path, Facts, Snapshot, list[Access]]:
    """The first world with accesses also to unstored names, in a system that decides on them."""
    system = harness.system(name)
    for seed in range(FIRST[name], FIRST[name] + 200):
        made = make(system, seed, SIZE)
        path = write_facts(folder / str(seed), system, made.facts)
        try:
            facts = load(path).facts
            whole, rng = compiled(system, facts), random.Random(seed)
        except WardenError:
            continue
        if not worlds.is_plain(whole.coded) or not whole.coded.memberships.stored:
            continue
        tree = whole.coded.tree
        named = [r.target for r in made.aims if tree.find(r.target) is None]
        done = {f for f in allowed(whole, acts(whole, rng), named) if spelled(system, f)}
        ours = some(whole, {f for f in done if f[2] not in named}, rng, 25)
        apart = some(whole, {f for f in done if f[2] in named}, rng, 6)
        if apart or not any(t.judged for t in system.model.types.values()):
            both = [*ours, *apart]
            return path, facts, whole, [a._replace(number=n) for n, a in enumerate(both)]
    raise AssertionError("no world has what this test is about")


def write(file: Path, whole: Snapshot, done: list[Access]) -> None:
    with file.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(USAGE_COLUMNS.names)
        for one in done:
            who = principal_text(whole.coded.memberships.principals[one.principal])
            day = LAST if one.n else BEFORE
            rows.writerow((day, "main", who, one.operation, *one.entity, one.n or 1))


# By day, one run is in test_run, and random worlds in one process are in test_proposal.
@pytest.mark.nightly
@pytest.mark.parametrize("name", ["cdap", "gravitino", "datahub"])
def test_a_run_finds_what_one_process_does(name: str, spark: SparkSession, tmp_path: Path) -> None:
    system = harness.system(name)
    realm, facts, whole, done = world(name, tmp_path)
    write(tmp_path / "usage.csv", whole, done)
    worlds.index_of(realm, tmp_path / "index", now=NOW)
    asked = UnusedCriteria(days=30, now=1_714_600_000.0, share=0.5)
    log = Log("usage", tmp_path / "usage.csv")
    made = find_unused(tmp_path / "index", [log], tmp_path / "out", asked, spark=spark)
    folder = folder_of(tmp_path / "out", made.manifest)
    aside = pq.read_table(folder / "quarantine").to_pylist()
    assert aside == []
    as_logged = [a._replace(last=a.last if a.n else BEFORE) for a in done]
    expected = reckon(system, facts, as_logged)
    for table, schema in SCHEMAS.items():
        rows = [tuple(r.values()) for r in pq.read_table(folder / table).to_pylist()]
        assert rows == [_plain(row) for row in expected.findings.tables[table]], table
        assert pq.read_table(folder / table).schema == schema
    told = tomllib.loads((folder / run.PROPOSAL).read_text("utf-8"))
    assert sorted(told.get("statement", []), key=lambda s: str(s["id"])) == policy.tables(
        expected.findings.changes
    )


def _plain(row: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(list(cell) if isinstance(cell, tuple) else cell for cell in row)
