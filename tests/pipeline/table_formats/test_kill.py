"""If a run is killed between the version and its tables, the next one repairs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from deltalake import DeltaTable

from lakewarden.pipeline.table_formats.target import TableFormat, Target
from tests.pipeline.table_formats.products import (
    KIND,
    in_parquet,
    make,
    own_catalog,
    rows_of,
)

ROOT = Path(__file__).parents[3]
SCRIPT = """
import os, signal, sys
from pathlib import Path
from lakewarden.pipeline.table_formats.target import Target
from tests.pipeline.table_formats.products import make

out, format, place, name, calls = sys.argv[1:]
module = __import__(place, fromlist=["_"])
holder, _, attribute = name.rpartition(".")
owner = getattr(module, holder) if holder else module
before, left = getattr(owner, attribute), [int(calls)]

def killed(*args, **options):
    left[0] -= 1
    if left[0] <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return before(*args, **options)

setattr(owner, attribute, killed)
make(Path(out), "pear")
Target(format).commit(Path(out))
"""
OURS = "lakewarden.pipeline.table_formats."
NIGHTLY = pytest.mark.nightly
WINDOWS = [
    # before the first table, between two of them, between the files of a commit and the commit
    pytest.param("iceberg", OURS + "target", "open_catalog", 1, marks=NIGHTLY),
    pytest.param("iceberg", OURS + "iceberg", "_commit_table", 3, marks=NIGHTLY),
    ("iceberg", "pyiceberg.catalog.sql", "SqlCatalog.commit_table", 2),
    pytest.param("iceberg", OURS + "iceberg", "tag_of", 4, marks=NIGHTLY),
    pytest.param("iceberg", OURS + "iceberg", "_expire_snapshots", 1, marks=NIGHTLY),
    pytest.param("delta", OURS + "target", "commit_delta", 1, marks=NIGHTLY),
    pytest.param("delta", OURS + "delta", "_commit_table", 3, marks=NIGHTLY),
    ("delta", OURS + "delta", "_link", 4),
    pytest.param("delta", "deltalake", "CommitProperties", 2, marks=NIGHTLY),
    pytest.param("duckdb", OURS + "target", "commit_duckdb", 1, marks=NIGHTLY),
    pytest.param("duckdb", OURS + "version", "Version.files", 3, marks=NIGHTLY),
    ("duckdb", OURS + "version", "Version.properties", 1),
]


def read(out: Path, format: TableFormat) -> dict[str, object]:
    """All rows, by table, as a reader of the format returns them."""
    tables = in_parquet(out)
    if format == "iceberg":
        catalog = own_catalog(out)
        try:
            found = {n: catalog.load_table(f"{KIND}.{n}").scan().to_arrow() for n in tables}
        finally:
            catalog.close()
    elif format == "delta":
        found = {n: DeltaTable(out / "delta" / n).to_pyarrow_table() for n in tables}
    else:
        with duckdb.connect(str(out / "duckdb" / f"{KIND}.duckdb"), read_only=True) as connection:
            found = {n: connection.table(n).to_arrow_table() for n in tables}
    return {name: rows_of(table) for name, table in found.items()}


def snapshots(out: Path, format: TableFormat) -> set[int]:
    """The number of snapshots of the tables."""
    if format == "iceberg":
        catalog = own_catalog(out)
        try:
            return {len(catalog.load_table(f"{KIND}.{n}").snapshots()) for n in in_parquet(out)}
        finally:
            catalog.close()
    if format == "delta":
        return {DeltaTable(out / "delta" / n).version() + 1 for n in in_parquet(out)}
    return {2}


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("format", "place", "name", "calls"), WINDOWS)
def test_a_kill_is_repaired(
    tmp_path: Path, format: TableFormat, place: str, name: str, calls: int
) -> None:
    out = tmp_path / "out"
    make(out, "apple")
    Target(format).commit(out)
    before = in_parquet(out)
    killed = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(out), format, place, name, str(calls)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert killed.returncode == -9, killed.stderr
    # Concurrent readers see complete versions, table by table.
    after = in_parquet(out)
    assert after != before
    for table, rows in read(out, format).items():
        assert rows in (before[table], after[table])
    make(out, "pear")
    Target(format).commit(out)
    assert read(out, format) == after
    assert snapshots(out, format) == {2}
    assert Target(format).commit(out) == (2, ())
