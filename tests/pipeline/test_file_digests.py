"""SHA-256 of files by tasks: the same as locally, and the files left for this process."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakewarden.pipeline import file_digests
from lakewarden.pipeline.storage.files import sha256_of_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = {
    "blocks/part-00000.parquet": b"",
    "blocks/part-00001 [a]{b}%20.parquet": b"rows",
    "deep/er/ä.jsonl": b"\x00" * 5_000,
    "report.json": b"{}",
    "blocks/_hidden": b"Spark passes over this one",
    "blocks/large": b"l" * 20_000,
}
HERE = {"blocks/part-00000.parquet", "blocks/_hidden", "blocks/large"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose own name has characters that Spark interprets as wildcards."""
    place = tmp_path / "v {1}*%41"
    for name, content in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    return place


def test_many_files_are_digested_by_tasks_and_the_driver_reads_only_what_they_leave(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = set()

    def reading(file: Path) -> str:
        read.add(str(file.relative_to(folder)))
        return sha256_of_file(file)

    monkeypatch.setattr(file_digests, "sha256_of_file", reading)
    monkeypatch.setattr(file_digests, "FEW", len(FILES) - 1)
    monkeypatch.setattr(file_digests, "_LARGEST", 10_000)
    expected = [hashlib.sha256(content).hexdigest() for content in FILES.values()]
    assert file_digests.file_digests(folder, list(FILES), spark) == expected
    assert read == FILES.keys()  # Spark runs on this machine: tasks have no benefit
    read.clear()
    monkeypatch.setattr(file_digests, "runs_locally", lambda _: False)
    assert file_digests.file_digests(folder, list(FILES), spark) == expected
    assert read == HERE
    read.clear()
    assert file_digests.file_digests(folder, list(FILES)[:2], spark) == expected[:2]
    assert len(read) == 2


def test_a_file_that_is_missing_is_an_error(spark: SparkSession, folder: Path) -> None:
    with pytest.raises(FileNotFoundError):
        file_digests.file_digests(folder, ["blocks/none"], spark)
