"""Tables on S3 in Apache Iceberg's own REST catalog; nightly, if it is installed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog

from lakewarden.kernel.errors import Conflict
from lakewarden.pipeline.storage.remote_path import RemotePath
from lakewarden.pipeline.table_formats.target import Target
from lakewarden.pipeline.table_formats.version import Version
from tests.http.iceberg.java_catalog import CACHE, java_catalog
from tests.pipeline.storage.table_readers import by_duckdb
from tests.pipeline.table_formats.products import TABLES, Rows, in_parquet, make, rows_of

pytestmark = pytest.mark.nightly

NAMESPACE = "governance"


def s3_archives(folder: Path) -> tuple[Path, Path]:
    """The archives and configuration with which Java writes to the S3 server."""
    jars = next(iter(sorted(CACHE.glob("spark-s3-*"), reverse=True)), None)
    if jars is None:
        pytest.skip("Hadoop's client of S3 is not installed (scripts/install-spark-s3.sh)")
    settings = {
        "fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "fs.s3a.endpoint": os.environ["AWS_ENDPOINT_URL"],
        "fs.s3a.endpoint.region": os.environ["AWS_REGION"],
        "fs.s3a.path.style.access": "true",
        "fs.s3a.connection.ssl.enabled": "false",
    }
    conf = folder / "conf"
    conf.mkdir()
    properties = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in settings.items()
    )
    (conf / "core-site.xml").write_text(f"<configuration>{properties}</configuration>")
    return conf, jars / "*"


def in_catalog(address: str) -> tuple[dict[str, Rows], list[str]]:
    """The rows of the tables, read by pyiceberg, and the files of one of them."""
    reached = {
        "s3.endpoint": os.environ["AWS_ENDPOINT_URL"],
        "s3.access-key-id": os.environ["AWS_ACCESS_KEY_ID"],
        "s3.secret-access-key": os.environ["AWS_SECRET_ACCESS_KEY"],
        "s3.region": os.environ["AWS_REGION"],
    }
    catalog = load_catalog("reader", type="rest", uri=address, **reached)
    tables = {name: catalog.load_table(f"{NAMESPACE}.{name}") for name in TABLES}
    files = [task.file.file_path for task in tables["rows"].scan().plan_files()]
    return {name: rows_of(table.scan().to_arrow()) for name, table in tables.items()}, files


def test_versions_are_committed_and_read_and_never_undone(
    s3_bucket: RemotePath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archives = s3_archives(tmp_path)
    with java_catalog(tmp_path, f"{s3_bucket.root}/warehouse", *archives) as address:
        file = tmp_path / "catalog.toml"
        file.write_text(f'type = "rest"\nuri = "{address}"\n')
        target = Target("iceberg", str(file), NAMESPACE)
        make(s3_bucket, "apple")
        assert target.commit(s3_bucket) == (1, TABLES)
        rows, files = in_catalog(address)
        assert rows == in_parquet(s3_bucket)
        assert by_duckdb(files) == rows["rows"]
        assert all(file.startswith(f"{s3_bucket}/versions/1/rows/") for file in files)
        make(s3_bucket, "pear")
        check = Version.check_counts

        def overtaken(version: Version) -> None:
            monkeypatch.setattr(Version, "check_counts", check)
            check(version)
            make(s3_bucket, "plum")
            assert target.commit(s3_bucket) == (3, TABLES)

        monkeypatch.setattr(Version, "check_counts", overtaken)
        with pytest.raises(Conflict):
            target.commit(s3_bucket)
        assert in_catalog(address)[0] == in_parquet(s3_bucket)
        assert target.commit(s3_bucket) == (3, ())
