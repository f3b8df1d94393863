"""Tables in table formats on an object store: committed in place, readable by others, permanent."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from lakewarden.kernel.errors import BadInput, Conflict, Unavailable
from lakewarden.pipeline.ingest.pinned_tables import delta_tables
from lakewarden.pipeline.storage.remote_path import RemotePath
from lakewarden.pipeline.table_formats import delta
from lakewarden.pipeline.table_formats.target import TableFormat, Target
from lakewarden.pipeline.table_formats.version import Version
from tests.http.iceberg.rest_catalog import TOKEN, rest_catalog
from tests.pipeline.storage.table_readers import (
    by_duckdb,
    catalog_file,
    catalog_of,
    delta_files,
    in_delta,
    in_duckdb,
    in_iceberg,
)
from tests.pipeline.table_formats.products import KIND, TABLES, Rows, in_parquet, make

FORMATS: tuple[TableFormat, ...] = ("iceberg", "delta", "duckdb")


def target(format: TableFormat, folder: Path, out: RemotePath) -> Target:
    return Target(format, catalog_file(folder, out) if format == "iceberg" else None)


def read(format: TableFormat, folder: Path, out: RemotePath) -> dict[str, Rows]:
    if format == "iceberg":
        return in_iceberg(folder, out)
    return in_delta(out) if format == "delta" else in_duckdb(out)


def test_iceberg_has_the_files_where_they_are(tables_folder: RemotePath, tmp_path: Path) -> None:
    one = target("iceberg", tmp_path, tables_folder)
    make(tables_folder, "apple", keep=1)
    assert one.commit(tables_folder) == (1, TABLES)
    assert in_iceberg(tmp_path, tables_folder) == in_parquet(tables_folder)
    assert one.commit(tables_folder) == (1, ())
    make(tables_folder, "pear", keep=1)
    assert one.commit(tables_folder) == (2, TABLES)
    assert in_iceberg(tmp_path, tables_folder) == in_parquet(tables_folder)
    with catalog_of(tmp_path, tables_folder) as catalog:
        table = catalog.load_table(f"{KIND}.rows")
        files = [task.file.file_path for task in table.scan().plan_files()]
        assert set(table.refs()) == {"main", "version-2"}
        assert table.properties["lakewarden.product"] == str(tables_folder)
    assert sorted(files) == [f"{tables_folder}/versions/2/rows/part-{n}.parquet" for n in (0, 1)]
    assert by_duckdb(files) == in_parquet(tables_folder)["rows"]


def test_delta_has_copies_that_the_store_makes(tables_folder: RemotePath, tmp_path: Path) -> None:
    one = target("delta", tmp_path, tables_folder)
    make(tables_folder, "apple", keep=1)
    assert one.commit(tables_folder) == (1, TABLES)
    before = in_parquet(tables_folder)
    assert in_delta(tables_folder) == before
    assert one.commit(tables_folder) == (1, ())
    make(tables_folder, "pear", more=True, keep=1)
    assert one.commit(tables_folder) == (2, TABLES)
    assert in_delta(tables_folder) == in_parquet(tables_folder)
    assert by_duckdb(delta_files(tables_folder, "rows")) == in_parquet(tables_folder)["rows"]
    # Copies outlive the files that the folder of versions has removed.
    assert by_duckdb(delta_files(tables_folder, "rows", 0)) == before["rows"]
    log = (tables_folder / "delta/rows/_delta_log/00000000000000000001.json").read_text()
    assert '"lakewarden.version":"2"' in log


def test_the_file_of_duckdb_is_put_whole(tables_folder: RemotePath, tmp_path: Path) -> None:
    one = target("duckdb", tmp_path, tables_folder)
    make(tables_folder, "apple")
    assert one.commit(tables_folder) == (1, TABLES)
    assert in_duckdb(tables_folder) == in_parquet(tables_folder)
    assert one.commit(tables_folder) == (1, ())
    make(tables_folder, "pear")
    assert one.commit(tables_folder) == (2, TABLES)
    assert in_duckdb(tables_folder) == in_parquet(tables_folder)
    (tables_folder / "duckdb" / f"{KIND}.duckdb").write_bytes(b"of somebody else")
    assert one.commit(tables_folder) == (2, TABLES)
    assert in_duckdb(tables_folder) == in_parquet(tables_folder)


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    ("format", "is_first"), [(format, is_first) for is_first in (False, True) for format in FORMATS]
)
def test_an_older_version_never_replaces_a_newer_one(
    tables_folder: RemotePath,
    tmp_path: Path,
    format: TableFormat,
    is_first: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = target(format, tmp_path, tables_folder)
    make(tables_folder, "apple")
    if not is_first:
        one.commit(tables_folder)
    make(tables_folder, "pear")
    check = Version.check_counts

    def overtaken(version: Version) -> None:
        monkeypatch.setattr(Version, "check_counts", check)
        check(version)
        make(tables_folder, "plum")
        assert one.commit(tables_folder) is not None

    monkeypatch.setattr(Version, "check_counts", overtaken)
    with pytest.raises((Conflict, Unavailable)):
        one.commit(tables_folder)
    assert read(format, tmp_path, tables_folder) == in_parquet(tables_folder)
    assert one.commit(tables_folder) == (3, ())


def test_a_version_that_counts_no_more_is_not_committed(
    tables_folder: RemotePath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tables_folder, "apple")
    properties = Version.properties

    def overtaken(version: Version) -> dict[str, str]:
        monkeypatch.setattr(Version, "properties", properties)
        make(tables_folder, "pear")
        return properties(version)

    monkeypatch.setattr(Version, "properties", overtaken)
    with pytest.raises(Conflict, match="another process wrote"):
        target("delta", tmp_path, tables_folder).commit(tables_folder)


def test_a_store_that_does_not_answer_is_told_without_its_address(
    cloud: RemotePath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(cloud, "apple")
    target("delta", tmp_path, cloud).commit(cloud)
    make(cloud, "pear")
    # Only delta-rs uses these: the other client is already connected.
    for name in ("AWS_ENDPOINT_URL", "GOOGLE_BASE_URL", "AZURE_STORAGE_ENDPOINT"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setitem(delta._PATIENCE, "max_retries", "0")
    with pytest.raises(Unavailable, match="cannot be written") as failure:
        target("delta", tmp_path, cloud).commit(cloud)
    assert "127.0.0.1" not in str(failure.value)
    (cloud / "other/entities/_delta_log/0.json").write_text("{}", "utf-8")
    with pytest.raises(Unavailable, match="entities") as failure:
        delta_tables(cloud / "other", "gravitino")
    assert "127.0.0.1" not in str(failure.value)


@pytest.mark.parametrize("name", ["lake one", "b\u00fccher"])
def test_delta_is_not_committed_on_hdfs_where_its_client_finds_nothing(name: str) -> None:
    with pytest.raises(BadInput, match="delta-rs finds no table below this name"):
        Target("delta").commit(RemotePath("hdfs://127.0.0.1:1", name))


def test_iceberg_needs_a_catalog_there(tables_folder: RemotePath) -> None:
    with pytest.raises(BadInput, match="--table-catalog"):
        Target("iceberg").commit(tables_folder)


def test_nothing_holds_a_credential(
    tables_folder: RemotePath, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret = b"not-to-be-shown"
    with caplog.at_level(logging.DEBUG):
        for format in FORMATS:
            make(tables_folder, format)
            target(format, tmp_path, tables_folder).commit(tables_folder)
    objects = [stat.key for stat in tables_folder.store.below("")]
    assert any(key.endswith(".metadata.json") for key in objects)
    assert any("_delta_log" in key for key in objects)
    assert [key for key in objects if secret in tables_folder.store.read(key)[0]] == []
    assert secret not in (tmp_path / "catalog.db").read_bytes()
    assert secret.decode() not in caplog.text


def test_a_rest_catalog_that_tells_how_files_are_reached(
    s3_bucket: RemotePath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The catalog is built to mislead a guard; here its client trusts it.
    monkeypatch.setattr("tests.http.iceberg.rest_catalog.LURES", {})
    monkeypatch.setattr("tests.http.iceberg.rest_catalog.READER_TOKEN", "t")
    with rest_catalog(tmp_path / "upstream") as upstream:
        reached = {
            "type": "rest",
            "uri": upstream.address,
            "token": TOKEN,
            "s3.endpoint": os.environ["AWS_ENDPOINT_URL"],
            "s3.region": "us-east-1",
        }
        file = catalog_file(tmp_path, s3_bucket, **reached)
        one = Target("iceberg", file, "governance")
        make(s3_bucket, "apple")
        assert one.commit(s3_bucket) == (1, TABLES)
        make(s3_bucket, "pear")
        assert one.commit(s3_bucket) == (2, TABLES)
        table = upstream.tables.load_table("governance.rows")
    assert table.current_snapshot() is not None
