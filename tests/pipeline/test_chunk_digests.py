"""Digests of tables in chunks: equal for any files, ranges, threads and tasks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline import chunk_digests, directory, directory_manifest
from lakewarden.pipeline.chunk_digests import check_table, content_of
from lakewarden.pipeline.directory_manifest import Content, read_manifest
from lakewarden.pipeline.directory_table import Digest
from lakewarden.pipeline.tables import arrow_schema
from lakewarden.pipeline.version_folder import folder_of
from tests.pipeline.directories import Cells, write_directory, write_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHUNK = 7
TABLE = "entities"
OF_FORMAT_1 = "e50209f5c15c193cbfd4106a1b4f572e2f2295aad5dd3957043e00e5402cc418"
"""The digest of `rows(100)` by release 0.1."""


def rows(count: int) -> list[Cells]:
    inside = [(None, None), ("schema", "lk:c.s")]
    return [("table", f"lk:c.s.t{i:03}", *inside[i % 3 > 0]) for i in range(count)]


def write(folder: Path, cells: Sequence[Cells], files: Sequence[int], group: int) -> None:
    """The cells in files of these sizes, the rest in the last one; in row groups of one size."""
    folder.mkdir(parents=True)
    schema = arrow_schema(TABLE)
    ends = [*files, len(cells)]
    for number, size in enumerate(ends):
        part, cells = cells[:size], cells[size:]
        columns = [[row[i] for row in part] for i in range(len(schema))]
        table = pa.table([pa.array(c, pa.string()) for c in columns], schema=schema)
        pq.write_table(table, folder / f"part-{number:05}.parquet", row_group_size=group)


def in_order(cells: Sequence[Cells]) -> Content:
    """What one thread digests row by row."""
    schema = arrow_schema(TABLE)
    digest = Digest(len(schema), CHUNK)
    for row in cells:
        columns = [pa.array([cell], pa.string()) for cell in row]
        digest.add(pa.record_batch(columns, schema=schema))
    return digest.content()


@pytest.fixture
def in_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of few rows, and ranges for small tables too."""
    monkeypatch.setattr(directory_manifest, "CHUNK_ROWS", CHUNK)
    monkeypatch.setattr(chunk_digests, "SMALL", 0)
    monkeypatch.setattr(chunk_digests, "RANGE_CHUNKS", 2)


@pytest.mark.usefixtures("in_ranges")
@pytest.mark.parametrize("seed", range(6))
def test_threads_find_what_one_finds_row_by_row(tmp_path: Path, seed: int) -> None:
    choice = random.Random(seed)
    for number in range(10):
        cells = rows(choice.randrange(120))
        files = [choice.randrange(40) for _ in range(choice.randrange(5))]
        folder = tmp_path / str(number) / TABLE
        write(folder, cells, files, group=choice.randrange(1, 50))
        assert content_of(folder, TABLE) == in_order(cells)


@pytest.mark.usefixtures("in_ranges")
def test_each_range_reads_few_rows_of_its_neighbors(tmp_path: Path) -> None:
    write(tmp_path / TABLE, rows(100), [33], 5)
    files = sorted((tmp_path / TABLE).iterdir())
    ranges = chunk_digests._ranges(files, CHUNK)
    assert len(ranges) > 3
    assert sum(part.rows for part in ranges) == 100
    assert all(part.skipped < CHUNK for part in ranges)
    assert all(part.rows % CHUNK == 0 for part in ranges[:-1])


def test_a_table_of_one_chunk_has_the_digest_of_format_1(tmp_path: Path) -> None:
    write_table(tmp_path / TABLE, TABLE, rows(100), 3)
    assert content_of(tmp_path / TABLE, TABLE) == Content(100, OF_FORMAT_1)
    assert content_of(tmp_path / TABLE, TABLE, in_chunks=False) == Content(100, OF_FORMAT_1)


@pytest.mark.usefixtures("in_ranges")
@pytest.mark.parametrize("changed", [0, CHUNK - 1, CHUNK, 50, 99])
def test_a_change_in_any_chunk_changes_the_digest(tmp_path: Path, changed: int) -> None:
    cells = rows(100)
    write(tmp_path / "one" / TABLE, cells, [40], 9)
    cells[changed] = ("table", "lk:c.s.other", None, None)
    write(tmp_path / "other" / TABLE, cells, [40], 9)
    one, other = (content_of(tmp_path / name / TABLE, TABLE) for name in ("one", "other"))
    assert one != other


@pytest.mark.usefixtures("in_ranges")
def test_two_chunks_in_another_order_are_another_table(tmp_path: Path) -> None:
    cells = rows(3 * CHUNK)
    swapped = [*cells[CHUNK : 2 * CHUNK], *cells[:CHUNK], *cells[2 * CHUNK :]]
    write(tmp_path / "one" / TABLE, cells, [], 9)
    write(tmp_path / "other" / TABLE, swapped, [], 9)
    one, other = (content_of(tmp_path / name / TABLE, TABLE) for name in ("one", "other"))
    assert one != other


@pytest.mark.usefixtures("in_ranges")
def test_tasks_find_what_threads_find(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / TABLE, rows(100), [33, 20], 5)
    by_threads = content_of(tmp_path / TABLE, TABLE, spark)
    monkeypatch.setattr(chunk_digests, "runs_locally", lambda _: False)
    monkeypatch.setattr(chunk_digests, "FEW_RANGES", 1)
    monkeypatch.setattr(chunk_digests, "ThreadPoolExecutor", None)  # nothing is read here
    assert content_of(tmp_path / TABLE, TABLE, spark) == by_threads == in_order(rows(100))


@pytest.mark.usefixtures("in_ranges")
def test_a_file_that_tasks_cannot_read_is_named(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / TABLE, rows(100), [33, 20], 5)
    damaged = tmp_path / TABLE / "part-00001.parquet"
    content = bytearray(damaged.read_bytes())
    content[4:40] = bytes(36)  # the footer stays
    damaged.write_bytes(content)
    monkeypatch.setattr(chunk_digests, "runs_locally", lambda _: False)
    monkeypatch.setattr(chunk_digests, "FEW_RANGES", 1)
    with pytest.raises(BadInput, match="cannot be read") as caught:
        content_of(tmp_path / TABLE, TABLE, spark)
    assert caught.value.where == str(damaged.resolve())


def test_the_manifest_of_small_tables_can_be_read_by_earlier_releases(tmp_path: Path) -> None:
    write_directory(tmp_path, {TABLE: rows(100)})
    assert '"format": 1,' in (tmp_path / "manifest.json").read_text("utf-8")


@pytest.mark.usefixtures("in_ranges")
def test_a_large_table_has_format_2_and_is_checked_and_loaded(tmp_path: Path) -> None:
    write_directory(tmp_path, {TABLE: rows(100)})
    text = (tmp_path / "manifest.json").read_text("utf-8")
    assert '"format": 2,' in text
    manifest = read_manifest(tmp_path)
    assert manifest.text() == text
    directory.check_tables(tmp_path, manifest)
    assert len(directory.load(tmp_path).facts.entities) == 100


def of_format_1(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory with a large table, as a release wrote it that knew no chunks."""
    with monkeypatch.context() as patched:
        patched.setattr(directory_manifest, "CHUNK_ROWS", 1 << 20)
        write_directory(path, {TABLE: rows(100)})
    assert '"format": 1,' in (path / "manifest.json").read_text("utf-8")


@pytest.mark.usefixtures("in_ranges")
def test_a_large_table_of_format_1_is_checked_and_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_format_1(tmp_path, monkeypatch)
    manifest = read_manifest(tmp_path)
    assert manifest.text() == (tmp_path / "manifest.json").read_text("utf-8")
    directory.check_tables(tmp_path, manifest)
    assert len(directory.load(tmp_path).facts.entities) == 100
    assert manifest.tables[TABLE].sha256 == OF_FORMAT_1


@pytest.mark.usefixtures("in_ranges")
@pytest.mark.parametrize("is_format_1", [False, True])
def test_a_large_table_that_differs_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_format_1: bool
) -> None:
    if is_format_1:
        of_format_1(tmp_path, monkeypatch)
    else:
        write_directory(tmp_path, {TABLE: rows(100)})
    manifest = read_manifest(tmp_path)
    version = folder_of(tmp_path, manifest)
    write_table(version / TABLE, TABLE, [*rows(99), ("table", "lk:c.s.z", None, None)])
    with pytest.raises(BadInput, match="differs from its manifest"):
        check_table(version, TABLE, manifest)
    with pytest.raises(BadInput, match="differs from its manifest"):
        directory.load(tmp_path)
