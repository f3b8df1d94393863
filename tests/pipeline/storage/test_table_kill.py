"""If a writer is killed at any request of a commit of tables on S3, the next one repairs it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lakewarden.pipeline.storage.remote_path import RemotePath
from lakewarden.pipeline.table_formats.target import TableFormat, Target
from tests.pipeline.storage.killing_server import KillingServer, killing_server
from tests.pipeline.storage.table_readers import (
    catalog_file,
    catalog_of,
    delta_table,
    in_delta,
    in_duckdb,
    in_iceberg,
)
from tests.pipeline.table_formats.products import KIND, TABLES, Rows, in_parquet, make

COMMIT = """
import sys
from lakewarden.pipeline.storage.location import location
from lakewarden.pipeline.table_formats.target import Target

out, format, *catalog = sys.argv[1:]
print(Target(format, *catalog).commit(location(out)))
"""
TRIALS = 20
_REQUESTS: dict[str, int] = {}


@pytest.fixture(scope="session")
def killing() -> Iterator[KillingServer]:
    with killing_server() as server:
        yield server


def words_of(format: TableFormat, folder: Path, out: RemotePath) -> list[str]:
    catalog = [catalog_file(folder, out)] if format == "iceberg" else []
    return [str(out), format, *catalog]


def read(format: TableFormat, folder: Path, out: RemotePath) -> dict[str, Rows]:
    if format == "iceberg":
        return in_iceberg(folder, out)
    return in_delta(out) if format == "delta" else in_duckdb(out)


def commits(format: TableFormat, folder: Path, out: RemotePath) -> set[int]:
    """The number of commits of the tables."""
    if format == "iceberg":
        with catalog_of(folder, out) as catalog:
            return {len(catalog.load_table(f"{KIND}.{name}").snapshots()) for name in TABLES}
    return {delta_table(out, name).version() + 1 for name in TABLES} if format == "delta" else {2}


def requests_of(format: TableFormat, folder: Path, out: RemotePath, killing: KillingServer) -> int:
    """The number of requests of a commit."""
    if format not in _REQUESTS:
        place = folder / "count"
        place.mkdir()
        other = RemotePath(out.root, f"{out.key} counted")
        words = words_of(format, place, other)
        for text in ("apple", "pear"):
            make(other, text)
            _REQUESTS[format] = killing.run(COMMIT, words)
    return _REQUESTS[format]


def check_kill(
    format: TableFormat, folder: Path, out: RemotePath, killing: KillingServer, share: float
) -> None:
    """A kill at this fraction of a commit's requests."""
    last = 1 + round(share * (requests_of(format, folder, out, killing) - 1))
    target = Target(format, *words_of(format, folder, out)[2:])
    make(out, "apple")
    target.commit(out)
    before = in_parquet(out)
    make(out, "pear")
    after = in_parquet(out)
    killed = killing.run(COMMIT, words_of(format, folder, out), last, is_done=last % 2 == 0)
    assert killed == -9
    # Concurrent readers see complete versions, table by table.
    for name, rows in read(format, folder, out).items():
        assert rows in (before[name], after[name])
    target.commit(out)
    assert read(format, folder, out) == after
    assert commits(format, folder, out) == {2}
    assert target.commit(out) == (2, ())


@pytest.mark.nightly
@pytest.mark.parametrize("trial", range(TRIALS))
@pytest.mark.parametrize("format", ["iceberg", "delta"])
def test_a_kill_at_a_request_is_repaired(
    format: TableFormat, trial: int, tmp_path: Path, s3_bucket: RemotePath, killing: KillingServer
) -> None:
    check_kill(format, tmp_path, s3_bucket, killing, trial / (TRIALS - 1))


@pytest.mark.nightly
@pytest.mark.parametrize("trial", range(5))
def test_a_kill_at_a_request_for_the_file_of_duckdb_is_repaired(
    trial: int, tmp_path: Path, s3_bucket: RemotePath, killing: KillingServer
) -> None:
    check_kill("duckdb", tmp_path, s3_bucket, killing, trial / 4)
