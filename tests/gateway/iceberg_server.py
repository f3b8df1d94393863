"""A Spark Connect server with tables of Apache Iceberg, which supports changes of rows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from lakewarden.gateway import local_spark
from tests.gateway.spark_server import TABLES, TOKEN

CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lakewarden"
CATALOG: Final = "spark.sql.catalog.spark_catalog"
SCRATCH: Final = "create table sales.scratch (id bigint, text string) using iceberg"


def _newest(pattern: str) -> Path:
    """The newest installed file of that name; skips the test if there is none, or no Java."""
    found = sorted(CACHE.glob(pattern))
    if not found or shutil.which("java") is None:
        pytest.skip("Spark with Iceberg is not installed (scripts/install-spark-iceberg.sh)")
    return found[-1]


@contextmanager
def running(folder: Path) -> Iterator[int]:
    """Runs a server that stores its tables in the folder; yields its port."""
    settings = {
        "spark.jars": str(_newest("iceberg-spark-runtime-*.jar")),
        CATALOG: "org.apache.iceberg.spark.SparkSessionCatalog",
        f"{CATALOG}.type": "hadoop",
        f"{CATALOG}.warehouse": f"{folder}/iceberg",
        # The cache would show a session old data for a while.
        f"{CATALOG}.cache-enabled": "false",
    }
    tables = [text.replace("using parquet", "using iceberg") for text in TABLES]
    python = str(_newest("clients/pyspark-*/bin/python"))
    with local_spark.running(folder, TOKEN, [*tables, SCRATCH], settings, python) as port:
        yield port
