"""The job on Spark: its index gives the same answers as the kernel and the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from lakewarden.app.indexed import compiled
from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.snapshot import compile
from lakewarden.pipeline import local_mode
from lakewarden.pipeline.directory import Loaded, load
from lakewarden.pipeline.directory_manifest import Content
from lakewarden.pipeline.index import id_space, task_context
from lakewarden.pipeline.index import run as job
from lakewarden.pipeline.index.index import Index, open_index, snapshot
from lakewarden.pipeline.index.numbering import BLOCK_BITS
from lakewarden.pipeline.index.run import make_index
from lakewarden.pipeline.job import Result, names_of
from lakewarden.pipeline.session import Deferred
from lakewarden.pipeline.tables import QUARANTINE
from lakewarden.pipeline.version_folder import MANIFEST, VERSIONS
from lakewarden.service.system import System
from lakewarden.testing.questions import ask
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size, World, make
from tests.agreement import harness
from tests.oracle.oracle import Oracle
from tests.pipeline.directories import write_directory, write_table
from tests.pipeline.index import worlds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BITS = 4
"""Enough blocks to test their separate evaluation: each is a task of every stage."""
LARGE = Size(entities=120, users=16, groups=8, roles=8, statements=60, goals=40)
MODELS = ("gravitino", "datahub", "cdap")
SELDOM = pytest.param("cdap_parent_write", marks=pytest.mark.nightly)


def a_world(system: System, seed: int, size: Size | None = None) -> World:
    """A world without cycles, for the first valid seed."""
    drawn = (make(system, number, size) for number in range(seed, seed + 100))
    return next(world for world in drawn if _is_plain(system, world.facts))


def _is_plain(system: System, facts: Facts) -> bool:
    return worlds.is_plain(compile(facts, system.model, system.spelling, now=NOW).coded)


def made(spark: SparkSession, folder: Path, bits: int = BITS) -> Result:
    return make_index(folder / "lake", folder / "index", spark=spark, now=NOW, bits=bits)


@pytest.mark.by_day(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "asked"), [(1, 300), pytest.param(101, 10_000, marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize("name", [*MODELS, SELDOM])
def test_an_index_answers_what_the_kernel_and_the_oracle_answer(
    spark: SparkSession, tmp_path: Path, name: str, seed: int, asked: int
) -> None:
    system = harness.system(name)
    world = a_world(system, seed, LARGE)
    worlds.directory(tmp_path / "lake", system, world.facts)
    result = made(spark, tmp_path)
    assert result.is_new
    index, loaded = open_index(tmp_path / "index"), load(tmp_path / "lake")
    whole = compile(loaded.facts, system.model, system.spelling, now=index.now)
    found = snapshot(index)
    assert worlds.differences(found, whole) == []
    assert index.manifest.facts["count"] > 4 << BITS
    assert list(_disagreements(world, loaded, index, seed, asked)) == []


def _disagreements(
    world: World, loaded: Loaded, index: Index, seed: int, asked: int
) -> Iterator[str]:
    system = loaded.system
    kernel = harness.compiled(system, loaded.facts, NOW)
    ours = Matrix(snapshot(index))
    oracle = Oracle(loaded.facts, system.model, system.spelling)
    answers = {"allow": 0, "deny": 0}
    for request in ask(World(system, loaded.facts, world.aims), seed, asked):
        expected, told, got = (
            harness.outcome(lambda r=request: "allow" if oracle.check(r) else "deny"),  # type: ignore[misc]
            harness.outcome(lambda r=request: harness.decided(kernel, r)),  # type: ignore[misc]
            harness.outcome(lambda r=request: harness.decided(ours, r)),  # type: ignore[misc]
        )
        answers[expected] = answers.get(expected, 0) + 1
        if not expected == told == got:
            yield f"{request}: oracle {expected}, kernel {told}, index {got}"
    assert min(answers["allow"], answers["deny"]) > asked // 20, answers


def nowhere() -> SparkSession:
    """A session that must not be started."""

    def start() -> SparkSession:
        raise AssertionError("Spark was started")

    return cast("SparkSession", Deferred(start, is_here=True))


@pytest.mark.nightly
@pytest.mark.parametrize(
    "name",
    ["datahub", *(pytest.param(n, marks=pytest.mark.nightly) for n in ("gravitino", "cdap"))],
)
def test_an_estate_of_one_block_gives_the_same_index_without_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    system = harness.system(name)
    worlds.directory(tmp_path / "lake", system, a_world(system, 1, LARGE).facts)
    with monkeypatch.context() as patch:
        patch.setattr(local_mode, "ROWS", -1)
        by_spark = made(spark, tmp_path, bits=BLOCK_BITS)
    here = made(nowhere(), tmp_path, bits=BLOCK_BITS)
    assert (here.is_new, here.manifest) == (False, by_spark.manifest)


@pytest.mark.parametrize("name", MODELS)
def test_without_spark_an_estate_of_one_block_is_what_the_kernel_compiles(
    tmp_path: Path, name: str
) -> None:
    system = harness.system(name)
    worlds.directory(tmp_path / "lake", system, a_world(system, 1, LARGE).facts)
    here = make_index(tmp_path / "lake", tmp_path / "other", spark=nowhere(), now=NOW)
    assert here.is_new
    assert list(here.report["seconds"]) == ["read", "gather", "match"]
    loaded, index = load(tmp_path / "lake"), open_index(tmp_path / "other")
    whole = compile(loaded.facts, system.model, system.spelling, now=index.now)
    assert worlds.differences(snapshot(index), whole) == []


def test_many_rows_and_several_blocks_are_for_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = harness.system("gravitino")
    worlds.directory(tmp_path / "lake", system, a_world(system, 1).facts)
    with pytest.raises(AssertionError, match="Spark was started"):
        made(nowhere(), tmp_path)
    monkeypatch.setattr(local_mode, "ROWS", 10)
    with pytest.raises(AssertionError, match="Spark was started"):
        made(nowhere(), tmp_path, bits=BLOCK_BITS)


class Killed(Exception):
    """Simulates the end of a run."""


def _killed(*_: object) -> None:
    raise Killed


@pytest.mark.slow
def test_a_run_that_was_cut_short_goes_on_behind_the_stages_that_it_had_finished(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = harness.system("gravitino")
    worlds.directory(tmp_path / "lake", system, a_world(system, 1).facts)
    with monkeypatch.context() as far:
        far.setattr(local_mode, "ROWS", -1)
        for name in ("hosts_of", "each_block_in"):
            with monkeypatch.context() as patch:
                patch.setattr(job, name, _killed)
                with pytest.raises(Killed):
                    made(spark, tmp_path, bits=BLOCK_BITS)
            with pytest.raises(BadInput, match="is missing"):
                open_index(tmp_path / "index")
        first = made(spark, tmp_path, bits=BLOCK_BITS)
    assert first.report["reused"] == list(names_of(job.STAGES)[:4])
    assert list(first.report["seconds"]) == list(names_of(job.STAGES))
    assert (first.is_new, first.report["version"]) == (True, 1)

    # No saved stages remain, and the result equals that of a single local run.
    assert not list((tmp_path / "index").glob(".work/*"))
    whole = made(nowhere(), tmp_path, bits=BLOCK_BITS)
    assert whole.report["reused"] == []
    assert (whole.is_new, whole.manifest) == (False, first.manifest)


def test_blocks_that_tasks_open_are_judged_as_those_that_spark_reads(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = harness.system("datahub")
    worlds.directory(tmp_path / "lake", system, a_world(system, 1).facts)
    opened = made(spark, tmp_path)
    monkeypatch.setattr(task_context, "runs_locally", lambda _: False)
    read = made(spark, tmp_path)
    assert (read.report["reused"], read.is_new) == ([], False)
    assert read.manifest == opened.manifest


def test_a_directory_that_is_damaged_is_refused_and_the_index_stays(
    spark: SparkSession, tmp_path: Path
) -> None:
    system = harness.system("gravitino")
    manifest = worlds.directory(tmp_path / "lake", system, a_world(system, 1).facts)
    version = tmp_path / "lake" / VERSIONS / str(manifest.version)
    write_table(version / "entities", "entities", [("metalake", "lk", None, None)])
    with pytest.raises(BadInput, match="differs from its manifest"):
        made(spark, tmp_path)
    with pytest.raises(BadInput, match="is missing"):
        open_index(tmp_path / "index")


def test_entities_that_lie_in_each_other_are_refused_by_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    one, other = ("domain", "urn:li:domain:a"), ("domain", "urn:li:domain:b")
    rows = {"entities": [(*one, *other), (*other, *one)]}
    write_directory(tmp_path / "lake", rows, model="datahub")
    for bits in (0, BLOCK_BITS):  # by Spark, and in this process
        with pytest.raises(BadInput, match="`domain:urn:li:domain:a` lies below itself"):
            made(spark, tmp_path, bits=bits)


def test_more_entities_than_ids_are_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_directory(tmp_path / "lake", {"entities": [("metalake", n, None, None) for n in "abc"]})
    monkeypatch.setattr(id_space, "MOST_BLOCKS", 1)
    with pytest.raises(LimitExceeded, match="3 entities, and an index has at most 2"):
        made(nowhere(), tmp_path, bits=1)
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize("revision", ["", "-1", "1.5", "²"])
def test_a_revision_that_is_none_is_refused(tmp_path: Path, revision: str) -> None:
    manifest = write_directory(tmp_path, {})
    with pytest.raises(BadInput, match="expected a revision"):
        job.origin(replace(manifest, options={"revision": revision}), tmp_path)


def test_an_index_tells_in_what_its_directory_differs_from_the_store(
    tmp_path: Path, unstarted: SparkSession
) -> None:
    """A server that continued from it would decide by rows that its database lacks."""
    place, out = tmp_path / "lake", tmp_path / "index"
    manifest = write_directory(place, {})
    (place / "statements").mkdir()
    (place / "statements" / "mine.toml").write_text("", "utf-8")
    options = {"inventory 1": "entities", "ownership": "0" * 64}
    (place / MANIFEST).write_text(replace(manifest, options=options).text(), "utf-8")
    assert job.make_index(place, out, spark=unstarted).manifest.facts["differs"] == []
    options |= {"revision": "17", "realm": "main", "store": "3:ab"}
    (place / MANIFEST).write_text(replace(manifest, options=options).text(), "utf-8")
    facts = job.make_index(place, out, spark=unstarted).manifest.facts
    assert facts["differs"] == ["inventory 1", "owners by pattern", "statements/mine.toml"]
    with pytest.raises(BadInput, match="differs from the database by inventory 1, owners by"):
        compiled([str(out)])
    tables = {**manifest.tables, QUARANTINE: Content(1_000, "0" * 64)}
    aside = replace(manifest, options=options, tables=tables)
    assert job.differences_from_store(aside, place)[-1] == "1,000 rows set aside"


def test_the_realm_and_the_revision_of_a_store_are_known_to_the_index(tmp_path: Path) -> None:
    manifest = write_directory(tmp_path, {})
    assert job.origin(manifest, tmp_path) == {"realm": "main", "revision": None, "store": ""}
    options = {"realm": "lake", "revision": "17", "store": "3:ab"}
    found = job.origin(replace(manifest, options=options), tmp_path)
    assert found == {"realm": "lake", "revision": 17, "store": "3:ab"}
