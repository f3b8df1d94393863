"""Delta tables: delta-rs reads the rows of the Parquet files, version by version."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lakewarden.pipeline.storage.object_store import CHECK_CREDENTIALS, RUN_AGAIN
from lakewarden.pipeline.table_formats.delta import reason_of
from lakewarden.pipeline.table_formats.target import Target
from tests.pipeline.table_formats.products import TABLES, in_parquet, make, rows_of

DELTA = Target("delta")


def table(out: Path, name: str, version: int | None = None) -> DeltaTable:
    return DeltaTable(out / "delta" / name, version=version)


def check_equal(out: Path) -> None:
    for name, rows in in_parquet(out).items():
        assert rows_of(table(out, name).to_pyarrow_table()) == rows


def test_a_version_is_a_commit_that_tells_of_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    make(out, "apple")
    assert DELTA.commit(out) == (1, TABLES)
    check_equal(out)
    (commit,) = table(out, "rows").history()
    assert (commit["lakewarden.version"], commit["lakewarden.revision"]) == ("1", "45")
    for linked in table(out, "rows").file_uris():
        name = Path(linked.removeprefix("file://")).name
        assert Path(linked.removeprefix("file://")).samefile(out / "versions/1/rows" / name)


def test_the_same_content_adds_no_commit(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for _ in range(2):
        make(out, "apple")
        DELTA.commit(out)
    assert table(out, "rows").version() == 0


def test_columns_come_and_go_and_earlier_versions_stay(tmp_path: Path) -> None:
    out = tmp_path / "out"
    make(out, "apple", keep=1)
    DELTA.commit(out)
    before = in_parquet(out)
    make(out, "pear", more=True, keep=1)
    assert DELTA.commit(out) == (2, TABLES)
    check_equal(out)
    # Links outlive the files that the folder of versions has removed.
    assert rows_of(table(out, "rows", 0).to_pyarrow_table()) == before["rows"]
    make(out, "apple", keep=1)
    DELTA.commit(out)
    check_equal(out)


def test_commits_of_others_change_nothing_of_what_is_committed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    make(out, "apple")
    DELTA.commit(out)
    table(out, "rows").optimize.compact()
    assert table(out, "rows").version() == 1
    assert DELTA.commit(out) == (1, ())
    check_equal(out)
    make(out, "pear")
    assert DELTA.commit(out) == (2, TABLES)
    check_equal(out)
    assert isinstance(table(out, "rows").to_pyarrow_table(), pa.Table)


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        ("Kernel error -> Generic S3 error: connection refused", f"; {RUN_AGAIN}"),
        ("Generic MicrosoftAzure error: 403 Forbidden", f"; {CHECK_CREDENTIALS}"),
        ("Invalid table version: 7", ""),
    ],
)
def test_a_store_that_fails_comes_with_advice(reason: str, advice: str) -> None:
    assert reason_of(DeltaError(reason), Path("delta")) == f"{reason}{advice}"
