"""Spark with Iceberg and with Delta reads the committed tables; nightly, if it is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lakewarden.pipeline.table_formats.catalog import NAME
from lakewarden.pipeline.table_formats.target import Target
from tests.pipeline.table_formats.products import in_parquet, make, own_catalog

pytestmark = pytest.mark.nightly

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lakewarden"
READS = """
import json, sys
from pyspark.sql import SparkSession
jar, current = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[1]").config("spark.jars", jar)
    .config("spark.ui.enabled", "false").getOrCreate()
)
for tag in (None, "version-1"):
    options = {} if tag is None else {"versionAsOf": tag}
    rows = spark.read.format("iceberg").options(**options).load(current)
    print("ROWS", json.dumps(sorted([r.id, r.name or ""] for r in rows.collect())))
"""
READS_DELTA = """
import json, sys
from pyspark.sql import SparkSession
jars, table = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[1]").config("spark.jars", jars)
    .config("spark.databricks.delta.snapshotPartitions", "1")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.ui.enabled", "false").getOrCreate()
)
for version in (None, 0):
    options = {} if version is None else {"versionAsOf": version}
    rows = spark.read.format("delta").options(**options).load(table)
    print("ROWS", json.dumps(sorted([r.id, r.name or ""] for r in rows.collect())))
"""


def newest(pattern: str, script: str = "install-spark-iceberg.sh") -> Path:
    found = sorted(CACHE.glob(pattern))
    if not found or shutil.which("java") is None:
        pytest.skip(f"this Spark is not installed (scripts/{script})")
    return found[-1]


def names_by(python: Path, code: str, *words: object) -> list[list[str]]:
    """The names in the tables that Spark reads: the newest, and the first version."""
    read = subprocess.run(
        [str(python), "-c", code, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert read.returncode == 0, read.stderr
    lines = [line for line in read.stdout.splitlines() if line.startswith("ROWS ")]
    return [[name for _, name in json.loads(line.removeprefix("ROWS "))] for line in lines]


def test_spark_reads_the_snapshots_by_tag(tmp_path: Path) -> None:
    jar, python = newest("iceberg-spark-runtime-*.jar"), newest("clients/pyspark-*/bin/python")
    out = tmp_path / "out"
    for text in ("apple", "pear"):
        make(out, text)
        Target("iceberg").commit(out)
    catalog = own_catalog(out)
    assert catalog.name == NAME
    location = catalog.load_table("fruit.rows").metadata_location
    catalog.close()
    assert names_by(python, READS, jar, location) == [
        ["pear", "", "löwe"],
        ["apple", "", "löwe"],
    ]
    assert len(in_parquet(out)["rows"]) == 3


def test_spark_reads_delta_by_version(tmp_path: Path) -> None:
    script = "install-spark-delta.sh"
    archives, python = newest("spark-delta-*", script), newest("clients/pyspark-*/bin/python")
    out = tmp_path / "out"
    for text in ("apple", "pear"):
        make(out, text)
        Target("delta").commit(out)
    jars = ",".join(map(str, sorted(archives.glob("*.jar"))))
    assert names_by(python, READS_DELTA, jars, out / "delta" / "rows") == [
        ["pear", "", "löwe"],
        ["apple", "", "löwe"],
    ]
