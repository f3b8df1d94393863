"""Spark reads and writes an object store and HDFS, with the same results as on a file system."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.remote_path import RemotePath
from lakewarden.pipeline.version_folder import MANIFEST
from tests.pipeline.spark_jobs import SparkJobs, jars, spark_jobs
from tests.pipeline.storage.azurite import ACCOUNT, KEY
from tests.pipeline.storage.google_storage import GoogleStorage

pytestmark = [pytest.mark.nightly, pytest.mark.spark]

ENTITIES = "type,name\nmetalake,lk\ncatalog,lk:c\nschema,lk:c.s\n" + "".join(
    f"table,lk:c.s.t{number}\n" for number in range(300)
)
OWNERS = "type,name,owner_kind,owner_name,ownership\ncatalog,lk:c,user,ana,\n"


def _products(spark: SparkJobs, place: Location, source: Path) -> dict[str, object]:
    into = ("--source", "csv", "--model", "gravitino", "--realm", "gravitino", source)
    for words in (
        ("ingest", *into, "--out", place / "lake"),
        ("index", place / "lake", "--out", place / "index"),
        ("export", place / "index", "--out", place / "export", "--operations", "access"),
        ("access", place / "export", "--out", place / "access"),
    ):
        assert spark.run("pipeline", *words) in (0, 1), spark.said
    manifests: dict[str, object] = {}
    for name in ("lake", "index", "export", "access"):
        manifest = json.loads((place / name / MANIFEST).read_text("utf-8"))
        # Names of Spark's files are random; digests of tables are not.
        told = ("version", "tables", "facts")
        manifests[name] = {key: manifest[key] for key in told if key in manifest}
    return manifests


def test_products_are_the_same(
    bucket: RemotePath, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    settings = _settings(bucket, request)
    source = tmp_path / "source"
    source.mkdir()
    (source / "entities.csv").write_text(ENTITIES, "utf-8")
    (source / "owners.csv").write_text(OWNERS, "utf-8")
    with spark_jobs(tmp_path, settings) as spark:
        made = [_products(spark, place, source) for place in (bucket, tmp_path / "local")]
    assert made[0] == made[1]


def _settings(place: RemotePath, request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings with which Spark finds a store."""
    scheme = place.root.partition(":")[0]
    if scheme == "hdfs":
        return {}  # Spark includes Hadoop's HDFS client
    if scheme == "s3":
        return jars("spark-s3-*", "install-spark-s3.sh")
    clients = jars("spark-clouds-*", "install-spark-clouds.sh")
    if scheme == "gs":
        return clients | _of_google(request.getfixturevalue("google"))
    return clients | _of_azure(request.getfixturevalue("azure"))


def _of_google(server: GoogleStorage) -> dict[str, str]:
    """The client uses the JSON API, as the server does: no door is needed, and no credentials."""
    package = "com.google.cloud.hadoop.fs.gcs"
    return {
        "spark.hadoop.fs.gs.impl": f"{package}.GoogleHadoopFileSystem",
        "spark.hadoop.fs.AbstractFileSystem.gs.impl": f"{package}.GoogleHadoopFS",
        "spark.hadoop.fs.gs.auth.type": "UNAUTHENTICATED",
        "spark.hadoop.fs.gs.operation.move.enable": "false",  # the server has no such request
        # Hadoop's own defaults for these have units, which the connector does not accept.
        "spark.hadoop.fs.gs.block.size": "67108864",
        "spark.hadoop.fs.gs.inputstream.inplace.seek.limit": "8388608",
        "spark.hadoop.fs.gs.inputstream.min.range.request.size": "2097152",
        "spark.hadoop.fs.gs.outputstream.buffer.size": "8388608",
        "spark.hadoop.fs.gs.storage.root.url": f"{server.behind}/",
    }


def _of_azure(endpoint: str) -> dict[str, str]:
    """An account without a hierarchical namespace, whose blobs are found without TLS."""
    host = urlsplit(endpoint).netloc
    name = f"{ACCOUNT}.dfs.core.windows.net"
    return {
        "spark.hadoop.fs.abfss.impl": "org.apache.hadoop.fs.azurebfs.AzureBlobFileSystem",
        "spark.hadoop.fs.azure.always.use.https": "false",
        "spark.hadoop.fs.azure.networking.library": "JDK_HTTP_URL_CONNECTION",
        "spark.hadoop.fs.azure.abfs.endpoint": host,
        "spark.hadoop.fs.azure.account.auth.type": "SharedKey",
        f"spark.hadoop.fs.azure.account.key.{name}": KEY,
        "spark.hadoop.fs.azure.account.hns.enabled": "false",
        "spark.hadoop.fs.azure.fns.account.service.type": "BLOB",
    }
