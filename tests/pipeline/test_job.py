"""The frame of jobs: stages in order, their inputs, and the published files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakewarden.kernel.errors import Conflict
from lakewarden.pipeline import parquet_output
from lakewarden.pipeline.job import Counts, Job, Result, Stage, names_of
from lakewarden.pipeline.product import Content, Input, place, read_manifest
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.version_folder import MANIFEST, folder_of
from tests.pipeline.spared import session

KIND: Final = "fruit"
TABLES: Final = ("apples", "pears")


@dataclass
class Basket:
    """The stages' shared state; `seen` is the order in which they ran."""

    job: Job
    count: int = 2
    seen: list[str] = field(default_factory=list)

    def pick(self, folder: Location) -> Counts:
        self.seen.append("pick")
        rows = pa.table({"id": pa.array(range(self.count), pa.int32())})
        parquet_output.put_table(rows, folder / "apples")
        (folder / "leaves.txt").write_text("green")
        return {"apples": self.count}

    def sort(self, folder: Location) -> Counts:
        self.seen.append("sort")
        rows = pq.read_table(self.job.folder("pick") / "apples")
        parquet_output.put_table(rows.slice(0, 1), folder / "pears")
        return {"pears": 1}


PICK: Final = Stage("pick", (), Basket.pick, ("apples", "leaves.txt"), "{apples} apples")
SORT: Final = Stage("sort", ("pick",), Basket.sort, ("pears",), "{pears} pears")


def made(
    out: Path,
    stages: Sequence[Stage[Basket]] = (PICK, SORT),
    count: int = 2,
    say: Callable[[str], object] = str,
) -> tuple[Result, Basket]:
    def progress(stage: str, done: int, total: int, message: str) -> None:
        if done == total:
            say(f"{stage}: {message}")

    inputs = (Input("tree", count, "0"),)
    job = Job(KIND, out, TABLES, session(), inputs, {"by": "hand"}, progress)
    basket = Basket(job, count)
    result = job.run(
        stages, basket, facts=lambda: {"counted": job.counts("pick")}, report=lambda: {"more": 1}
    )
    return result, basket


def test_stages_run_in_order_and_what_they_put_out_is_published(tmp_path: Path) -> None:
    said: list[str] = []
    result, basket = made(tmp_path, say=said.append)
    assert basket.seen == ["pick", "sort"]
    assert said == ["pick: 2 apples", "sort: 1 pears"]
    assert result.is_new
    assert result.manifest == read_manifest(tmp_path, KIND)
    assert {name: content.rows for name, content in result.manifest.tables.items()} == {
        "apples": 2,
        "pears": 1,
    }
    assert result.manifest.facts == {"counted": {"apples": 2}}
    assert list(result.report["rows"]) == list(TABLES)
    assert result.report["more"] == 1
    assert (folder_of(tmp_path, result.manifest) / "leaves.txt").read_text() == "green"


def test_the_same_again_makes_no_new_version(tmp_path: Path) -> None:
    first, _ = made(tmp_path)
    again, basket = made(tmp_path)
    assert (again.is_new, again.manifest) == (False, first.manifest)
    assert basket.seen == ["pick", "sort"]  # nothing of a completed run is reused


def test_a_run_that_was_cut_short_goes_on_behind_its_last_finished_stage(tmp_path: Path) -> None:
    def fail(_: Basket, __: Location) -> Counts:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made(tmp_path, (PICK, Stage("sort", ("pick",), fail, ("pears",), "")))
    result, basket = made(tmp_path)
    assert basket.seen == ["sort"]
    assert result.report["reused"] == ["pick"]
    assert result.manifest.facts == {"counted": {"apples": 2}}


def test_a_version_that_was_removed_while_it_was_read_makes_no_product(tmp_path: Path) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    read, _ = made(source)
    kept, _ = made(out)
    job = Job(KIND, out, TABLES, session(), (), reads=((source, read.manifest),))
    basket = Basket(job, 3)

    def sort(_: Basket, folder: Location) -> Counts:
        (folder_of(source, read.manifest) / "leaves.txt").unlink()
        return basket.sort(folder)

    stages = (PICK, Stage("sort", ("pick",), sort, ("pears",), ""))
    with pytest.raises(Conflict, match=r"version 1 of .*source` was removed while it was read"):
        job.run(stages, basket, facts=dict)
    assert read_manifest(out, KIND) == kept.manifest


def test_a_stage_reads_only_what_it_declares(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="`pick` is not among the inputs"):
        made(tmp_path, (PICK, Stage("sort", (), Basket.sort, ("pears",), "")))


@pytest.mark.parametrize("is_earlier", [False, True])
def test_the_files_of_the_version_before_are_not_digested_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_earlier: bool
) -> None:
    """Except those of an earlier release, whose digests have another meaning."""
    first, _ = made(tmp_path)
    if is_earlier:
        manifest = tmp_path / MANIFEST
        manifest.write_text(manifest.read_text("utf-8").replace('"2:', '"'), "utf-8")
    read: list[str] = []
    here = parquet_output.content_without_spark

    def take_over(basket: Basket, folder: Location) -> Counts:
        place(folder_of(tmp_path, first.manifest) / "apples", folder / "apples")
        return {"apples": 2}

    def counted(table: Location) -> Content:
        read.append(table.name)
        return here(table)

    monkeypatch.setattr(parquet_output, "content_without_spark", counted)
    second, _ = made(tmp_path, (Stage("pick", (), take_over, ("apples",), ""), SORT), count=3)
    assert read == (["apples", "pears"] if is_earlier else ["pears"])
    assert second.manifest.tables == first.manifest.tables


def test_a_stage_that_stays_in_memory_is_told_and_timed(tmp_path: Path) -> None:
    said: list[tuple[str, int, int, str]] = []
    job = Job(KIND, tmp_path, TABLES, session(), (), progress=lambda *step: said.append(step))
    job.keep_in_memory("read", 0.0, "all of it")
    result = job.run((PICK, SORT), Basket(job), facts=dict)
    assert said[0] == ("read", 1, 1, "all of it")
    assert list(result.report["seconds"]) == ["read", "pick", "sort"]
    assert result.report["reused"] == []


def test_numbers_with_fractions_are_digested_by_spark(tmp_path: Path) -> None:
    parquet_output.put_table(pa.table({"share": [0.5]}), tmp_path / "shares")
    with pytest.raises(AssertionError, match="Spark was started"):
        parquet_output.contents_of(tmp_path, ["shares"], session())


def test_of_many_rows_spark_takes_the_digests(tmp_path: Path) -> None:
    rows = pa.table({"id": pa.array(range(3), pa.int32())})
    parquet_output.put_table(rows, tmp_path / "ids")
    (content,) = parquet_output.contents_of(tmp_path, ["ids"], session(), most_rows=3).values()
    assert content.rows == 3
    with pytest.raises(AssertionError, match="Spark was started"):
        parquet_output.contents_of(tmp_path, ["ids"], session(), most_rows=2)


def test_a_progress_shows_each_stage_once() -> None:
    assert names_of((PICK, SORT), (PICK,)) == ("pick", "sort")
