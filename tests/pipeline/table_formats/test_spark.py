"""Spark with Iceberg's runtime reads what was committed, by night, where it is installed."""

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


def newest(pattern: str) -> Path:
    found = sorted(CACHE.glob(pattern))
    if not found or shutil.which("java") is None:
        pytest.skip("Spark with Iceberg is not installed (scripts/install-spark-iceberg.sh)")
    return found[-1]


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
    read = subprocess.run(
        [str(python), "-c", READS, str(jar), location],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert read.returncode == 0, read.stderr
    lines = [line for line in read.stdout.splitlines() if line.startswith("ROWS ")]
    newest_rows, first = (json.loads(line.removeprefix("ROWS ")) for line in lines)
    assert [name for _, name in newest_rows] == ["pear", "", "löwe"]
    assert [name for _, name in first] == ["apple", "", "löwe"]
    assert len(in_parquet(out)["rows"]) == len(newest_rows)
